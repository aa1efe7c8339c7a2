r"""Sums over all values of many discrete latents: variable elimination, and chains.

Tables over sites make up a graph; its connected parts are summed separately, those of the same form at once. Sites go
one by one, the one whose neighbors have the fewest combinations first,

.. math:: m(z_{N(s)}) = \log \sum_{z_s} \exp\Big[\sum_{t \ni s} t(z)\Big],

and come back in the opposite order by draws from the summed tables. A long chain goes by a loop over its sites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, DiscreteMarkovChain
from ppl.distributions.draws.draw import draw
from ppl.graph.records import record
from ppl.rewrites.factorization.partition import Partition
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.discrete.latents import Table
from ppl.rewrites.marginalization.program import NoMatch
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.linear_algebra.chains import log_forward
from ppl.tensor.tensor import Tensor

Roles = tuple[int, ...]


@record
class Summed:
    """The logarithm of a sum, and draws from the law that it normalizes: site numbers and their values."""

    log_total: Tensor
    draws: list[tuple[np.ndarray, Tensor]]


@record
class Form:
    """What parts of the same form share: how many values each site has, and which sites stand in a table together."""

    counts: Roles
    tables: tuple[Roles, ...]


class Pool:
    """All tables with the same numbers of values, one row for each set of sites."""

    def __init__(self, parts: Sequence[Table]) -> None:
        sites = np.concatenate([t.sites for t in parts])
        shared = {id(t.entries): t.entries for t in parts}
        starts = dict(zip(shared, np.cumsum([0, *(t.type.shape[0] for t in shared.values())]), strict=False))
        rows = np.concatenate([starts[id(t.entries)] + np.arange(len(t.sites)) for t in parts])
        whole = tt.concatenate(list(shared.values())) if len(shared) > 1 else next(iter(shared.values()))
        keys, group = np.unique(sites, axis=0, return_inverse=True)
        group = group.ravel()
        if len(keys) < len(sites):
            whole, rows = segment_sum(_rows(whole, rows), group, len(keys)), np.arange(len(keys))
        else:
            rows = rows[np.argsort(group)]
        self.entries, self.rows = whole, {tuple(map(int, key)): int(row) for key, row in zip(keys, rows, strict=True)}

    def at(self, sites: np.ndarray) -> Tensor:
        """The tables of some sets of sites, zero where there is none."""
        blank = self.entries.type.shape[0] or 0
        rows = np.array([self.rows.get(tuple(s), blank) for s in sites.tolist()])
        if not (rows == blank).any():
            return _rows(self.entries, rows)
        return tt.concatenate([self.entries, tt.zeros((1, *self.entries.type.shape[1:]))])[rows]


def _rows(table: Tensor, rows: np.ndarray) -> Tensor:
    if np.array_equal(rows, np.arange(table.type.shape[0] or 0)):
        return table
    if len(rows) and (rows == rows[0]).all():
        one = table[int(rows[0])]
        return tt.broadcast_to(one, (len(rows), *one.type.shape))
    return table[rows]


def sum_product(parts: Sequence[Table], counts: np.ndarray) -> Summed:
    """The sum over all values of all sites."""
    by_counts: dict[Roles, list[Table]] = {}
    for t in parts:
        if len(t.sites) and t.sites.shape[1]:
            by_counts.setdefault(tuple(int(c) for c in counts[t.sites[0]]), []).append(t)
    pools = {key: Pool(found) for key, found in by_counts.items()}
    total: Any = 0.0
    for t in parts:
        if not t.sites.shape[1]:
            total = total + tt.sum(t.entries)
    draws: list[tuple[np.ndarray, Tensor]] = []
    for form, members in _forms([key for pool in pools.values() for key in pool.rows], counts).items():
        sites = np.array(members)  # (parts, sites of one)
        order = _path(form)
        if order is not None:
            sites = sites[:, order]
            done = _chain(form.counts[0], sites, pools)
        else:
            held = {r: pools[tuple(form.counts[i] for i in r)].at(sites[:, list(r)]) for r in form.tables}
            done = _one_by_one(form, held)
        total = total + tt.sum(done.log_total)
        draws += [(sites[:, roles], values) for roles, values in done.draws]
    return Summed(tt.as_tensor(total), draws)


def _forms(keys: Sequence[Roles], counts: np.ndarray) -> dict[Form, list[list[int]]]:
    """The connected parts of the graph, by form."""
    joined = Partition[int]()
    for key in keys:
        joined.join(key)
    members = joined.sets(range(len(counts)))
    tables: dict[int, list[Roles]] = {root: [] for root in members}
    for key in keys:
        tables[joined.of(key[0])].append(key)
    forms: dict[Form, list[list[int]]] = {}
    for root, sites in members.items():
        role = {s: i for i, s in enumerate(sites)}
        here = tuple(sorted(tuple(role[s] for s in key) for key in tables[root]))
        forms.setdefault(Form(tuple(int(counts[s]) for s in sites), here), []).append(sites)
    return forms


# --- one site after the other -------------------------------------------------------------------------------------
@record
class Done:
    """The sum of each part, and for draws (roles, values)."""

    log_total: Tensor
    draws: list[tuple[Any, Tensor]]


def _one_by_one(form: Form, held: Mapping[Roles, Tensor]) -> Done:
    if len(form.counts) > LIMITS.sites_without_a_chain:
        raise NoMatch(f"{len(form.counts)} discrete latents depend on each other, and not in a chain")
    current: list[tuple[Roles, Tensor]] = list(held.items())
    cliques = {s: _clique(s, current) for s in range(len(form.counts))}  # of what is left
    sizes = {s: _size(roles, form) for s, roles in cliques.items()}
    steps: list[tuple[int, Roles, Tensor]] = []
    total: Any = 0.0
    while cliques:
        site = min(sizes, key=lambda s: (sizes[s], s))
        roles, size = cliques.pop(site), sizes.pop(site)
        if size > LIMITS.entries_of_a_table:
            raise NoMatch(
                f"{len(roles)} discrete latents depend on each other at once, which makes a table of {size} "
                f"numbers, more than {LIMITS.entries_of_a_table}"
            )
        joined: Any = None
        for held_roles, table in current:
            if site in held_roles:
                spread = _spread(table, held_roles, roles)
                joined = spread if joined is None else joined + spread
        current = [(r, t) for r, t in current if site not in r]
        axis = 1 + roles.index(site)
        others = tuple(r for r in roles if r != site)
        steps.append((site, others, tt.moveaxis(joined, axis, -1)))
        reduced = tt.logsumexp(joined, axis=axis)
        if others:
            current.append((others, reduced))
        else:
            total = total + reduced
        for other in others:
            cliques[other] = _clique(other, current)
            sizes[other] = _size(cliques[other], form)
    values: dict[int, Tensor] = {}
    for site, others, table in reversed(steps):
        parts = table.type.shape[0]
        weights = table
        if others:
            weights = table[(np.arange(parts or 0), *(values[r] for r in others))]
        values[site] = draw(FAMILIES["Categorical"], (tt.softmax(weights, axis=-1),), (parts,))
    return Done(total, list(values.items()))


def _clique(site: int, current: Sequence[tuple[Roles, Tensor]]) -> Roles:
    return tuple(sorted({site, *(r for roles, _ in current if site in roles for r in roles)}))


def _size(roles: Roles, form: Form) -> int:
    return prod(form.counts[r] for r in roles)


def _spread(table: Tensor, own: Roles, roles: Roles) -> Tensor:
    """A table with an axis of length one for each role that it does not have."""
    shape = iter(table.type.shape[1:])
    return table.reshape((table.type.shape[0], *(next(shape) if r in own else 1 for r in roles)))


# --- chains -------------------------------------------------------------------------------------------------------
def _path(form: Form) -> list[int] | None:
    """The sites of a long chain in order; None where the form is no chain."""
    n = len(form.counts)
    pairs = [t for t in form.tables if len(t) == 2]
    if (
        n < LIMITS.long_chain
        or len(set(form.counts)) > 1
        or any(len(t) > 2 for t in form.tables)
        or len(pairs) != n - 1
    ):
        return None
    neighbors: dict[int, list[int]] = {r: [] for r in range(n)}
    for a, b in pairs:
        neighbors[a].append(b)
        neighbors[b].append(a)
    ends = [r for r, near in neighbors.items() if len(near) == 1]
    if len(ends) != 2:
        return None
    order = [ends[0]]
    while len(order) < n:
        further = [r for r in neighbors[order[-1]] if len(order) < 2 or r != order[-2]]
        if len(further) != 1:
            return None
        order += further
    return order


def _chain(count: int, path: np.ndarray, pools: Mapping[Roles, Pool]) -> Done:
    """Forward sums by a loop; the posterior is a Markov chain backwards in time. The path is (parts, sites)."""
    parts, n = path.shape
    sites = path.T.reshape(-1, 1)
    single = pools[(count,)].at(sites) if (count,) in pools else tt.zeros((len(sites), count))
    single = single.reshape((n, parts, count))
    pairs = np.stack([path[:, :-1].T, path[:, 1:].T], axis=-1)  # (steps, parts, 2)
    between = pools[(count, count)].at(np.sort(pairs, axis=-1).reshape(-1, 2)).reshape((n - 1, parts, count, count))
    downward = pairs[..., 0] > pairs[..., 1]
    if downward.all():
        between = tt.swapaxes(between, -1, -2)
    elif downward.any():
        between = tt.switch(downward[..., None, None], tt.swapaxes(between, -1, -2), between)
    alpha = log_forward(single[0], between + tt.expand_dims(single[1:], -2))
    before = tt.expand_dims(alpha[:-1], -1) + between
    none = tt.isneginf(tt.max(before, axis=-2, keepdims=True))  # nothing leads to a value that cannot be: any law does
    back = tt.swapaxes(tt.softmax(tt.switch(none, 0.0, before), axis=-2), -1, -2)[::-1]
    law = (tt.softmax(alpha[-1], axis=-1), tt.moveaxis(back, 0, 1))
    chain = draw(DiscreteMarkovChain, law, (parts,))  # the last site first
    return Done(tt.logsumexp(alpha[-1], axis=-1), [(slice(None, None, -1), chain)])
