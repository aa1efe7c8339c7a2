"""Parameters of layers: how one is given, and where it lives.

A parameter is given as a function of its shape (an initializer, `np.zeros`), a number, an array, a variable to share,
a random variable, or a function of `shape` and `name` that makes a tensor, so a Bayesian network is the same code:

    Dense(x, 10, W=lambda shape, name: pm.Normal(name, 0, 1, shape=shape))
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ppl.nn.initializers import Initializer
from ppl.tensor.config import config
from ppl.tensor.core.names import Scope, current_scope, flat_name
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import free_scope, make_variable


class Layer:
    """What a layer knows while it is being built: its name, its scope, and the dtype of its parameters."""

    def __init__(self, kind: str, path: str, dtype: str) -> None:
        self.kind, self.path, self.dtype = kind, path, dtype

    def __str__(self) -> str:
        return f'{self.kind} "{self.path}"'

    def parameter(self, name: str, given: Any, shape: tuple[int, ...], trainable: bool = True) -> Tensor:
        """The parameter as a tensor of that shape; a fresh variable of the layer's scope unless it is a tensor."""
        made = given
        if callable(given) and not isinstance(given, Tensor) and _takes_name(given):
            made = as_tensor(given(shape=shape, name=flat_name(self.path + name)))
        if isinstance(made, Tensor) or hasattr(made, "__ppl_tensor__"):
            tensor = as_tensor(made)
            known = tensor.type.shape
            if len(known) != len(shape) or any(n not in (None, m) for n, m in zip(known, shape, strict=True)):
                raise ValueError(f"{self}: {name} has shape {known}, it needs {shape}: {tensor!r}")
            return tensor
        if callable(given):
            start = given.at(f"{self.path}{name}") if isinstance(given, Initializer) else given
            if np.shape(first := start(shape)) != shape:
                raise ValueError(f"{self}: {name} has shape {np.shape(first)}, it needs {shape}")
            return make_variable(start, name, trainable, shape, self.dtype)
        array = np.asarray(given)
        if array.ndim and array.shape != shape:
            raise ValueError(f"{self}: {name} has shape {array.shape}, it needs {shape}")
        return make_variable(array, name, trainable, shape, self.dtype)


def _takes_name(f: Any) -> bool:
    try:
        return "name" in inspect.signature(f).parameters
    except (TypeError, ValueError):  # NumPy's functions have no signature
        return False


@contextmanager
def layer(kind: str, name: str | None, x: Tensor) -> Iterator[Layer]:
    """The scope of a new layer: `name`, or its kind with a number where there is one already."""
    with Scope(name or free_scope(kind, [x])):
        yield Layer(kind, current_scope(), x.dtype if x.dtype[0] == "f" else config.floatX)


def length(where: Layer, x: Tensor, axis: int, why: str) -> int:
    """The length of an axis that must be known for the parameters to have a shape."""
    n = x.type.shape[axis]
    if n is None:
        raise ValueError(f"{where}: the length of axis {axis} of {x!r} must be known, it is {why}")
    return n


def axes(where: Layer, x: Tensor, count: int, meaning: str) -> None:
    """An error unless the input has that many axes."""
    if x.ndim != count:
        raise ValueError(f"{where}: the input has axes ({meaning}), got {x!r} of shape {x.type.shape}")
