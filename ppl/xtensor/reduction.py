"""Sums, means and the like along named axes: PyTensor's `pytensor.xtensor.reduction`."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import ppl.tensor as tt
from ppl.xtensor.math import axes_of, names_of
from ppl.xtensor.type import XTensorVariable, as_xtensor, function


def _reduce(of_tensors: Callable[..., Any], x: Any, dim: Any, **options: Any) -> XTensorVariable:
    x = as_xtensor(x)
    gone = names_of(x, dim)
    if not gone:
        return x
    return XTensorVariable(of_tensors(x.node, axis=axes_of(x, dim), **options), [d for d in x.dims if d not in gone])


def _whole(x: Any) -> XTensorVariable:
    """Whole numbers and booleans in 64 bits, as their sums are."""
    x = as_xtensor(x)
    wide = "uint64" if x.dtype[0] == "u" else "int64"
    return x.astype(wide) if x.dtype[0] in "uib" and x.dtype != wide else x


@function
def sum(x: Any, dim: Any = None) -> XTensorVariable:
    """Σ along dims; all where none are named."""
    return _reduce(tt.sum, _whole(x), dim)


@function
def prod(x: Any, dim: Any = None) -> XTensorVariable:
    """Π along dims."""
    return _reduce(tt.prod, _whole(x), dim)


@function
def max(x: Any, dim: Any = None) -> XTensorVariable:
    """The largest entry along dims."""
    return _reduce(tt.max, x, dim)


@function
def min(x: Any, dim: Any = None) -> XTensorVariable:
    """The smallest entry along dims."""
    return _reduce(tt.min, x, dim)


@function
def all(x: Any, dim: Any = None) -> XTensorVariable:
    """Whether all entries along dims hold."""
    return _reduce(tt.all, as_xtensor(x).astype("bool"), dim)


@function
def any(x: Any, dim: Any = None) -> XTensorVariable:
    """Whether some entry along dims holds."""
    return _reduce(tt.any, as_xtensor(x).astype("bool"), dim)


@function
def mean(x: Any, dim: Any = None) -> XTensorVariable:
    """The mean along dims."""
    return _reduce(tt.mean, x, dim)


@function
def var(x: Any, dim: Any = None, *, ddof: int = 0) -> XTensorVariable:
    """The mean square of the deviations from the mean along dims; `ddof` is taken off their number."""
    return _reduce(tt.var, x, dim, ddof=ddof)


@function
def std(x: Any, dim: Any = None, *, ddof: int = 0) -> XTensorVariable:
    """The root of `var`."""
    return _reduce(tt.std, x, dim, ddof=ddof)


def _running(of_tensors: Callable[..., Any], x: Any, dim: Any) -> XTensorVariable:
    x = _whole(x)
    node = x.node
    for axis in axes_of(x, dim):
        node = of_tensors(node, axis=axis)
    return XTensorVariable(node, x.dims)


@function
def cumsum(x: Any, dim: Any = None) -> XTensorVariable:
    """Running sums along dims."""
    return _running(tt.cumsum, x, dim)


@function
def cumprod(x: Any, dim: Any = None) -> XTensorVariable:
    """Running products along dims."""
    return _running(tt.cumprod, x, dim)


@function
def diff(x: Any, dim: str, n: int = 1) -> XTensorVariable:
    """Each entry less the one before it along a dim, `n` times."""
    x = as_xtensor(x)
    for _ in builtins.range(n):
        x = x.isel({dim: slice(1, None)}) - x.isel({dim: slice(None, -1)})
    return x
