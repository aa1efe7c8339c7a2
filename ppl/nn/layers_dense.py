"""Layers that are one matrix product or one look-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.nn.initializers import glorot_uniform, normal
from ppl.nn.parameters import layer, length
from ppl.tensor.linalg import matmul
from ppl.tensor.tensor import Tensor, as_tensor

Activation = Callable[[Any], Any] | None


def activated(x: Any, activation: Activation) -> Any:
    """The activation of x, x where there is none."""
    return x if activation is None else activation(x)


def Dense(
    x: Any, units: int, activation: Activation = None, W: Any = None, b: Any = 0.0, name: str | None = None
) -> Tensor:
    """`activation(x W + b)` along the last axis; `b=None`: no b.

    >>> x = ppl.tensor.Placeholder((None, 64), "float32")
    >>> Dense(x, 10).type.shape
    (None, 10)
    """
    x = as_tensor(x)
    with layer("Dense", name, x) as here:
        if x.ndim == 0:
            raise ValueError(f"{here}: the input has at least one axis, got {x!r}")
        inputs = length(here, x, -1, "the number of inputs")
        out = matmul(x, here.parameter("W", glorot_uniform() if W is None else W, (inputs, units)))
        if b is not None:
            out = out + here.parameter("b", b, (units,))
        return activated(out, activation)


def Flatten(x: Any, name: str | None = None) -> Tensor:
    """All axes but the first as one."""
    x = as_tensor(x)
    with layer("Flatten", name, x) as here:
        if x.ndim < 2:
            raise ValueError(f"{here}: the input has at least two axes, got {x!r} of shape {x.type.shape}")
        size = 1
        for axis in range(1, x.ndim):
            size *= length(here, x, axis, "part of the width")
        return x.reshape((-1, size))


def Embedding(indices: Any, count: int, units: int, W: Any = None, name: str | None = None) -> Tensor:
    """A vector of parameters for each of `count` kinds, looked up by whole numbers."""
    indices = as_tensor(indices)
    with layer("Embedding", name, indices) as here:
        if indices.dtype[0] not in "iu":
            raise TypeError(f"{here}: indices are whole numbers, got {indices!r} of dtype {indices.dtype}")
        return here.parameter("W", normal() if W is None else W, (count, units))[indices]
