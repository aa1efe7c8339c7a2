"""Sizes: asking for the shape of a tensor, and taking sizes that may be symbolic.

A dimension that is unknown when the graph is built is a symbolic scalar (`dim`), which is a plain number again when the
program is compiled for arrays of one size; so it may stand wherever a size is asked for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp, broadcast_shape, normal_axes, normal_axis
from ppl.tensor.tensor import FUNCTIONS, Dim, Tensor, TensorType, as_tensor, function, is_constant, value_of
from ppl.xla.later import jnp


class _DimOf(TensorOp):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType("int64")


DIM = _DimOf("dim", lambda x, axis: np.int64(jnp.shape(x)[axis]))


def _closed(name: str) -> Any:
    """An operation of ints, whose results are sizes."""
    of_int = getattr(int, name)

    def method(self: int, other: Any) -> Any:
        found = of_int(self, other)
        return found if found is NotImplemented else Size(found)

    return method


class Size(int):
    """A length that is known: an int, which answers `eval` and `astype` as a symbolic one does.

    What +, -, * and // make of it and an int is one too.
    """

    def eval(self, givens: Any = None) -> np.ndarray:
        """The number, whatever the inputs are."""
        return np.asarray(int(self), np.int64)

    def astype(self, dtype: Any) -> Tensor:
        """The number as a tensor of another dtype."""
        return as_tensor(int(self)).astype(dtype)

    __add__, __radd__ = _closed("__add__"), _closed("__radd__")
    __sub__, __rsub__ = _closed("__sub__"), _closed("__rsub__")
    __mul__, __rmul__ = _closed("__mul__"), _closed("__rmul__")
    __floordiv__, __rfloordiv__ = _closed("__floordiv__"), _closed("__rfloordiv__")


class Shape(tuple):
    """The shape of a tensor: ints where known, symbolic scalars where not."""

    def eval(self, givens: Any = None) -> np.ndarray:
        """The numbers, given values for the inputs they depend on."""
        return np.array([int(d) if isinstance(d, int) else int(d.eval(givens or {})) for d in self], dtype=np.int64)


@function()
def shape(x: Any) -> Shape:
    """The shape, an entry an axis: an int where it is known, a symbolic scalar where it is not."""
    x = as_tensor(x)
    return Shape(DIM(x, axis=i) if dim is None else Size(dim) for i, dim in enumerate(x.type.shape))


@function()
def size(x: Any, axis: int | None = None) -> Any:
    """How many entries there are, in all or along one axis."""
    x = as_tensor(x)
    dims = shape(x)
    return math.prod(dims, start=Size(1)) if axis is None else dims[normal_axis("size", x, axis)]


def size_along(x: Tensor, axis: Any) -> Any:
    """The product of the lengths of some axes (all where None)."""
    dims = shape(x)
    return math.prod(dims[a] for a in normal_axes("size", x, axis))


def sizes_of(shape: Any) -> tuple[Any, ...]:
    """One size, several, or a vector of them, as a tuple of ints and symbolic scalars."""
    if isinstance(shape, int | float | np.integer) or (isinstance(shape, Tensor) and shape.ndim == 0):
        return (shape,)
    if not isinstance(shape, Tensor):
        return tuple(shape)
    if is_constant(shape):
        return tuple(int(n) for n in value_of(shape))
    if shape.type.shape[0] is None:
        raise ValueError(f"{shape!r} cannot be a shape: its length, the number of dimensions, must be known")
    return tuple(shape)


def split_sizes(sizes: Any) -> tuple[tuple[Dim, ...], tuple[int | None, ...], list[Tensor]]:
    """Sizes that may be symbolic: dims of a type, the sizes with None for each symbolic one, the symbolic ones."""
    static: list[int | None] = []
    symbolic: list[Tensor] = []
    for n in sizes_of(sizes):
        if isinstance(n, Tensor) and not is_constant(n):
            if n.dtype[0] not in "ui" or n.ndim:
                raise TypeError(f"a size is an integer scalar, got {n!r}")
            static.append(None)
            symbolic.append(n)
        else:
            static.append(_as_size(value_of(n).item() if isinstance(n, Tensor) else n))
    return tuple(static), tuple(static), symbolic


def _as_size(n: Any) -> int:
    if isinstance(n, float | np.floating) and float(n).is_integer():
        n = int(n)
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise TypeError(f"a size is an integer, got {n!r}")
    return int(n)


def filled(static: Sequence[int | None], values: Sequence[Any]) -> tuple[int, ...]:
    """The static sizes with the values of the symbolic ones put in; inside compiled code these are numbers."""
    rest = iter(values)
    return tuple(known_size(next(rest)) if n is None else n for n in static)


class UnknownSizeError(TypeError):
    """A size has no value when the program is compiled."""


def known_size(n: Any) -> int:
    """A size as a number, inside compiled code."""
    try:
        return int(n)
    except TypeError as error:
        raise UnknownSizeError(
            "a size depends on the values of arrays, not only on their shapes; compiled programs need fixed sizes. "
            "Compute it before, and pass it as a Python int; in place of what a mask selects use switch(mask, x, 0)."
        ) from error


def _common_size(a: Tensor, b: Tensor) -> Tensor:
    """The size of an axis that is broadcast from two sizes."""
    return FUNCTIONS["switch"](FUNCTIONS["equal"](a, 1), b, a)


@function("broadcast_shapes_of")
def common_shape(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The broadcast shape of tensors; an unknown dimension is that of the tensor that has it, and where several do, of
    one whose length is not one."""
    parts = [as_tensor(t) for t in tensors]
    common = broadcast_shape("broadcast", tuple(parts))
    result: list[Any] = []
    for axis, dim in enumerate(common):
        if dim is None:
            unknown = [(p, i) for p in parts if (i := axis - len(common) + p.ndim) >= 0 and p.type.shape[i] is None]
            sizes = dict.fromkeys(DIM(source, axis=i) for source, i in unknown)
            result.append(functools.reduce(_common_size, sizes))
        else:
            result.append(dim)
    return tuple(result)
