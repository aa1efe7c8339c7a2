"""PyMC's way to make a result from points by hand: one chain recorded in memory, and several as a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.model.context import modelcontext
from ppl.model.output.multitrace import MultiTrace as Trace


class NDArray:
    """A chain of draws: `setup(draws, chain)`, then `record(point)` for each, then `close()`.

    `setup(..., sampler_vars)` says which statistics each sampler has, as dictionaries from names to types; `record` is
    then given a dictionary for each sampler.
    """

    def __init__(self, name: str | None = None, model: Any = None, vars: Any = None, **_: Any) -> None:
        self.name, self.model = name, modelcontext(model)
        self.vars = list(self.model.unobserved_value_vars if vars is None else vars)
        self.varnames = [str(v.name) for v in self.vars]
        self.chain, self.points, self.stats = 0, [], []  # type: ignore[var-annotated]
        self.sampler_vars: list[dict[str, Any]] | None = None
        self._begun = False
        self._values = self.model.compile_fn(self.vars)
        at_start = self._values(self.model.initial_point())
        self.var_shapes = {name: np.shape(value) for name, value in zip(self.varnames, at_start, strict=True)}
        self.var_dtypes = {name: np.asarray(value).dtype for name, value in zip(self.varnames, at_start, strict=True)}

    @property
    def stat_names(self) -> set[str]:
        """The names of the statistics of all samplers."""
        return {name for kinds in self.sampler_vars or () for name in kinds}

    def setup(self, draws: int, chain: int, sampler_vars: Any = None) -> None:
        """Begin a chain."""
        kinds = None if sampler_vars is None else [dict(each) for each in sampler_vars]
        if self._begun and kinds != self.sampler_vars:
            raise ValueError("setup: the samplers have other statistics than before")
        for name in {name for each in kinds or () for name in each}:
            of_name = {np.dtype(each[name]) for each in kinds or () if name in each}
            if len(of_name) > 1:
                raise ValueError(f"setup: the statistic {name!r} has another type in each sampler: {of_name}")
        self.chain, self.points, self.stats = chain, [], []
        self.sampler_vars, self._begun = kinds, True

    def record(self, point: dict[str, Any], sampler_stats: Any = None, *, in_warmup: bool = False) -> None:
        """Add the values of all variables at a point of what samplers move, with the statistics of the samplers."""
        if (sampler_stats is None) != (self.sampler_vars is None):
            raise ValueError("record: statistics are given where, and only where, setup() said what they are")
        self.points.append([np.array(value) for value in self._values(point)])
        if sampler_stats is not None:
            self.stats.append([dict(each) for each in sampler_stats])

    def close(self) -> None:
        """Nothing is held open."""

    def get_values(self, varname: str, burn: int = 0, thin: int = 1) -> np.ndarray:
        """The draws of a variable."""
        at = self.varnames.index(varname)
        return np.array([point[at] for point in self.points])[burn::thin]

    def get_sampler_stats(self, stat_name: str, sampler_idx: int | None = None, burn: int = 0, thin: int = 1) -> Any:
        """A statistic: one number a draw, or one for each sampler that has it."""
        kinds = self.sampler_vars or []
        having = [i for i, each in enumerate(kinds) if stat_name in each]
        if not having:
            raise KeyError(f"no sampler has a statistic {stat_name!r}; there are {', '.join(sorted(self.stat_names))}")
        if sampler_idx is not None:
            having = [sampler_idx]
        columns = [np.array([draw[i][stat_name] for draw in self.stats], kinds[i][stat_name]) for i in having]
        found = columns[0] if len(columns) == 1 else np.stack(columns, axis=-1)
        return found[burn::thin]

    def point(self, idx: int) -> dict[str, np.ndarray]:
        """All values of one draw."""
        return dict(zip(self.varnames, self.points[idx], strict=True))

    def __len__(self) -> int:
        return len(self.points)


class _IsTrace(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Trace)


class MultiTrace(metaclass=_IsTrace):
    """Draws of several chains: `MultiTrace(chains)` of recorded ones."""

    def __new__(cls, straces: Sequence[NDArray]) -> Any:
        chains = [each.chain for each in straces]
        if len(set(chains)) < len(chains):
            raise ValueError(f"MultiTrace: the chains have the same number: {chains}")
        arrays = {name: np.stack([each.get_values(name) for each in straces]) for name in straces[0].varnames}
        names = sorted(straces[0].stat_names)
        stats = {name: np.stack([each.get_sampler_stats(name) for each in straces]) for name in names}
        return Trace(arrays, stats, chains)
