"""Order: sorting, ranks, searching, counting."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ppl.tensor.indexing import getitem
from ppl.tensor.ops import JaxOp, cast_to, normal_axis
from ppl.tensor.reductions import argmax
from ppl.tensor.reductions import max as max_along
from ppl.tensor.tensor import Tensor, as_tensor, constant, function, is_constant, value_of

sort = JaxOp("sort", lambda x, *, axis=-1: jnp.sort(x, axis))
sort_complex = JaxOp("sort_complex", lambda x: jnp.sort_complex(x))
argsort = JaxOp("argsort", lambda x, *, axis=-1, stable=True: jnp.argsort(x, axis, stable=stable))
lexsort = JaxOp("lexsort", lambda *keys, axis=-1: jnp.lexsort(keys, axis))
partition = JaxOp("partition", lambda x, *, kth, axis=-1: jnp.partition(x, kth, axis))
argpartition = JaxOp("argpartition", lambda x, *, kth, axis=-1: jnp.argpartition(x, kth, axis).astype(jnp.int64))
searchsorted = JaxOp(
    "searchsorted", lambda x, v, *, side="left": jnp.searchsorted(x, v, side, method="scan_unrolled").astype(jnp.int64)
)  # one pass over v, where "scan" is one for each halving
digitize = JaxOp("digitize", lambda x, bins, *, right=False: jnp.digitize(x, bins, right).astype(jnp.int64))
quantile = JaxOp("quantile", lambda x, q, *, axis=None, method="linear", keepdims=False: jnp.quantile(
    x, q, axis, method=method, keepdims=keepdims), to_float=True)  # fmt: skip
percentile = JaxOp("percentile", lambda x, q, *, axis=None, method="linear", keepdims=False: jnp.percentile(
    x, q, axis, method=method, keepdims=keepdims), to_float=True)  # fmt: skip
nanquantile = JaxOp("nanquantile", lambda x, q, *, axis=None, keepdims=False: jnp.nanquantile(
    x, q, axis, keepdims=keepdims), to_float=True)  # fmt: skip
nanmedian = JaxOp("nanmedian", lambda x, *, axis=None, keepdims=False: jnp.nanmedian(x, axis, keepdims=keepdims),
                  to_float=True)  # fmt: skip
nanargmax = JaxOp("nanargmax", lambda x, *, axis=None, keepdims=False: jnp.nanargmax(x, axis, keepdims=keepdims))
nanargmin = JaxOp("nanargmin", lambda x, *, axis=None, keepdims=False: jnp.nanargmin(x, axis, keepdims=keepdims))
nancumsum = JaxOp("nancumsum", lambda x, *, axis=None: jnp.nancumsum(x, axis))
nancumprod = JaxOp("nancumprod", lambda x, *, axis=None: jnp.nancumprod(x, axis))
nanvar = JaxOp("nanvar", lambda x, *, axis=None, ddof=0, keepdims=False: jnp.nanvar(
    x, axis, ddof=ddof, keepdims=keepdims), to_float=True)  # fmt: skip
nanstd = JaxOp("nanstd", lambda x, *, axis=None, ddof=0, keepdims=False: jnp.nanstd(
    x, axis, ddof=ddof, keepdims=keepdims), to_float=True)  # fmt: skip


@function()
def max_and_argmax(x: Any, axis: Any = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The largest entry and its position."""
    return max_along(x, axis, keepdims), argmax(x, axis, keepdims)


@function()
def topk(x: Any, k: int, axis: int = -1) -> Tensor:
    """The `k` largest entries in falling order, the smallest in rising order where `k` is negative."""
    return _extremes(sort(x, axis=axis), x, k, axis)


@function()
def argtopk(x: Any, k: int, axis: int = -1) -> Tensor:
    """The positions of the `k` largest entries."""
    return _extremes(argsort(x, axis=axis), x, k, axis)


def _extremes(ordered: Tensor, x: Any, k: int, axis: int) -> Tensor:
    front = (slice(None),) * normal_axis("topk", as_tensor(x), axis)
    return getitem(ordered, (*front, slice(None, -k) if k < 0 else slice(None, -k - 1, -1)))


# --- results whose size depends on the values
def _size_unknown(name: str, x: Tensor, instead: str) -> TypeError:
    return TypeError(
        f"{name}: how many entries the result has depends on the values of {x!r}, which are not known before the "
        f"program runs. {instead}"
    )


_padded_unique = JaxOp("unique_op", lambda x, *, size: jnp.unique(x, size=size))


@function()
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    size: int | None = None,
) -> Any:
    """The distinct entries in order; of a tensor that is computed, `size=` says how many there are."""
    x = as_tensor(x)
    if is_constant(x):
        found: Any = np.unique(value_of(x), return_index, return_inverse, return_counts, axis)  # type: ignore[call-overload]
        return tuple(map(constant, found)) if isinstance(found, tuple) else constant(found)
    if size is None:
        raise _size_unknown("unique", x, "Pass size=, the number of distinct values.")
    if return_index or return_inverse or return_counts or axis is not None:
        raise TypeError(f"unique of {x!r}, which is computed, gives the values only: leave return_... and axis out")
    return _padded_unique(x, size=int(size))


_padded_nonzero = JaxOp("nonzero_op", lambda x, *, size: tuple(jnp.nonzero(x, size=size)))


@function()
def nonzero(x: Any, return_matrix: bool = False, *, size: int | None = None) -> Any:
    """The positions of the entries that are not zero, an array for each axis."""
    x = as_tensor(x)
    if is_constant(x):
        places: Any = tuple(map(constant, np.nonzero(value_of(x))))
    elif size is None:
        raise _size_unknown("nonzero", x, "Use switch(mask, x, 0), or pass size=, the number of nonzero entries.")
    else:
        places = tuple(_padded_nonzero(x, size=int(size)))
    return as_tensor(list(places)) if return_matrix else places


@function()
def flatnonzero(x: Any, *, size: int | None = None) -> Tensor:
    """The positions in the flattened array of the entries that are not zero."""
    return nonzero(_flat(x), size=size)[0]


def _flat(x: Any) -> Tensor:
    """All entries in one row; of a constant, a constant."""
    x = as_tensor(x)
    return constant(value_of(x).ravel()) if is_constant(x) else x.reshape((-1,))


@function()
def nonzero_values(x: Any, *, size: int | None = None) -> Tensor:
    """The entries that are not zero."""
    flat = _flat(x)
    return flat[flatnonzero(flat, size=size)]


@function()
def argwhere(x: Any, *, size: int | None = None) -> Tensor:
    """The positions of the entries that are not zero, as rows."""
    return nonzero(x, return_matrix=True, size=size).T


@function()
def compress(condition: Any, x: Any, axis: int | None = None) -> Tensor:
    """The entries (or slices along an axis) where a condition known now is true."""
    condition, x = as_tensor(condition), as_tensor(x)
    if not is_constant(condition):
        raise _size_unknown("compress", condition, "Use switch(mask, x, 0).")
    places = np.flatnonzero(value_of(condition))
    return x.reshape((-1,))[places] if axis is None else x.take(places, axis)


# --- counting
_counts = JaxOp("bincount_op", lambda x, weights, *, length: jnp.zeros(length, weights.dtype).at[x].add(
    jnp.broadcast_to(weights, x.shape), mode="drop"))  # fmt: skip


@function()
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often 0, 1, 2, ... occur; of a tensor that is computed, only the numbers below `minlength`."""
    x = as_tensor(x)
    if is_constant(x):
        minlength = max(minlength, int(value_of(x).max(initial=-1)) + 1)
    elif not minlength:
        raise _size_unknown("bincount", x, "Pass minlength=, one more than the largest number.")
    return _counts(x, np.int64(1) if weights is None else weights, length=int(minlength))


@function()
def histogram(
    x: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """Counts between edges, and the edges: their number with a range, or the edges themselves."""
    x = as_tensor(x).reshape((-1,))
    if isinstance(bins, int):
        low, high = (x.min(), x.max()) if range is None else range
        edges = as_tensor(low) + (as_tensor(high) - low) * constant(np.linspace(0, 1, bins + 1))
    else:
        edges = as_tensor(bins)
    count = edges.type.shape[0]
    if count is None:
        raise ValueError(f"histogram: the number of edges of {edges!r} must be known")
    last = x == edges[-1]
    place = searchsorted(edges, x, side="right") - cast_to(last, "int64") - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    weight = inside * (1 if weights is None else as_tensor(weights).reshape((-1,)))
    counts = _counts(
        place.clip(0, count - 2), weight if weight.dtype != "bool" else cast_to(weight, "int64"), length=count - 1
    )
    if density:
        counts = counts / counts.sum() / (edges[1:] - edges[:-1])
    return counts, edges


@function()
def smallest(*values: Any) -> Tensor:
    """Entry by entry the smallest of several arrays."""
    return as_tensor(list(values)).min(axis=0)


@function()
def largest(*values: Any) -> Tensor:
    """Entry by entry the largest of several arrays."""
    return as_tensor(list(values)).max(axis=0)


@function()
def nanpercentile(x: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """`percentile` of the entries that are numbers."""
    return nanquantile(x, as_tensor(q) / 100.0, axis=axis, keepdims=keepdims)
