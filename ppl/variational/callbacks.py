"""What looks on while an approximation is fitted: functions of (approximation, losses so far, number of the step)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Callback", "CheckParametersConvergence", "Tracker"]


class Callback:
    """Called after a step; StopIteration ends the fit without an error."""

    every = 1  # a fit that has no other callbacks makes so many steps at a time

    def __call__(self, approx: Any, loss: Any, i: int) -> None:
        raise NotImplementedError


def relative(current: np.ndarray, prev: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Changes in proportion to what there was."""
    return (np.abs(current - prev) + eps) / (np.abs(prev) + eps)


def absolute(current: np.ndarray, prev: np.ndarray) -> np.ndarray:
    """Changes."""
    return np.abs(current - prev)


DIFFERENCES: dict[str, Callable[..., np.ndarray]] = {"relative": relative, "absolute": absolute}


class CheckParametersConvergence(Callback):
    """Ends a fit once the parameters change little: by less than `tolerance` in `every` steps, in the norm `ord`."""

    def __init__(self, every: int = 100, tolerance: float = 1e-3, diff: str = "relative", ord: Any = np.inf) -> None:
        if diff not in DIFFERENCES:
            raise KeyError(f"diff is one of {', '.join(DIFFERENCES)}, got {diff!r}")
        self._diff = DIFFERENCES[diff]
        self.ord, self.every, self.tolerance = ord, every, tolerance
        self.prev: np.ndarray | None = None

    def __call__(self, approx: Any, loss: Any, i: int) -> None:
        if self.prev is None:
            self.prev = self.flatten_shared(approx.params)
        if i < self.every or i % self.every:
            return
        current, prev = self.flatten_shared(approx.params), self.prev
        self.prev = current
        if np.linalg.norm(self._diff(current, prev), self.ord) < self.tolerance:
            raise StopIteration(f"Convergence achieved at {i}")

    @staticmethod
    def flatten_shared(shared_list: Any) -> np.ndarray:
        """All values in one vector."""
        return np.concatenate([np.ravel(variable.get_value()) for variable in shared_list])


class Tracker(Callback):
    """Keeps what functions return after each step: `Tracker(mean=approx.mean.eval)["mean"]` is a list. A function may
    take nothing, or (approximation, losses, number of the step)."""

    def __init__(self, **kwargs: Callable[..., Any]) -> None:
        self.whatchdict = kwargs
        self.hist: dict[str, list[Any]] = {name: [] for name in kwargs}

    def record(self, approx: Any, hist: Any, i: int) -> None:
        """Add what the functions return now."""
        for name, function in self.whatchdict.items():
            try:
                found = function()
            except Exception:  # it wants to know more; if it still fails, the error is the user's to see
                found = function(approx, hist, i)
            self.hist[name].append(found)

    def clear(self) -> None:
        """Forget everything."""
        self.hist = {name: [] for name in self.whatchdict}

    def __getitem__(self, item: str) -> list[Any]:
        return self.hist[item]

    def __call__(self, approx: Any, loss: Any, i: int) -> None:
        self.record(approx, loss, i)
