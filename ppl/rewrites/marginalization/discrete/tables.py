"""Factors as tables over the sites of finite discrete variables.

A table has a row for each number of a log-density, and an axis for each site that it depends on. Sites that meet in a
row get different colors; the factor is written once for each choice of values of the colors, for all rows at once.
Discrete latents that all rows share, and that steer switches, go by the states of the switches (`switches`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import DiscreteMarkovChain, RandomVariable
from ppl.distributions.declaration.inner import laws_of
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.factorization.supports import merged, over_last
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.discrete.latents import Labels, Table, name_of, row_support
from ppl.rewrites.marginalization.discrete.switches import Grid, at_all_values, steered
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.rewrites.marginalization.program import Factor, NoMatch, log_density, reaches
from ppl.tensor.tensor import Tensor, as_tensor, placeholder


def tables(factor: Factor, labels: Labels) -> list[Table]:
    """The log-density of a factor by the values of the discrete latents it depends on."""
    support = row_support(factor, labels)
    rows = support.reshape(-1, support.shape[-1])
    touched = np.unique(rows[rows >= 0])
    together = (rows >= 0).sum(axis=1).max(initial=0) == len(touched)
    if together and (whole := steered(factor, labels, touched)) is not None:
        return [whole]
    colors = _colors(rows, labels.counts)
    classes = sorted(set(colors.values()))
    sizes = [count for count, _ in classes]
    if prod(sizes) > LIMITS.copies_of_a_factor:
        raise NoMatch(
            f'"{name_of(factor)}" has {prod(sizes)} combinations of values, more than {LIMITS.copies_of_a_factor}'
        )
    columns = []
    chosen = np.zeros(labels.sites.count, dtype=int)
    nodes = reaches(factor, labels.values) | ({factor} if isinstance(factor, RandomVariable) else set())
    for combination in product(*map(range, sizes)):
        for site, color in colors.items():
            chosen[site] = combination[classes.index(color)]
        density = log_density(factor, labels.at(chosen, nodes))
        columns.append(tt.broadcast_to(density, support.shape[:-1]).reshape((len(rows),)))
    whole = tt.stack(columns, axis=-1).reshape((len(rows), *sizes))
    return _by_colors(whole, rows, colors, classes)


def _by_colors(whole: Tensor, rows: np.ndarray, colors: Mapping[int, Any], classes: Sequence[Any]) -> list[Table]:
    """Rows that meet the same colors in the same order, as one table each."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(classes.index(colors[int(s)]) for s in row[row >= 0]), []).append(i)
    found = []
    for axes, members in groups.items():
        part = whole if len(members) == len(rows) else whole[np.array(members)]
        unused = [a for a in range(len(classes)) if a not in axes]
        for a in sorted(unused, reverse=True):
            part = part[(slice(None),) * (a + 1) + (0,)]
        kept = [a for a in range(len(classes)) if a in axes]
        order = [kept.index(a) for a in axes]
        if order != sorted(order):
            part = tt.transpose(part, (0, *(1 + o for o in order)))
        sites = np.stack([rows[i][rows[i] >= 0] for i in members]).reshape(len(members), len(axes))
        found.append(Table(sites, part))
    return found


def _colors(rows: np.ndarray, counts: np.ndarray) -> dict[int, tuple[int, int]]:
    """For each site (number of values, color), such that sites of one row differ."""
    distinct = np.unique(rows, axis=0)
    neighbors: dict[int, set[int]] = {}
    for row in distinct:
        here = [int(s) for s in row if s >= 0]
        for s in here:
            neighbors.setdefault(s, set()).update(o for o in here if o != s)
    colors: dict[int, tuple[int, int]] = {}
    for site in sorted(neighbors):
        taken = {colors[n] for n in neighbors[site] if n in colors}
        color = 0
        while (int(counts[site]), color) in taken:
            color += 1
        colors[site] = int(counts[site]), color
    return colors


class Templates:
    """Tables of discrete latents whose laws read alike but for the discrete latents they depend on, as along a chain:
    made once."""

    def __init__(self) -> None:
        self.symbols: dict[Any, Tensor] = {}
        self.known: dict[Any, Tensor] = {}

    def key(self, rv: Any, parents: Sequence[Any], values: Mapping[Any, np.ndarray]) -> Any:
        """What the law of a scalar discrete latent reads like, with its parents by their numbers."""
        named: dict[Node, Node] = {}
        for i, parent in enumerate(parents):
            kind = i, parent.type
            named[parent] = self.symbols.setdefault(kind, placeholder(parent.type))
        law = tuple(substitute(list(rv.parameters), named))
        return rv.family, law, tuple(tuple(values[v].tolist()) for v in (rv, *parents))


def own_tables(rv: Any, labels: Labels, templates: Templates) -> list[Table]:
    """The law of a discrete latent by its own value (the last axis) and those of the discrete latents it depends on."""
    values, sites = labels.values[rv], labels.sites
    inputs = [sites.support(p) for p in rv.parameters]
    if rv.family is DiscreteMarkovChain:
        if any(s is not None for s in inputs):
            raise NoMatch(f'the law of the chain "{rv.name}" depends on another discrete latent')
        return _chain_tables(rv, sites.of[rv])
    shape = known_shape(rv)
    axes = rv.family.event_axes(rv.parameters)
    support = merged([over_last(s, n) for s, n in zip(inputs, axes, strict=True)], shape)
    own = sites.of[rv].reshape(-1, 1)
    if support is None:
        return [Table(own, _by_own_value(rv, rv.parameters, values, shape))]
    rows = support.reshape(-1, support.shape[-1])
    colors = _colors(rows, labels.counts)
    classes = sorted(set(colors.values()))
    sizes = [count for count, _ in classes]
    grid = Grid(labels, rows[0])
    at_once = len(rows) == 1 and prod(sizes) >= LIMITS.many_values_together and grid.is_all_of(rv)
    most, each = (
        (LIMITS.values_of_a_code, LIMITS.values_of_a_code)
        if at_once
        else (LIMITS.copies_of_a_factor, LIMITS.copies_of_a_factor * 16)
    )
    if prod(sizes) > most or prod(sizes) * len(values) > each:
        raise NoMatch(f'"{rv.name}" has {prod(sizes)} combinations of values of its parents, more than {most}')
    parents = sites.owners(rows)
    scalar = rv.ndim == 0 and all(v.ndim == 0 for v in parents)
    key = templates.key(rv, parents, labels.values) if scalar else None
    whole = templates.known.get(key) if scalar else None
    if whole is None:
        if at_once:
            whole = at_all_values(_by_own_value(rv, rv.parameters, values, shape), grid)
            order = [next(i for i, s in enumerate(rows[0]) if colors[int(s)] == c) for c in classes]
            whole = tt.transpose(whole.reshape((*labels.counts[rows[0]], len(values))), (*order, len(order)))
        else:
            columns = []
            chosen = np.zeros(sites.count, dtype=int)
            nodes = ancestors(list(rv.parameters), labels.values)
            for combination in product(*map(range, sizes)):
                for site, color in colors.items():
                    chosen[site] = combination[classes.index(color)]
                here = substitute(list(rv.parameters), labels.at(chosen, nodes))
                columns.append(_by_own_value(rv, here, values, shape))
            whole = tt.stack(columns, axis=1)
        whole = whole.reshape((len(rows), *sizes, len(values)))
        if scalar:
            templates.known[key] = whole
    itself = (len(values), -1)  # its own value has the last axis
    full = np.concatenate([rows, own], axis=-1)
    ordered = np.sort(full, axis=-1)
    return _by_colors(whole, ordered, {**colors, **{int(s): itself for s in own.ravel()}}, [*classes, itself])


def _by_own_value(rv: Any, parameters: Any, values: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    """log p(z = k) for each entry and each value: (entries, values)."""
    if laws_of(rv):  # which have no axis for the values
        each = [rv.family.log_density(as_tensor(np.asarray(v, rv.dtype)), *parameters) for v in values]
        return tt.stack([tt.broadcast_to(x, shape).reshape((prod(shape),)) for x in each], axis=-1)
    spread = [
        tt.expand_dims(p, p.ndim - d.domain.ndim) if p.ndim > d.domain.ndim else p
        for p, d in zip(parameters, rv.family.params.values(), strict=True)
    ]
    density = rv.family.log_density(as_tensor(values.astype(rv.dtype)), *spread)
    return tt.broadcast_to(density, (*shape, len(values))).reshape((prod(shape), len(values)))


def _chain_tables(rv: Any, sites: np.ndarray) -> list[Table]:
    """The law of a Markov chain: of its first state, and of each step."""
    start, steps = rv.parameters
    batch, count = sites.shape[:-1], start.type.shape[-1]
    paths = sites.reshape(-1, sites.shape[-1])
    first = tt.broadcast_to(tt.log(start), (*batch, count)).reshape((len(paths), count))
    length = paths.shape[1] - 1
    moves = tt.broadcast_to(tt.log(steps), (*batch, length, count, count)).reshape((-1, count, count))
    pairs = np.stack([paths[:, :-1].ravel(), paths[:, 1:].ravel()], axis=-1)
    return [Table(paths[:, :1], first), Table(pairs, moves)]
