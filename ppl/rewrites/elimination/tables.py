"""Factors as tables over the sites of finite discrete variables.

A table has a row for each number of a log-density, and an axis for each site that it depends on. Sites that meet in a
row get different colours; the factor is written once for each choice of values of the colours, for all rows at once.
Where one variable only steers a switch (a change point), the factor is written once for each state of the switch, and
the sums over its rows are prefix sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import jax
import numpy as np

import ppl.tensor as tt
from ppl.distributions import DiscreteMarkovChain, is_draw
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.elimination.affine import is_data, known_shape
from ppl.rewrites.elimination.conjugate import NoMatch
from ppl.rewrites.elimination.program import Factor, Observation, Term, log_density, parts
from ppl.rewrites.elimination.supports import Sites, Support, collapsed, merged
from ppl.tensor.evaluate import evaluate
from ppl.tensor.tensor import Tensor, as_tensor, placeholder
from ppl.tensor.vectorizing import vectorize_graph
from ppl.tensor.variables import VARIABLE

MOST_COPIES = 256  # of a factor, one for each choice of values
MANY = 4  # values of a scalar label from which it is looked at what it steers
MOST_STATES = 10_000_000  # numbers that stand for what a label steers, over all its values


@dataclass(frozen=True)
class Table:
    """Numbers by row and by the values of the sites of the row, in ascending order of the sites."""

    sites: np.ndarray  # (rows, axes)
    entries: Tensor  # (rows, values of the first site, ...)


@dataclass(frozen=True)
class Labels:
    """The variables to be summed out: their values, and their sites."""

    values: Mapping[Any, np.ndarray]  # of each variable
    sites: Sites

    @property
    def counts(self) -> np.ndarray:
        """How many values each site has."""
        counts = np.zeros(self.sites.count, dtype=int)
        for rv, values in self.values.items():
            counts[self.sites.of[rv]] = len(values)
        return counts

    def at(self, chosen: np.ndarray) -> dict[Node, Node]:
        """Each variable with the value numbered `chosen` at each site."""
        found: dict[Node, Node] = {}
        for rv, values in self.values.items():
            numbers = np.minimum(chosen[self.sites.of[rv]], len(values) - 1)
            found[rv] = as_tensor(values[numbers].astype(rv.dtype))
        return found


def tables(factor: Factor, labels: Labels) -> list[Table]:
    """The log-density of a factor by the values of the labels it depends on."""
    support = row_support(factor, labels)
    rows = support.reshape(-1, support.shape[-1])
    touched = np.unique(rows[rows >= 0])
    if len(touched) == 1 and (alone := _steered(factor, labels, int(touched[0]))) is not None:
        return [alone]
    colours = _colours(rows, labels.counts)
    classes = sorted(set(colours.values()))
    sizes = [count for count, _ in classes]
    if prod(sizes) > MOST_COPIES:
        raise NoMatch(f'"{name_of(factor)}" has {prod(sizes)} combinations of values, more than {MOST_COPIES}')
    columns = []
    chosen = np.zeros(labels.sites.count, dtype=int)
    for combination in product(*map(range, sizes)):
        for site, colour in colours.items():
            chosen[site] = combination[classes.index(colour)]
        density = log_density(factor, labels.at(chosen))
        columns.append(tt.broadcast_to(density, support.shape[:-1]).reshape((len(rows),)))
    whole = tt.stack(columns, axis=-1).reshape((len(rows), *sizes))
    return _by_colours(whole, rows, colours, classes)


def _by_colours(whole: Tensor, rows: np.ndarray, colours: Mapping[int, Any], classes: Sequence[Any]) -> list[Table]:
    """Rows that meet the same colours in the same order, as one table each."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(classes.index(colours[int(s)]) for s in row[row >= 0]), []).append(i)
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


def _colours(rows: np.ndarray, counts: np.ndarray) -> dict[int, tuple[int, int]]:
    """For each site (number of values, colour), such that sites of one row differ."""
    distinct = np.unique(rows, axis=0)
    neighbours: dict[int, set[int]] = {}
    for row in distinct:
        here = [int(s) for s in row if s >= 0]
        for s in here:
            neighbours.setdefault(s, set()).update(o for o in here if o != s)
    colours: dict[int, tuple[int, int]] = {}
    for site in sorted(neighbours):
        taken = {colours[n] for n in neighbours[site] if n in colours}
        colour = 0
        while (int(counts[site]), colour) in taken:
            colour += 1
        colours[site] = int(counts[site]), colour
    return colours


class Templates:
    """Tables of labels whose laws read alike but for the labels they depend on, as along a chain: made once."""

    def __init__(self) -> None:
        self.symbols: dict[Any, Tensor] = {}
        self.known: dict[Any, Tensor] = {}

    def key(self, rv: Any, parents: Sequence[Any], values: Mapping[Any, np.ndarray]) -> Any:
        """What the law of a scalar label reads like, with its parents by their numbers."""
        named: dict[Node, Node] = {}
        for i, parent in enumerate(parents):
            kind = i, parent.type
            named[parent] = self.symbols.setdefault(kind, placeholder(parent.type))
        law = tuple(substitute(list(rv.parameters), named))
        return rv.family, law, tuple(tuple(values[v].tolist()) for v in (rv, *parents))


def own_tables(rv: Any, labels: Labels, templates: Templates) -> list[Table]:
    """The law of a label by its own value (the last axis) and those of the labels it depends on."""
    values, sites = labels.values[rv], labels.sites
    inputs = [sites.support(p) for p in rv.parameters]
    if rv.family is DiscreteMarkovChain:
        if any(s is not None for s in inputs):
            raise NoMatch(f'the law of the chain "{rv.name}" depends on another label')
        return _chain_tables(rv, sites.of[rv])
    shape = known_shape(rv)
    domains = [p.domain.ndim for p in rv.family.params.values()]
    support = merged([_over_last(s, n) for s, n in zip(inputs, domains, strict=True)], shape)
    own = sites.of[rv].reshape(-1, 1)
    if support is None:
        return [Table(own, _by_own_value(rv, rv.parameters, values, shape))]
    rows = support.reshape(-1, support.shape[-1])
    colours = _colours(rows, labels.counts)
    classes = sorted(set(colours.values()))
    sizes = [count for count, _ in classes]
    if prod(sizes) * len(values) > MOST_COPIES * 16 or prod(sizes) > MOST_COPIES:
        raise NoMatch(f'"{rv.name}" has {prod(sizes)} combinations of values of its parents, more than {MOST_COPIES}')
    parents = sites.owners(rows)
    scalar = rv.ndim == 0 and all(v.ndim == 0 for v in parents)
    key = templates.key(rv, parents, labels.values) if scalar else None
    whole = templates.known.get(key) if scalar else None
    if whole is None:
        columns = []
        chosen = np.zeros(sites.count, dtype=int)
        for combination in product(*map(range, sizes)):
            for site, colour in colours.items():
                chosen[site] = combination[classes.index(colour)]
            here = substitute(list(rv.parameters), labels.at(chosen))
            columns.append(_by_own_value(rv, here, values, shape))
        whole = tt.stack(columns, axis=1).reshape((len(rows), *sizes, len(values)))
        if scalar:
            templates.known[key] = whole
    itself = (len(values), -1)  # its own value has the last axis
    full = np.concatenate([rows, own], axis=-1)
    ordered = np.sort(full, axis=-1)
    return _by_colours(whole, ordered, {**colours, **{int(s): itself for s in own.ravel()}}, [*classes, itself])


def _by_own_value(rv: Any, parameters: Any, values: np.ndarray, shape: tuple[int, ...]) -> Tensor:
    """log p(z = k) for each entry and each value: (entries, values)."""
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


# --- rows of a factor ---------------------------------------------------------------------------------------------
def name_of(factor: Factor) -> str:
    """What the user calls a factor."""
    return (factor.variable.name if isinstance(factor, Observation) else factor.name) or "a draw"


def row_support(factor: Factor, labels: Labels) -> Support:
    """The sites that each number of a log-density depends on."""
    sites = labels.sites
    if isinstance(factor, Term):
        found = sites.support(factor.density)
    else:
        owner = factor.variable if isinstance(factor, Observation) else factor
        if None in owner.type.shape:
            raise NoMatch(f'the shape of "{owner.name}" is only known when the program runs')
        shape = known_shape(owner)
        event = owner.event_ndim
        batch = shape[: len(shape) - event]
        supports = [
            _over_last(sites.support(p), declared.domain.ndim)
            for p, declared in zip(owner.parameters, owner.family.params.values(), strict=True)
        ]
        value = factor.value if isinstance(factor, Observation) else factor
        if isinstance(factor, Observation) and sites.support(value) is not None:
            raise NoMatch(f'the observed value of "{owner.name}" depends on it')
        supports.append(_over_last(sites.support(value), event))
        if isinstance(factor, Observation) and factor.rows is not None:
            supports.append(sites.support(factor.rows))
        found = merged(supports, batch)
    if found is None:
        raise NoMatch(f'how "{name_of(factor)}" depends on it is not understood')
    return found


def _over_last(support: Support | None, axes: int) -> Support | None:
    if support is None or not axes:
        return support
    return collapsed(support, range(support.ndim - 1 - axes, support.ndim - 1))


# --- one variable that steers switches ----------------------------------------------------------------------------
def _steered(factor: Factor, labels: Labels, site: int) -> Table | None:
    """The sum of all rows by the values of one scalar label that has many; None where it has few."""
    (rv,) = labels.sites.owners(np.array([site]))
    values = labels.values[rv]
    if len(values) < MANY or prod(known_shape(rv)) != 1:
        return None
    inputs = [factor.density] if isinstance(factor, Term) else [p for p in parts(factor) if rv in ancestors(p)]
    codes = _codes(inputs, rv)
    if len(codes) == 1 and codes[0] is not rv and codes[0].dtype[0] in "bui":
        switched = _switched(factor, codes[0], _states(codes[0], rv, values))
        if switched is not None:
            return Table(np.array([[site]]), switched.reshape((1, len(values))))
    if len(values) * sum(prod(known_shape(code)) for code in codes) > MOST_STATES:
        return None
    over = {rv: as_tensor(values.astype(rv.dtype).reshape(len(values), *rv.type.shape))}
    states = {code: over[rv] if code is rv else vectorize_graph(code, over) for code in codes}  # of data alone
    total = tt.sum(log_density(factor))
    others = [n for n in ancestors(total) if is_draw(n) and n is not rv]
    outside = ancestors(total, blockers=[*others, *states])
    mapped = vectorize_graph(total, {**states, **{n: n for n in others if n in outside}})  # draws are no part of a body
    return Table(np.array([[site]]), mapped.reshape((1, len(values))))


def _states(code: Any, rv: Any, values: np.ndarray) -> np.ndarray:
    """What a code is at each value of a label."""
    held = {n: n.attrs["cell"].value for n in ancestors(code) if n.op is VARIABLE}
    run = lambda value: evaluate([code], {rv: value, **held})[0]
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(run)(values.astype(rv.dtype).reshape(len(values), *rv.type.shape)))


def _switched(factor: Factor, code: Any, states: np.ndarray) -> Tensor | None:
    """The sum of rows that each depend on one entry of a code of few states, by the value of what steers the code."""
    distinct = np.unique(states)
    if len(distinct) > len(states) / 2 or len(distinct) > 8:
        return None
    try:
        support = row_support(factor, Labels({code: distinct}, Sites([code])))
    except NoMatch:
        return None
    if support.shape[-1] != 1:
        return None
    at = support.reshape(-1)
    rows = [
        tt.broadcast_to(log_density(factor, {code: _filled(code, d)}), support.shape[:-1]).reshape((at.size,))
        for d in distinct
    ]
    state = np.searchsorted(distinct, states.reshape(len(states), -1))[:, np.maximum(at, 0)]  # (values, rows)
    total = _prefix_sums(rows, state) if len(rows) == 2 else None
    if total is None:
        chosen = [tt.sum(tt.switch(state == d, r, 0.0), axis=1) for d, r in enumerate(rows)]
        total = chosen[0]
        for more in chosen[1:]:
            total = total + more
    return total


def _prefix_sums(rows: Sequence[Tensor], state: np.ndarray) -> Tensor | None:
    """Σ_i rows[state[k, i]][i] where the rows in state 1 are nested from one k to the next: two running totals."""
    order = np.argsort(-state.sum(axis=0), kind="stable")
    lengths = state.sum(axis=1)
    if not np.array_equal(state[:, order], np.arange(state.shape[1]) < lengths[:, None]):
        return None
    zero = tt.zeros((1,))
    first = tt.concatenate([zero, tt.cumsum(rows[1][order])])
    last = tt.concatenate([tt.cumsum(rows[0][order][::-1])[::-1], zero])
    return first[lengths] + last[lengths]


def _filled(like: Any, value: Any) -> Tensor:
    return as_tensor(np.full(known_shape(like), value, dtype=like.dtype))


def _codes(expressions: Sequence[Any], rv: Any) -> list[Any]:
    """The largest subexpressions that depend on a variable and on data alone."""
    found: dict[Any, None] = {}
    pending = list(expressions)
    while pending:
        e = pending.pop()
        if rv not in ancestors(e):
            continue
        if e is rv or is_data(substitute(e, {rv: _filled(rv, 0)})):
            found[e] = None
        else:
            pending += e.inputs
    return list(found)
