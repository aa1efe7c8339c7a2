"""Discrete latents that steer switches: sums over the rows of a factor, by the values of a few discrete latents
together.

What discrete latents steer are *codes*: expressions of discrete latents and data alone, such as `time < tau`. A factor
whose rows depend on codes of few states is computed once for each state, and its rows are added up as the states say
(`runs`); any other factor is computed for all values of the discrete latents at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import is_draw
from ppl.graph import Node, ancestors, topological
from ppl.graph.records import record
from ppl.rewrites.books.simplify import simplify_given_draws
from ppl.rewrites.factorization.supports import Sites
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.discrete.latent_values import states_at
from ppl.rewrites.marginalization.discrete.latents import Labels, Table, row_support
from ppl.rewrites.marginalization.discrete.state_sums import State, sums_of_rows
from ppl.rewrites.marginalization.expressions.data import is_data, known_shape
from ppl.rewrites.marginalization.program import Factor, NoMatch, Term, log_density, parts, reaches
from ppl.tensor.core.vectorizing import vectorize_graph
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Grid:
    """All values of some sites together, in the order of a table."""

    labels: Labels
    sites: np.ndarray

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(int(c) for c in self.labels.counts[self.sites])

    @property
    def variables(self) -> list[Any]:
        """The discrete latents that the sites belong to."""
        return self.labels.sites.owners(self.sites)

    @property
    def numbers(self) -> np.ndarray:
        """The number of its value for each site: (sites, values together)."""
        return np.indices(self.counts).reshape(len(self.counts), -1)

    def values(self, variables: Sequence[Any]) -> dict[Any, np.ndarray]:
        """These discrete latents, at all values together; entries at other sites have their first value."""
        chosen = np.zeros((prod(self.counts), self.labels.sites.count), dtype=int)
        chosen[:, self.sites] = self.numbers.T
        of = self.labels.sites.of
        return {rv: self.labels.values[rv][chosen[:, of[rv]]].astype(rv.dtype) for rv in variables}

    def is_all_of(self, factor: Factor) -> bool:
        """Whether a factor is written in these discrete latents alone, not in others that it takes no number from."""
        return {n for n in reaches(factor, self.labels.values) if n in self.labels.values} <= {factor, *self.variables}

    def places_in(self, part: Grid) -> np.ndarray:
        """Where the values of some of the sites stand in their own grid."""
        return np.ravel_multi_index(tuple(self.numbers[np.searchsorted(self.sites, part.sites)]), part.counts)


@record
class Code:
    """An expression of discrete latents and data alone, and all values of the sites that it depends on."""

    expression: Any
    grid: Grid

    @property
    def size(self) -> int:
        """How many numbers the widest expression on its way holds, over all values."""
        own = ancestors(self.expression, blockers=self.grid.variables)
        return prod(self.grid.counts) * max(prod(known_shape(n)) for n in own if isinstance(n, Tensor))

    def states(self) -> np.ndarray:
        """Its entries at all values: (values, entries)."""
        written_in = [n for n in ancestors(self.expression) if n in self.grid.labels.values]  # more than it depends on
        found = states_at(self.expression, self.grid.values(written_in))
        return found.reshape(len(found), -1)


def steered(factor: Factor, labels: Labels, sites: np.ndarray) -> Table | None:
    """The sum of all rows by the values of a few sites together; None where these are few, or too many."""
    grid = Grid(labels, sites)
    total = prod(grid.counts)
    if (
        total < (LIMITS.many_values if len(sites) == 1 else LIMITS.many_values_together)
        or total > LIMITS.values_of_a_code
        or not grid.is_all_of(factor)
    ):
        return None
    codes = _codes([factor.density] if isinstance(factor, Term) else parts(factor), grid)
    found = _by_states(factor, codes, grid)
    if found is None:
        found = _by_values(factor, grid)
    return None if found is None else Table(sites[None], found.reshape((1, *grid.counts)))


def _codes(expressions: Sequence[Any], grid: Grid) -> list[Code]:
    """The largest subexpressions that depend on discrete latents and on data alone, and do not take too many
    numbers."""
    labels = set(grid.variables)
    steered, alone = set(labels), set(labels)  # by labels; by nothing but labels and data
    for e in topological(expressions, blockers=labels):
        if not steered.isdisjoint(e.inputs):
            steered.add(e)
        if alone.issuperset(e.inputs) and (is_data(e) if not e.inputs else not is_draw(e)):
            alone.add(e)
    found: dict[Any, Code] = {}
    pending, seen = list(expressions), set[Any]()
    while pending:
        e = pending.pop()
        if e in seen or e not in steered:
            continue
        seen.add(e)
        if e in alone:
            support = grid.labels.sites.support(e)
            assert support is not None
            code = Code(e, Grid(grid.labels, np.intersect1d(support, grid.sites)))
            if e in labels or code.size <= LIMITS.steered_numbers:
                found[e] = code
                continue
        pending += e.inputs
    return list(found.values())


def _by_states(factor: Factor, codes: Sequence[Code], grid: Grid) -> Tensor | None:
    """The sum of rows that depend on one entry of each code; None where codes have many states."""
    if any(c.expression in grid.labels.values or c.expression.dtype[0] not in "bui" for c in codes):
        return None
    states = [c.states() for c in codes]
    distinct = [np.unique(s) for s in states]
    if prod(map(len, distinct)) > min(LIMITS.combinations_of_codes, prod(grid.counts) / 2):
        return None
    own = {c.expression: d for c, d in zip(codes, distinct, strict=True)}
    try:
        support = row_support(factor, Labels(own, sites := Sites(list(own))))
    except NoMatch:
        return None
    at = support.reshape(-1, support.shape[-1])
    of_each_code = at.shape[1] == len(codes) and (at >= 0).all() and (sites.owner[at] == np.arange(len(codes))).all()
    if not of_each_code:
        return None
    rows: list[tuple[tuple[int, ...], Tensor]] = []
    for numbers in product(*(range(len(d)) for d in distinct)):
        here: dict[Node, Node] = {e: _filled(e, d[k]) for (e, d), k in zip(own.items(), numbers, strict=True)}
        density = simplify_given_draws(tt.broadcast_to(log_density(factor, here), support.shape[:-1]))
        rows.append((numbers, density.reshape((len(at),))))
    found = [
        State(np.searchsorted(d, s)[:, at[:, j] - sites.of[c.expression].min()], grid.places_in(c.grid))
        for j, (c, d, s) in enumerate(zip(codes, distinct, states, strict=True))
    ]
    return sums_of_rows(rows, found)


def _by_values(factor: Factor, grid: Grid) -> Tensor | None:
    """The factor at all values; None where that takes too many numbers."""
    codes = _codes([factor.density] if isinstance(factor, Term) else parts(factor), grid)
    if prod(grid.counts) * sum(prod(known_shape(c.expression)) for c in codes) > LIMITS.steered_numbers:
        return None
    return at_all_values(tt.sum(log_density(factor)), grid)


def at_all_values(e: Tensor, grid: Grid) -> Tensor:
    """An expression, at all values of some sites; what depends on these and on data alone is itself data."""
    over: dict[Node, Node] = {rv: as_tensor(values) for rv, values in grid.values(grid.variables).items()}
    states = {c.expression: _stacked(c.expression, over) for c in _codes([e], grid)}
    others = [n for n in ancestors(e) if is_draw(n) and n not in over]
    outside = ancestors(e, blockers=[*others, *states])
    moved = {**states, **{n: n for n in others if n in outside}}  # draws are no part of a body
    return as_tensor(vectorize_graph(e, moved))


def _stacked(code: Any, over: Mapping[Node, Node]) -> Node:
    """A code, at all values."""
    if code in over:
        return over[code]
    behind = ancestors(code)
    return vectorize_graph(code, {rv: values for rv, values in over.items() if rv in behind})


def _filled(like: Any, value: Any) -> Tensor:
    return as_tensor(np.full(known_shape(like), value, dtype=like.dtype))
