"""Questions about entries: close, equal, among, infinite, real."""

from __future__ import annotations

from typing import Any

from ppl.tensor.arrays.creation import zeros_like
from ppl.tensor.arrays.reductions import all as all_along
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.elementwise import equal, imag, isclose, isinf, logical_and, logical_not, not_equal
from ppl.tensor.core.ops import cast_to
from ppl.tensor.tensor import Tensor, as_tensor, constant, function


@function()
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether all entries are close."""
    return all_along(isclose(a, b, rtol, atol, equal_nan))


@function()
def array_equal(a: Any, b: Any) -> Tensor:
    """Whether two arrays have one shape and the same entries."""
    a, b = as_tensor(a), as_tensor(b)
    known = zip(a.type.shape, b.type.shape, strict=False)
    if a.ndim != b.ndim or any(None not in (m, n) and m != n for m, n in known):
        return constant(False)
    return all_along(equal(a, b))


@function()
def array_equiv(a: Any, b: Any) -> Tensor:
    """Whether two arrays are equal after broadcasting."""
    return all_along(equal(a, b))


@function()
def isin(x: Any, values: Any) -> Tensor:
    """Whether an entry is among some values."""
    x, values = as_tensor(x), as_tensor(values).reshape((-1,))
    return (expand_dims(x, -1) == values).any(axis=-1)


@function()
def isposinf(x: Any) -> Tensor:
    """Whether an entry is +infinity."""
    return logical_and(isinf(x), as_tensor(x) > 0)


@function()
def isneginf(x: Any) -> Tensor:
    """Whether an entry is -infinity."""
    return logical_and(isinf(x), as_tensor(x) < 0)


@function()
def ndim(x: Any) -> int:
    """The number of axes."""
    return as_tensor(x).ndim


@function()
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return as_tensor(x).dtype.startswith("complex")


@function()
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@function()
def iscomplex(x: Any) -> Tensor:
    """Whether an entry has an imaginary part."""
    return not_equal(imag(x), 0) if iscomplexobj(x) else cast_to(zeros_like(x), "bool")


@function()
def isreal(x: Any) -> Tensor:
    """Whether an entry has no imaginary part."""
    return logical_not(iscomplex(x))
