"""The times of a solution, checked before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


def checked_times(who: str, times: Any, t0: Any) -> tuple[Tensor, Tensor]:
    """t0 and the times as tensors; an error where they are known and not in order."""
    t0, times = as_tensor(t0), as_tensor(times)
    for name, x, rank in (("times", times, 1), ("t0", t0, 0)):
        if x.ndim != rank:
            raise ValueError(f"{who}: {name} has {x.ndim} axes, {rank} {'is' if rank == 1 else 'are'} needed")
        if x.dtype[0] not in "fiu":
            raise TypeError(f"{who}: {name} are numbers, got {x.dtype}")
        if is_constant(x) and not np.all(np.isfinite(value_of(x))):
            raise ValueError(f"{who}: {name} must be finite, got {value_of(x).tolist()}")
    if times.type.shape == (0,):
        raise ValueError(f"{who}: there are no times to solve for")
    if is_constant(times):
        _require_order(who, value_of(times), float(value_of(t0)) if is_constant(t0) else None)
    return t0, times


def _require_order(who: str, times: np.ndarray, t0: float | None) -> None:
    back = np.flatnonzero(np.diff(times) < 0)
    if back.size:
        i = int(back[0])
        raise ValueError(
            f"{who}: times must not decrease, and times[{i + 1}] = {times[i + 1]:g} comes after times[{i}] ="
            f" {times[i]:g}. Sort them, as in `grid, place = np.unique(times, return_inverse=True)`, and take the rows"
            " solution[place]."
        )
    if t0 is not None and times[0] < t0:
        raise ValueError(
            f"{who}: t0 = {t0:g} is later than times[0] = {times[0]:g}. t0 is the time of y0, at or before the first"
            " time; backwards, solve dy/ds = -f(y, -s) for s = -t."
        )
