"""Entries selected by their values: how many there are is a size that is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.arrays.comparisons import isin
from ppl.tensor.arrays.reductions import count_nonzero
from ppl.tensor.arrays.shaping import concatenate
from ppl.tensor.core.elementwise import switch
from ppl.tensor.core.ops import JaxOp, TensorOp, cast_to, normal_axis
from ppl.tensor.core.sizes import filled, split_sizes
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, constant, function, is_constant, value_of
from ppl.xla.later import jnp


class _Places(TensorOp):
    """The positions of the entries that are not zero, an array for each axis."""

    def __call__(self, x: Any, size: Any) -> Any:
        _, static, symbolic = split_sizes(size)
        return self.build((as_tensor(x), *symbolic), {"size": static}, None)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        return TupleType((TensorType("int64", attrs["size"]),) * inputs[0].type.ndim)


def _places(x: Any, *sizes: Any, size: tuple[int | None, ...]) -> Any:
    (count,) = filled(size, sizes)
    return tuple(each.astype(jnp.int64) for each in jnp.nonzero(jnp.asarray(x), size=count))


class _Distinct(TensorOp):
    """The distinct entries in order."""

    def __call__(self, x: Any, size: Any) -> Tensor:
        _, static, symbolic = split_sizes(size)
        return self.build((as_tensor(x), *symbolic), {"size": static}, None)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(inputs[0].type.dtype, attrs["size"])


def _distinct(x: Any, *sizes: Any, size: tuple[int | None, ...]) -> Any:
    (count,) = filled(size, sizes)
    return jnp.unique(jnp.asarray(x), size=count)


def _count_distinct(x: Any) -> Any:
    """Entries that differ from the one before them in order; of nans, which come last, only the first counts."""
    ordered = jnp.sort(x.reshape(-1))
    new = (ordered[1:] != ordered[:-1]) & ~(jnp.isnan(ordered[1:]) & jnp.isnan(ordered[:-1]))
    return jnp.sum(new, dtype=jnp.int64) + (ordered.size > 0)


PLACES, DISTINCT = _Places("nonzero_op", _places), _Distinct("unique_op", _distinct)
count_distinct = JaxOp("count_distinct", _count_distinct)


@function()
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    size: Any = None,
) -> Any:
    """The distinct entries in order; `size=` may say how many there are of a tensor that is computed."""
    ar = as_tensor(ar)
    if is_constant(ar):
        found: Any = np.unique(value_of(ar), return_index, return_inverse, return_counts, axis)  # type: ignore[call-overload]
        return tuple(map(constant, found)) if isinstance(found, tuple) else constant(found)
    if return_index or return_inverse or return_counts or axis is not None:
        raise TypeError(f"unique of {ar!r}, which is computed, gives the values only: leave return_... and axis out")
    return DISTINCT(ar, count_distinct(ar) if size is None else size)


@function()
def nonzero(a: Any, return_matrix: bool = False, *, size: Any = None) -> Any:
    """The positions of the entries that are not zero, an array for each axis."""
    a = as_tensor(a)
    if not a.ndim:
        raise ValueError(f"nonzero: a number has no positions, got {a!r}. Make it a vector, by atleast_1d(x).")
    if is_constant(a):
        places: Any = tuple(map(constant, np.nonzero(value_of(a))))
    else:
        places = tuple(PLACES(a, count_nonzero(a) if size is None else size))
    return as_tensor(list(places)) if return_matrix else places


@function()
def where(cond: Any, ift: Any = None, iff: Any = None, *, name: str | None = None) -> Any:
    """Entry by entry `then` where the condition is true, else `otherwise`; with neither, the positions where it is."""
    if (ift is None) != (iff is None):
        raise ValueError("where takes a condition and what to choose from, both or neither")
    return nonzero(cond) if ift is None else switch(cond, ift, iff, name=name)


@function()
def flatnonzero(a: Any, *, size: Any = None) -> Tensor:
    """The positions in the flattened array of the entries that are not zero."""
    return nonzero(_flat(a), size=size)[0]


def _flat(x: Any) -> Tensor:
    """All entries in one row; of a constant, a constant."""
    x = as_tensor(x)
    return constant(value_of(x).ravel()) if is_constant(x) else x.reshape((-1,))


@function()
def nonzero_values(a: Any, *, size: Any = None) -> Tensor:
    """The entries that are not zero."""
    flat = _flat(a)
    return flat[flatnonzero(flat, size=size)]


@function()
def argwhere(x: Any, *, size: Any = None) -> Tensor:
    """The positions of the entries that are not zero, as rows."""
    return nonzero(x, return_matrix=True, size=size).T


@function()
def compress(condition: Any, x: Any, axis: int | None = None) -> Tensor:
    """The entries (or slices along an axis) where a condition is true."""
    condition, x = as_tensor(condition), as_tensor(x)
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    if is_constant(condition):
        return x.take(flatnonzero(condition), axis)
    return x[(slice(None),) * normal_axis("compress", x, axis) + (cast_to(condition, "bool"),)]


# --- arrays as sets
@function()
def extract(condition: Any, x: Any) -> Tensor:
    """The entries of the flattened array where a condition is true."""
    return compress(_flat(condition), x)


@function()
def union1d(x: Any, y: Any) -> Tensor:
    """The distinct entries of either array, in order."""
    return unique(concatenate([_flat(x), _flat(y)]))


@function()
def intersect1d(x: Any, y: Any) -> Tensor:
    """The distinct entries that both arrays have, in order."""
    own = unique(_flat(x))
    return own[isin(own, y)]


@function()
def setdiff1d(x: Any, y: Any) -> Tensor:
    """The distinct entries of `x` that `y` has not, in order."""
    own = unique(_flat(x))
    return own[~isin(own, y)]


@function()
def setxor1d(x: Any, y: Any) -> Tensor:
    """The distinct entries that one array has and the other has not, in order."""
    return union1d(setdiff1d(x, y), setdiff1d(y, x))
