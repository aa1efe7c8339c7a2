"""Grids: numbers at constant ratios, coordinates, and positions in flattened arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.tensor.arrays.creation import first_axis_at
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.ops import cast_to, floats, unify
from ppl.tensor.tensor import Tensor, as_tensor, constant, dtype_name, function


@function()
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    base: Any = 10.0,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers with a constant ratio from `start` to `stop`, which have one sign; they are the same by every `base`."""
    start, stop = unify(floats((start, stop)))
    steps = np.arange(num, dtype=np.finfo(start.dtype).dtype) / max(num - 1 if endpoint else num, 1)
    weights = constant(steps.reshape((num,) + (1,) * max(start.ndim, stop.ndim)))
    result = first_axis_at(expand_dims(start, 0) * (expand_dims(stop / start, 0)) ** weights, axis)
    return result if dtype is None else cast_to(result, dtype_name(dtype))


@function()
def indices(dimensions: Sequence[int]) -> Tensor:
    """The coordinates of a grid."""
    return constant(np.indices(tuple(dimensions)))


@function()
def unravel_index(indices: Any, dims: Sequence[Any], order: str = "C") -> tuple[Tensor, ...]:
    """Coordinates from positions in the flattened array."""
    if order not in ("C", "F"):
        raise ValueError(f"unravel_index: order is 'C' or 'F', got {order!r}")
    rest, results = cast_to(as_tensor(indices), "int64"), []
    for n in reversed(tuple(dims)) if order == "C" else tuple(dims):
        results.append(rest % n)
        rest = rest // n
    return tuple(reversed(results)) if order == "C" else tuple(results)


@function()
def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[Any], mode: str = "raise", order: str = "C") -> Tensor:
    """Positions in the flattened array from coordinates."""
    if order not in ("C", "F") or mode not in ("raise", "wrap", "clip"):
        raise ValueError(
            f"ravel_multi_index: order is 'C' or 'F', mode 'raise', 'wrap' or 'clip'; got {order!r}, {mode!r}"
        )
    pairs = list(zip(multi_index, dims, strict=True))
    position: Any = constant(0)
    for i, n in pairs if order == "C" else reversed(pairs):
        i = as_tensor(i)
        i = i % n if mode == "wrap" else (i.clip(0, n - 1) if mode == "clip" else i)
        position = position * n + i
    return position
