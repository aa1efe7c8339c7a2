"""PyMC's way to make a result from points by hand: one chain recorded in memory, and several as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.model.context import modelcontext
from ppl.model.output.multitrace import MultiTrace as Trace


class NDArray:
    """A chain of draws: `setup(draws, chain)`, then `record(point)` for each, then `close()`."""

    def __init__(self, name: str | None = None, model: Any = None, vars: Any = None, **_: Any) -> None:
        self.name, self.model = name, modelcontext(model)
        self.vars = list(self.model.unobserved_value_vars if vars is None else vars)
        self.varnames = [str(v.name) for v in self.vars]
        self.chain, self.points = 0, []  # type: ignore[var-annotated]
        self._values = self.model.compile_fn(self.vars)

    def setup(self, draws: int, chain: int, sampler_vars: Any = None) -> None:
        """Begin a chain."""
        self.chain, self.points = chain, []

    def record(self, point: dict[str, Any], sampler_stats: Any = None) -> None:
        """Add the values of all variables at a point of what samplers move."""
        self.points.append([np.array(value) for value in self._values(point)])

    def close(self) -> None:
        """Nothing is held open."""

    def __len__(self) -> int:
        return len(self.points)


class _IsTrace(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Trace)


class MultiTrace(metaclass=_IsTrace):
    """Draws of several chains: `MultiTrace(chains)` of recorded ones."""

    def __new__(cls, straces: Sequence[NDArray]) -> Any:
        arrays = {
            name: np.stack([[point[i] for point in each.points] for each in straces])
            for i, name in enumerate(straces[0].varnames)
        }
        return Trace(arrays, {}, [each.chain for each in straces])
