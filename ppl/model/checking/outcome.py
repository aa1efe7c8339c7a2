"""What checks of results look at: draws by name, statistics, pointwise log-likelihoods and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ppl.model.output.results import group_of
from ppl.samplers.runs import diagnostics

MOST_ENTRIES = 4000  # entries of variables that are looked at, one by one

WITHOUT_CHAINS = ("recovery", "quadrature", "rejection")  # how `drawn_by` begins where draws are independent


class Outcome:
    """Results as checks see them. What could not be looked at is noted in `skipped`."""

    def __init__(self, results: Any) -> None:
        self.skipped: list[str] = []
        self.posterior = group_of(results, "posterior")
        self.stats = group_of(results, "sample_stats")
        self.log_likelihood = group_of(results, "log_likelihood")

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """What was noted about the run."""
        return dict(self.posterior.attrs)

    @cached_property
    def draws(self) -> dict[str, np.ndarray]:
        """The draws of each name, (chains, draws, entries): those with finite values that vary."""
        found, left = {}, MOST_ENTRIES
        for name, variable in self.posterior.data_vars.items():
            values = np.asarray(variable.values)
            if values.dtype.kind not in "fiub" or values.shape[:2] != (self.chains, self.count):
                continue
            flat = values.reshape(self.chains, self.count, -1).astype(float)
            if flat.shape[2] > left:
                self.skipped.append(f'"{name}" and what comes after it: there are more than {MOST_ENTRIES:,} entries')
                break
            left -= flat.shape[2]
            found[str(name)] = flat
        return found

    @property
    def chains(self) -> int:
        return int(self.posterior.sizes["chain"])

    @property
    def count(self) -> int:
        """How many draws a chain has."""
        return int(self.posterior.sizes["draw"])

    @property
    def are_chains(self) -> bool:
        """Whether the draws are those of Markov chains: others do not depend on each other."""
        return not str(self.attributes.get("drawn_by", "")).startswith(WITHOUT_CHAINS)

    @property
    def is_long_enough(self) -> bool:
        return self.count >= diagnostics.ENOUGH_DRAWS

    def entry(self, name: str, place: int) -> str:
        """How an entry of a variable is called, by the labels of its dimensions."""
        variable = self.posterior[name]
        dims = variable.dims[2:]
        if not dims:
            return name
        index = np.unravel_index(place, variable.shape[2:])
        return f"{name}[{', '.join(str(variable[d].values[i]) for d, i in zip(dims, index, strict=True))}]"

    def each(self, diagnostic: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
        """A diagnostic of every entry of every variable; nan for entries that do not vary."""
        found = {}
        for name, draws in self.draws.items():
            still = (np.ptp(draws, axis=(0, 1)) == 0) | ~np.isfinite(draws).all(axis=(0, 1))
            values = np.full(draws.shape[2], np.nan)
            if not still.all():
                values[~still] = diagnostic(draws[:, :, ~still])
            found[name] = values
        return found

    def stat(self, *names: str) -> np.ndarray | None:
        """A statistic of the draws under one of its names, (chains, draws)."""
        for name in names:
            if self.stats is not None and name in self.stats:
                return np.asarray(self.stats[name].values)
        return None


def worst(
    outcome: Outcome, values: Mapping[str, np.ndarray], bad: Callable[[np.ndarray], np.ndarray], most: bool
) -> Any:
    """The names with a bad value, worst first, each with its worst entry and that value."""
    sign, found = (-1.0 if most else 1.0), []
    for name, each in values.items():
        with np.errstate(invalid="ignore"):
            places = np.flatnonzero(bad(each))
        if len(places):
            place = int(places[np.argmin(sign * each[places])])
            found.append((sign * each[place], name, outcome.entry(name, place), float(each[place]), len(places)))
    return [(name, entry, value, count) for _, name, entry, value, count in sorted(found)]
