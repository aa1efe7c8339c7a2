"""Order: sorting, ranks, searching, counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.creation import linspace
from ppl.tensor.arrays.indexing import getitem
from ppl.tensor.arrays.reductions import argmax, nan_of_empty
from ppl.tensor.arrays.reductions import max as max_along
from ppl.tensor.arrays.shaping import concatenate
from ppl.tensor.core.later import jnf
from ppl.tensor.core.ops import JaxOp, TensorOp, cast_to, floats, normal_axis, unify
from ppl.tensor.core.sizes import filled, split_sizes
from ppl.tensor.tensor import FUNCTIONS, Tensor, TensorType, as_tensor, constant, function, is_constant, value_of
from ppl.xla.later import jnp


def _ranked(x: Any) -> Any:
    """Truth values as numbers, for what takes only numbers."""
    return x.astype(jnp.int8) if x.dtype == bool else x


_quantile, _percentile = nan_of_empty(jnf.quantile), nan_of_empty(jnf.percentile)
_nanquantile, _nanmedian = nan_of_empty(jnf.nanquantile), nan_of_empty(jnf.nanmedian)

sort = JaxOp("sort", lambda a, *, axis=-1: jnp.sort(a, axis), ways=("kind", "stable"))
sort_complex = JaxOp("sort_complex", lambda x: jnp.sort_complex(x))
argsort = JaxOp("argsort", lambda a, *, axis=-1, stable=True: jnp.argsort(a, axis, stable=stable), ways=("kind",))
lexsort = JaxOp("lexsort", lambda *keys, axis=-1: jnp.lexsort(keys, axis))
partition = JaxOp("partition", lambda x, *, kth, axis=-1: jnp.partition(_ranked(x), kth, axis).astype(x.dtype))
argpartition = JaxOp(
    "argpartition", lambda x, *, kth, axis=-1: jnp.argpartition(_ranked(x), kth, axis).astype(jnp.int64)
)
searchsorted = JaxOp(
    "searchsorted",
    lambda x, v, *, side="left": jnp.searchsorted(x, v, side, method="scan_unrolled").astype(jnp.int64),
    one_dtype=True,
)  # one pass over v, where "scan" is one for each halving
digitize = JaxOp(
    "digitize", lambda x, bins, *, right=False: jnp.digitize(x, bins, right).astype(jnp.int64), one_dtype=True
)
quantile = JaxOp("quantile", lambda x, q, *, axis=None, method="linear", keepdims=False: _quantile(
    x, q, axis=axis, method=method, keepdims=keepdims), to_float=True)  # fmt: skip
percentile = JaxOp("percentile", lambda x, q, *, axis=None, method="linear", keepdims=False: _percentile(
    x, q, axis=axis, method=method, keepdims=keepdims), to_float=True)  # fmt: skip
nanquantile = JaxOp("nanquantile", lambda x, q, *, axis=None, keepdims=False: _nanquantile(
    x, q, axis=axis, keepdims=keepdims), to_float=True)  # fmt: skip
nanmedian = JaxOp("nanmedian", lambda x, *, axis=None, keepdims=False: _nanmedian(
    x, axis=axis, keepdims=keepdims), to_float=True)  # fmt: skip
nanargmax = JaxOp("nanargmax", lambda x, *, axis=None, keepdims=False: jnp.nanargmax(x, axis, keepdims=keepdims))
nanargmin = JaxOp("nanargmin", lambda x, *, axis=None, keepdims=False: jnp.nanargmin(x, axis, keepdims=keepdims))
nanvar = JaxOp("nanvar", lambda x, *, axis=None, ddof=0, keepdims=False: jnp.nanvar(
    x, axis, ddof=ddof, keepdims=keepdims), to_float=True)  # fmt: skip
nanstd = JaxOp("nanstd", lambda x, *, axis=None, ddof=0, keepdims=False: jnp.nanstd(
    x, axis, ddof=ddof, keepdims=keepdims), to_float=True)  # fmt: skip


@function()
def max_and_argmax(a: Any, axis: Any = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The largest entry and its position."""
    return max_along(a, axis, keepdims), argmax(a, axis, keepdims)


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


# --- counting
class _Counts(TensorOp):
    """How often 0, 1, ... occur, or the sums of their weights."""

    def __call__(self, x: Any, weights: Any, length: Any) -> Tensor:
        _, static, symbolic = split_sizes(length)
        return self.build((as_tensor(x), as_tensor(weights), *symbolic), {"shape": static}, None)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(inputs[1].type.dtype, attrs["shape"])


def _count(x: Any, weights: Any, *sizes: Any, shape: tuple[int | None, ...]) -> Any:
    if min(filled(shape, sizes)) < 0:
        raise ValueError("bincount: numbers that are counted are not negative, and some are")
    sums = jnp.zeros(filled(shape, sizes), jnp.asarray(weights).dtype)
    return sums.at[jnp.asarray(x)].add(jnp.broadcast_to(weights, jnp.shape(x)), mode="drop")


_counts = _Counts("bincount_op", _count)


@function()
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often 0, 1, 2, ... occur; of a tensor that is computed, only the numbers below `minlength` where given."""
    x = as_tensor(x)
    if is_constant(x) and value_of(x).min(initial=0) < 0:
        raise ValueError(f"bincount: numbers that are counted are not negative, got {value_of(x).min()} in {x!r}")
    if is_constant(x):
        minlength = max(minlength, int(value_of(x).max(initial=-1)) + 1)
    whole = concatenate([constant([0]), x.astype("int64")])
    counted = max_along(concatenate([constant([-1]), x.astype("int64")])) + 1
    length = minlength or FUNCTIONS["switch"](whole.min() < 0, -1, counted)
    return _counts(x, np.int64(1) if weights is None else weights, length)


@function()
def histogram(
    x: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """Counts between edges, and the edges: their number with a range, or the edges themselves."""
    x = as_tensor(x).reshape((-1,))
    if isinstance(bins, int):
        low, high = (x.min(), x.max()) if range is None else range
        low, high, _ = unify(floats((low, high, x)))
        edges = linspace(low, high, bins + 1)
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
    return nanquantile(x, q / 100.0, axis=axis, keepdims=keepdims)
