r"""Rows of censored and truncated laws, by those of the law itself.

Between the bounds a censored row has the density of its law, and rows at a bound are counted; a truncated row has the
density of its law over the probability between the bounds, which all rows of a cell share,

.. math:: \sum_i \log f(y_i) = \sum_i \log f_0(y_i) - \sum_c n_c \log P_c(\mathrm{lower} \le X_0 \le \mathrm{upper}).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Censored, RandomVariable, Truncated
from ppl.distributions.draws.draw import draw
from ppl.distributions.formulas.bounds import log_mass
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.data import data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.positive import unproved
from ppl.rewrites.marginalization.program import NoMatch, Observation, Term, where_valid
from ppl.rewrites.sufficient_statistics.distinct_rows import cells, looks
from ppl.tensor.tensor import Tensor, as_tensor

Compact = Callable[[Observation], tuple[Term, str]]


@record
class _Bounded:
    """Rows with a law and bounds that are data."""

    observation: Observation
    law: RandomVariable
    bounds: tuple[Tensor, Tensor]

    @staticmethod
    def of(observation: Observation) -> _Bounded:
        law, *bounds = observation.variable.parameters
        if not all(map(is_data, bounds)):
            raise NoMatch("its bounds are not data")
        return _Bounded(observation, law, tuple(bounds))  # type: ignore[arg-type]

    @property
    def count(self) -> int:
        return known_shape(self.observation.variable)[0]

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of each row."""
        lower, upper = (np.broadcast_to(data_value(b), (self.count,)) for b in self.bounds)
        return lower, upper

    def law_at(self, rows: np.ndarray, name: str | None = None) -> RandomVariable:
        given = looks(self.law, self.count)
        return draw(self.law.family, tuple(look.at(p, rows) for look, p in given), (len(rows),), name)

    def bounds_at(self, rows: np.ndarray) -> list[Tensor]:
        """Bounds that all rows share as they are, so that one that is absent is known to be."""
        return [b[rows] if b.ndim and b.type.shape[0] != 1 else b for b in self.bounds]

    def plain(self, rows: np.ndarray) -> Observation:
        """Some rows as values of the law itself."""
        return Observation(self.law_at(rows, self.observation.variable.name), self.observation.value[rows])

    def alike(self, rows: np.ndarray, *further: np.ndarray) -> tuple[np.ndarray, Tensor]:
        """One of each kind of some rows, with how many there are; all of them where few are alike."""
        columns: list[np.ndarray] = []
        for look, p in looks(self.law, self.count):
            look.key(p, columns)
        columns += [np.reshape(x, (self.count, -1)) for x in (*self.ends(), *further)]
        try:
            first, cell = cells([c[rows] for c in columns], len(rows))
        except NoMatch:
            first, cell = np.arange(len(rows)), np.arange(len(rows))
        return rows[first], as_tensor(np.bincount(cell, minlength=len(first)).astype(float))


def censored(observation: Observation, compact: Compact) -> tuple[Term, str]:
    """The rows between the bounds as those of the law, and those at a bound counted."""
    here, name = _Bounded.of(observation), observation.variable.name
    y = np.asarray(data_value(observation.value))
    lower, upper = here.ends()
    outside = (y <= lower) | (y >= upper)
    inside, words = compact(here.plain(np.flatnonzero(~outside)))
    density: Any = inside.density
    if outside.any():
        rows, counts = here.alike(np.flatnonzero(outside), y)
        at_bounds = Censored.log_density(observation.value[rows], here.law_at(rows), *here.bounds_at(rows))
        density = density + tt.sum(counts * at_bounds)
    density = where_valid(density, unproved(here.law.family, here.law.parameters))
    return Term(f"statistics of {name}", density, "rows"), f"{words}; {int(outside.sum())} at a bound, counted"


def truncated(observation: Observation, compact: Compact) -> tuple[Term, str]:
    """The rows as those of the law, less the probability between the bounds."""
    here, name = _Bounded.of(observation), observation.variable.name
    y, (lower, upper) = np.asarray(data_value(observation.value)), here.ends()
    if not np.all((y >= lower) & (y <= upper)):
        raise NoMatch("a value lies outside the bounds")
    every = np.arange(here.count)
    inside, words = compact(here.plain(every))
    rows, counts = here.alike(every)
    mass = log_mass(here.law_at(rows), *here.bounds_at(rows))
    density = where_valid(inside.density - tt.sum(counts * mass), unproved(here.law.family, here.law.parameters))
    return Term(f"statistics of {name}", density, "rows"), f"{words}, and their probability between the bounds"


def bounded(observation: Observation, compact: Compact) -> tuple[Term, str]:
    """Rows of a censored or truncated law; raises `NoMatch` where they are of no other law, or do not pay."""
    if observation.variable.family is Censored:
        return censored(observation, compact)
    if observation.variable.family is Truncated:
        return truncated(observation, compact)
    raise NoMatch("it is not a law between bounds")
