"""Entries taken from several arrays by a number or a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.tensor.arrays.creation import zeros_like
from ppl.tensor.arrays.indexing import inside, take_along_axis
from ppl.tensor.arrays.shaping import broadcast_to, expand_dims, shape_padleft
from ppl.tensor.core.elementwise import isinf, isnan, switch
from ppl.tensor.core.ops import cast_to
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import Tensor, as_tensor, function


@function()
def choose(a: Any, choices: Any, mode: str = "raise") -> Tensor:
    """Entry by entry from the array whose number stands in `a`."""
    stacked = as_tensor(choices if isinstance(choices, Tensor) else list(choices))
    count = shape_of(stacked)[0]
    a = as_tensor(inside("choose", a, count, mode))
    rank = max(stacked.ndim - 1, a.ndim)
    stacked = stacked.reshape((count, *[1] * (rank - stacked.ndim + 1), *shape_of(stacked)[1:]))
    a = expand_dims(shape_padleft(a, rank - a.ndim), 0)
    common = shape_of(stacked[:1] * 0 + a * 0)[1:]
    picked = take_along_axis(broadcast_to(stacked, (count, *common)), broadcast_to(a, (1, *common)), 0)
    return picked[0]


@function()
def select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Tensor:
    """Entry by entry from the first array whose condition is true."""
    result: Any = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = switch(condition, choice, result)
    return as_tensor(result)


@function()
def piecewise(x: Any, conditions: Sequence[Any], functions: Sequence[Any]) -> Tensor:
    """The function (or number) of the last condition that is true; one more function than conditions is the default."""
    x = as_tensor(x)
    values = [f(x) if callable(f) and not isinstance(f, Tensor) else f for f in functions]
    result = values[len(conditions)] if len(values) > len(conditions) else zeros_like(x)
    for condition, value in zip(conditions, values, strict=False):
        result = switch(condition, cast_to(as_tensor(value), x.dtype), result)
    return as_tensor(result)


@function()
def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Numbers in place of nan and of infinities."""
    x = as_tensor(x)
    if x.dtype[0] != "f":
        return x
    limits = np.finfo(x.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    x = switch(isnan(x), np.asarray(nan, x.dtype), x)
    return switch(isinf(x), switch(x > 0, np.asarray(high, x.dtype), np.asarray(low, x.dtype)), x)
