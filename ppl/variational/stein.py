"""The direction in which Stein variational gradient descent moves particles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.variational.test_functions import rbf

__all__ = ["Stein"]


def direction(k: Any, repulsion: Any, slopes: Any, scale: float = 1.0, temperature: float = 1.0) -> Any:
    """φ at each particle, from the kernel, its derivatives and the slopes of the log-density; `scale` divides these."""
    return (k @ slopes / (scale * temperature) + repulsion / scale) / len(slopes)


class Stein:
    """φ at the points of an approximation, or at draws of it: `Stein(approx).grad()`."""

    def __init__(
        self,
        approx: Any,
        kernel: Callable[[Any], tuple[Any, Any]] = rbf,
        use_histogram: bool = True,
        temperature: float = 1,
    ) -> None:
        self.approx, self.temperature, self._kernel = approx, float(temperature), kernel
        self.use_histogram = use_histogram

    def points(self, draws: int = 100, seed: int = 0) -> np.ndarray:
        """The points."""
        if self.use_histogram:
            return np.asarray(self.approx.histogram.get_value())
        return np.asarray(self.approx.positions(draws, seed))

    def grad(self, draws: int = 100, seed: int = 0) -> np.ndarray:
        """The direction at each of them."""
        points = self.points(draws, seed)
        k, repulsion = (np.asarray(part.eval()) for part in self._kernel(tt.as_tensor(points)))
        return np.asarray(direction(k, repulsion, self.approx.problem.target(points)[1], 1.0, self.temperature))
