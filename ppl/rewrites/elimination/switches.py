"""One label that steers switches: sums over the rows of a factor through the states of what it steers.

Where the switch has two states and turns once along the rows (a change point), the sums are two running totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import is_draw
from ppl.graph import ancestors, substitute
from ppl.rewrites.elimination.affine import is_data, known_shape
from ppl.rewrites.elimination.label_values import states_at
from ppl.rewrites.elimination.labels import Labels, Table, row_support
from ppl.rewrites.elimination.program import Factor, NoMatch, Term, log_density, parts
from ppl.rewrites.elimination.supports import Sites
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.vectorizing import vectorize_graph

MANY = 4  # values of a scalar label from which it is looked at what it steers
MOST_STATES = 10_000_000  # numbers that stand for what a label steers, over all its values


def steered(factor: Factor, labels: Labels, site: int) -> Table | None:
    """The sum of all rows by the values of one scalar label that has many; None where it has few."""
    (rv,) = labels.sites.owners(np.array([site]))
    values = labels.values[rv]
    if len(values) < MANY or prod(known_shape(rv)) != 1:
        return None
    inputs = [factor.density] if isinstance(factor, Term) else [p for p in parts(factor) if rv in ancestors(p)]
    codes = _codes(inputs, rv)
    if len(codes) == 1 and codes[0] is not rv and codes[0].dtype[0] in "bui":
        switched = _switched(factor, codes[0], states_at(codes[0], {rv: values}))
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
