"""Activations: functions of a tensor, entry by entry, or along one axis where it is named."""

from __future__ import annotations

import math
from typing import Any

from ppl.tensor.arrays.reductions import log_softmax as log_softmax_of
from ppl.tensor.arrays.reductions import softmax as softmax_of
from ppl.tensor.core.elementwise import abs as absolute
from ppl.tensor.core.elementwise import clip, minimum, sigmoid, sqrt, switch, tanh
from ppl.tensor.core.elementwise import expm1 as expm1_of
from ppl.tensor.core.elementwise import log_sigmoid as log_sigmoid
from ppl.tensor.core.elementwise import softplus as softplus
from ppl.tensor.special_functions.catalog import erf
from ppl.tensor.tensor import Tensor, as_tensor


def identity(x: Any) -> Tensor:
    """x itself."""
    return as_tensor(x)


def relu(x: Any) -> Tensor:
    """The positive part."""
    x = as_tensor(x)
    return switch(x > 0, x, 0)  # the slope at 0 is 0, as in JAX; that of `maximum` is 1/2


def relu6(x: Any) -> Tensor:
    """The positive part, at most 6."""
    x = as_tensor(x)
    return switch((x > 0) & (x < 6), x, clip(x, 0, 6))


def leaky_relu(x: Any, slope: float = 0.01) -> Tensor:
    """x above 0, a small multiple of it below."""
    x = as_tensor(x)
    return switch(x >= 0, x, slope * x)


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x above 0, α(exp x - 1) below."""
    x = as_tensor(x)
    return switch(x > 0, x, alpha * expm1_of(minimum(x, 0)))


def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """x above 0, α(exp(x/α) - 1) below."""
    x = as_tensor(x)
    return switch(x > 0, x, alpha * expm1_of(minimum(x, 0) / alpha))


def selu(x: Any) -> Tensor:
    """A multiple of elu that keeps mean 0 and variance 1 (Klambauer et al. 2017)."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def gelu(x: Any, approximate: bool = False) -> Tensor:
    """x times the normal distribution function of x; `approximate`: by tanh."""
    x = as_tensor(x)
    if approximate:
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def silu(x: Any) -> Tensor:
    """x times sigmoid(x)."""
    x = as_tensor(x)
    return x * sigmoid(x)


swish = silu


def leaky_swish(x: Any, beta: float) -> Tensor:
    """x times sigmoid(βx)."""
    x = as_tensor(x)
    return x * sigmoid(beta * x)


def soft_sign(x: Any) -> Tensor:
    """x / (1 + |x|)."""
    x = as_tensor(x)
    return x / (1 + absolute(x))


def hard_tanh(x: Any) -> Tensor:
    """x between -1 and 1, the nearer of them outside."""
    return clip(x, -1, 1)


def hard_sigmoid(x: Any) -> Tensor:
    """A sigmoid of three straight lines."""
    return relu6(as_tensor(x) + 3) / 6


def hard_silu(x: Any) -> Tensor:
    """x times `hard_sigmoid(x)`."""
    return as_tensor(x) * hard_sigmoid(x)


def softmax(x: Any, axis: int = -1) -> Tensor:
    """Positive shares that sum to 1 along an axis. (That of `ppl.tensor` sums over all axes unless told.)"""
    return softmax_of(x, axis=axis)


def log_softmax(x: Any, axis: int = -1) -> Tensor:
    """The logarithm of `softmax`."""
    return log_softmax_of(x, axis=axis)


def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    x = as_tensor(x)
    length = x.type.shape[axis]
    if length is None or length % 2:
        raise ValueError(f"glu: axis {axis} of {x!r} must have an even, known length, got {length}")
    where = axis % x.ndim
    first = (slice(None),) * where
    return x[(*first, slice(None, length // 2))] * sigmoid(x[(*first, slice(length // 2, None))])


def normalize(x: Any, axis: int = -1, epsilon: float = 1e-12) -> Tensor:
    """Mean 0 and variance 1 along an axis."""
    x = as_tensor(x)
    x = x - x.mean(axis, keepdims=True)
    return x / sqrt((x**2).mean(axis, keepdims=True) + epsilon)
