"""Activations and losses of networks, by the names of Theano's `tt.nnet` and of SymJAX's `nn`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.arrays.indexing import take_along_axis
from ppl.tensor.arrays.reductions import log_softmax
from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.elementwise import INF, abs, clip, expm1, log, sigmoid, softplus, switch
from ppl.tensor.core.later import Functions
from ppl.tensor.core.ops import Elementwise, cast_to, keeping_dtype, normal_axis
from ppl.tensor.tensor import Tensor, as_tensor, constant, dtype_name, enter, function
from ppl.xla.later import jax, jnp

enter("logsoftmax", log_softmax)
relu6 = Elementwise("relu6", lambda x: jnp.clip(x, 0, 6), range=(0, 6))
gelu = Elementwise("gelu", lambda x: jax.nn.gelu(x, approximate=False), "float")
selu = Elementwise("selu", Functions("jax.nn").selu, "float", monotone="increasing")


@function()
def relu(x: Any, alpha: Any = 0) -> Tensor:
    """The positive part, plus `alpha` times the negative part."""
    x = as_tensor(x)
    return _RELU(x) if isinstance(alpha, int | float) and alpha == 0 else switch(x > 0, x, alpha * x)


_RELU = Elementwise("positive_part", keeping_dtype(Functions("jax.nn").relu), range=(0, INF))


@function()
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Tensor:
    """x where positive, else a small multiple of it."""
    return relu(x, negative_slope)


@function()
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x) - 1)."""
    x = as_tensor(x)
    return switch(x > 0, x, alpha * expm1(switch(x > 0, 0.0, x)))


@function()
def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x / alpha) - 1)."""
    x = as_tensor(x)
    return switch(x > 0, x, alpha * expm1(switch(x > 0, 0.0, x) / alpha))


@function("swish")
def silu(x: Any) -> Tensor:
    """x sigmoid(x)."""
    x = as_tensor(x)
    return x * sigmoid(x)


@function("softsign")
def soft_sign(x: Any) -> Tensor:
    """x / (1 + |x|)."""
    x = as_tensor(x)
    return x / (1.0 + abs(x))


@function()
def hard_tanh(x: Any) -> Tensor:
    """x limited to [-1, 1]."""
    return clip(x, -1, 1)


@function()
def hard_sigmoid(x: Any) -> Tensor:
    """A straight line from 0 at -2.5 to 1 at 2.5 (Theano's)."""
    return clip(0.2 * as_tensor(x) + 0.5, 0.0, 1.0)


@function()
def hard_silu(x: Any) -> Tensor:
    """x relu6(x + 3) / 6."""
    x = as_tensor(x)
    return x * clip(x + 3.0, 0.0, 6.0) / 6.0


@function()
def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second."""
    x = as_tensor(x)
    length = x.type.shape[normal_axis("glu", x, axis)]
    if length is not None and length % 2:
        raise ValueError(f"glu: an axis of even length is halved, got {length} entries along axis {axis} of {x!r}")
    half = x.shape[axis] // 2
    first = (slice(None),) * (axis % x.ndim)
    return x[(*first, slice(None, half))] * sigmoid(x[(*first, slice(half, None))])


# --- losses
@function()
def binary_crossentropy(output: Any, target: Any) -> Tensor:
    """-(target ln output + (1 - target) ln(1 - output))."""
    output, target = as_tensor(output), as_tensor(target)
    return -(target * log(output) + (1.0 - target) * log(1.0 - output))


@function()
def sigmoid_binary_crossentropy(output: Any, target: Any) -> Tensor:
    """`binary_crossentropy` of sigmoid(output), without rounding it."""
    output, target = as_tensor(output), as_tensor(target)
    return target * softplus(-output) + (1.0 - target) * softplus(output)


@function()
def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Tensor:
    """-Σ p ln q along the last axis; `true_dist` holds probabilities, or class numbers."""
    q, p = as_tensor(coding_dist), as_tensor(true_dist)
    if p.ndim == q.ndim:
        return -sum_along(p * log(q), -1)
    if p.ndim != q.ndim - 1 or p.dtype[0] not in "ui":
        raise TypeError(f"categorical_crossentropy: {p!r} is neither probabilities like {q!r} nor class numbers")
    return -log(take_along_axis(q, expand_dims(p, -1), -1))[..., 0]


# --- coding
@function()
def one_hot(i: Any, n: int, dtype: Any = "floatX") -> Tensor:
    """Ones at the given positions of new vectors of length `n`."""
    return cast_to(expand_dims(as_tensor(i), -1) == constant(np.arange(n)), dtype_name(dtype))


@function()
def to_one_hot(y: Any, nb_class: int, dtype: Any = None) -> Tensor:
    """`one_hot`, by Theano's name."""
    return one_hot(y, nb_class, dtype or "floatX")
