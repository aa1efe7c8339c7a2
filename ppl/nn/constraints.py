"""Functions of a variable's new value, for `constraints={variable: function}` of an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.core.elementwise import clip, maximum, minimum, sqrt
from ppl.tensor.tensor import Tensor


def nonnegative(x: Tensor) -> Tensor:
    """Negative entries become 0."""
    return maximum(x, 0)


def between(low: float, high: float) -> Callable[[Tensor], Tensor]:
    """Entries are moved into an interval."""
    if not low <= high:
        raise ValueError(f"between: {low!r} lies above {high!r}")
    return lambda x: clip(x, low, high)


def unit_norm(x: Tensor, axis: Any = 0) -> Tensor:
    """Vectors along an axis get length 1."""
    return x / sqrt(sum_along(x**2, axis, keepdims=True))


def max_norm(limit: float, axis: Any = 0) -> Callable[[Tensor], Tensor]:
    """Vectors along an axis that are longer than `limit` are shortened to it."""
    if not limit > 0:
        raise ValueError(f"max_norm: the limit is positive, got {limit!r}")

    def shorten(x: Tensor) -> Tensor:
        length = sqrt(sum_along(x**2, axis, keepdims=True))
        return x * (minimum(length, limit) / maximum(length, 1e-30))

    return shorten
