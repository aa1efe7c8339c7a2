"""Draws without ArviZ: what `sample(..., return_inferencedata=False)` gives, by PyMC's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

# What PyMC calls statistics in a trace, and in a result.
IN_TRACES = {
    "depth": "tree_depth", "mean_tree_accept": "acceptance_rate", "model_logp": "lp", "tree_size": "n_steps",
}  # fmt: skip


class MultiTrace:
    """Draws of several chains by name. `trace["mu"]` joins the chains; `trace[100:]` leaves out draws, and
    `trace["mu", 100:]` is both.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     trace = pm.sample(100, chains=2, random_seed=1, quiet=True, return_inferencedata=False)
    >>> trace["mu"].shape, trace.nchains
    ((200,), 2)
    """

    def __init__(
        self,
        values: Mapping[str, np.ndarray],
        stats: Mapping[str, np.ndarray],
        chains: Sequence[int],
        report: Any = None,
        data: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._values, self._stats, self._chains = dict(values), dict(stats), list(chains)
        self.report = report
        self._data = dict(data or {})  # the data that the draws were made with

    def data_then(self) -> dict[str, np.ndarray]:
        """The data that the draws were made with."""
        return dict(self._data)

    @property
    def varnames(self) -> list[str]:
        """The names of the variables."""
        return list(self._values)

    @property
    def stat_names(self) -> set[str]:
        """The names of the statistics."""
        return set(self._stats)

    @property
    def chains(self) -> list[int]:
        """The numbers of the chains."""
        return list(self._chains)

    @property
    def nchains(self) -> int:
        """How many chains there are."""
        return len(self._chains)

    def __len__(self) -> int:
        return next((value.shape[1] for value in {**self._stats, **self._values}.values()), 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or (name not in self._values and name not in self._stats):
            raise AttributeError(f"the trace has no attribute, variable or statistic {name!r}")
        return self.get_values(name)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        return f"<MultiTrace: {self.nchains} chains, {len(self)} iterations, {len(self._values)} variables>"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self.get_values(index)
        if isinstance(index, slice):
            return MultiTrace(
                {name: value[:, index] for name, value in self._values.items()},
                {name: value[:, index] for name, value in self._stats.items()},
                self._chains,
                self.report,
                self._data,
            )
        if isinstance(index, int | np.integer):
            return self.point(int(index))
        if isinstance(index, tuple) and len(index) == 2 and isinstance(index[1], slice):
            return self[index[1]][index[0]]
        if not hasattr(index, "name"):
            raise TypeError(f"a trace is indexed by a variable, a draw, a slice, or (variable, slice), got {index!r}")
        return self.get_values(index.name)

    def get_values(
        self,
        varname: Any,
        burn: int = 0,
        thin: int = 1,
        combine: bool = True,
        chains: Any = None,
        squeeze: bool = True,
    ) -> Any:
        """The draws of a variable, or of its name: joined, or one array a chain."""
        varname = varname if isinstance(varname, str) else str(getattr(varname, "name", varname))
        if varname not in self._values and varname not in self._stats:
            raise KeyError(f"the trace has no variable {varname!r}; it has {', '.join(self._values)}")
        source = self._values[varname] if varname in self._values else self._stats[varname]
        return self._picked(source, burn, thin, combine, chains, squeeze)

    def get_sampler_stats(
        self,
        stat_name: str,
        burn: int = 0,
        thin: int = 1,
        combine: bool = True,
        chains: Any = None,
        squeeze: bool = True,
    ) -> Any:
        """A statistic of the draws, by its name in results, or in PyMC's traces."""
        stat_name = IN_TRACES.get(stat_name, stat_name)
        if stat_name not in self._stats:
            raise KeyError(f"the trace has no statistic {stat_name!r}; it has {', '.join(sorted(self._stats))}")
        return self._picked(self._stats[stat_name], burn, thin, combine, chains, squeeze)

    def _picked(self, values: np.ndarray, burn: int, thin: int, combine: bool, chains: Any, squeeze: bool) -> Any:
        wanted = self._chains if chains is None else [chains] if isinstance(chains, int) else list(chains)
        parts = [values[self._chains.index(chain)][burn::thin] for chain in wanted]
        if combine:
            return np.concatenate(parts)
        return parts[0] if squeeze and len(parts) == 1 else parts

    def point(self, idx: int, chain: int | None = None) -> dict[str, np.ndarray]:
        """All values of one draw, by default of the last chain."""
        row = self._chains.index(self._chains[-1] if chain is None else chain)
        return {name: value[row, idx] for name, value in self._values.items()}

    def points(self, chains: Sequence[int] | None = None) -> Iterator[dict[str, np.ndarray]]:
        """The draws one by one, chain after chain."""
        for chain in self._chains if chains is None else chains:
            for idx in range(len(self)):
                yield self.point(idx, chain)

    def as_arrays(self) -> dict[str, np.ndarray]:
        """Every variable as (chains, draws, ...)."""
        return dict(self._values)
