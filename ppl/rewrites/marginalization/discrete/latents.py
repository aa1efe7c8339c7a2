"""Discrete latents to be summed out, tables over their sites, and the sites that the numbers of a factor depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import Node
from ppl.graph.records import record
from ppl.rewrites.factorization.supports import Sites, Support, merged, over_last
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.rewrites.marginalization.program import Factor, NoMatch, Observation, Term, log_density, written_by_user
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Table:
    """Numbers by row and by the values of the sites of the row, in ascending order of the sites."""

    sites: np.ndarray  # (rows, axes)
    entries: Tensor  # (rows, values of the first site, ...)


@record
class Labels:
    """The variables to be summed out: their values, and their sites."""

    values: Mapping[Any, np.ndarray]  # of each variable
    sites: Sites

    @cached_property
    def counts(self) -> np.ndarray:
        """How many values each site has."""
        counts = np.zeros(self.sites.count, dtype=int)
        for rv, values in self.values.items():
            counts[self.sites.of[rv]] = len(values)
        return counts

    def at(self, chosen: np.ndarray, nodes: Set[Node]) -> dict[Node, Node]:
        """Each variable among some nodes with the value numbered `chosen` at each site."""
        found: dict[Node, Node] = {}
        for rv in (n for n in nodes if isinstance(n, RandomVariable) and n in self.values):
            values = self.values[rv]
            numbers = np.minimum(chosen[self.sites.of[rv]], len(values) - 1)
            found[rv] = as_tensor(values[numbers].astype(rv.dtype))
        return found


def name_of(factor: Factor) -> str:
    """What the user calls a factor."""
    return (factor.variable.name if isinstance(factor, Observation) else factor.name) or "a draw"


def row_support(factor: Factor, labels: Labels) -> Support:
    """The sites that each number of a log-density depends on."""
    sites = labels.sites
    if isinstance(factor, Term):
        found = sites.support(factor.density)
    elif written_by_user(factor):
        found = sites.support(log_density(factor))
    else:
        owner = factor.variable if isinstance(factor, Observation) else factor
        if None in owner.type.shape:
            raise NoMatch(f'the shape of "{owner.name}" is only known when the program runs')
        shape = known_shape(owner)
        event = owner.event_ndim
        batch = shape[: len(shape) - event]
        axes = owner.family.event_axes(owner.parameters)
        supports = [over_last(sites.support(p), n) for p, n in zip(owner.parameters, axes, strict=True)]
        value = factor.value if isinstance(factor, Observation) else factor
        if isinstance(factor, Observation) and sites.support(value) is not None:
            raise NoMatch(f'the observed value of "{owner.name}" depends on it')
        supports.append(over_last(sites.support(value), event))
        if isinstance(factor, Observation) and factor.rows is not None:
            supports.append(sites.support(factor.rows))
        found = merged(supports, batch)
    if found is None:
        raise NoMatch(f'how "{name_of(factor)}" depends on it is not understood')
    return found


def meet_in_a_row(variables: Sequence[Any], factors: Sequence[Factor]) -> bool:
    """Whether some number of a factor depends on every entry of some discrete latents."""
    labels = Labels({}, Sites(variables))
    for factor in factors:
        try:
            support = row_support(factor, labels)
        except NoMatch:
            continue
        if (support >= 0).sum(axis=-1).max(initial=0) == labels.sites.count:
            return True
    return False
