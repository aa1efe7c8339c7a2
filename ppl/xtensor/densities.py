"""Densities of labelled draws: what `pm.logp` and its like say where names are given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ppl.tensor.tensor import Tensor
from ppl.xtensor.alignment import aligned
from ppl.xtensor.draws import Recipe
from ppl.xtensor.type import XTensorVariable, as_xtensor, is_labelled_array

Density = Callable[..., Any]


def of_labelled(f: Density) -> Density:
    """A function of a draw and a value that also takes labelled ones: the value's axes are matched by name, those that
    the draw has not come first, and the result has no axes of one value."""

    @functools.wraps(f)
    def answer(rv: Any, value: Any, warn_rvs: bool = True) -> Any:
        if not isinstance(rv, XTensorVariable):
            return f(rv, value, warn_rvs)
        x = _value(rv, value)
        dims = (*(d for d in x.dims if d not in rv.dims), *rv.dims)
        result: Tensor = f(rv.node, aligned(x, dims, keep=rv.ndim), warn_rvs)
        gone = _of_one_value(rv, len(dims) - result.ndim)
        return XTensorVariable(result, [d for d in dims if d not in gone])

    return answer


def _value(rv: XTensorVariable, value: Any) -> XTensorVariable:
    """The value with names: an array without any has those of the draw."""
    if isinstance(value, XTensorVariable) or is_labelled_array(value):
        return as_xtensor(value)
    return as_xtensor(value, rv.dims if getattr(value, "ndim", 0) or isinstance(value, list | tuple) else None)


def _of_one_value(rv: XTensorVariable, count: int) -> tuple[str, ...]:
    """The dims that a density has not."""
    if isinstance(rv.made_by, Recipe) and count:
        inner = rv.made_by
        return inner.event(inner.made(inner.batch), inner.batch)
    return rv.dims[len(rv.dims) - count :]
