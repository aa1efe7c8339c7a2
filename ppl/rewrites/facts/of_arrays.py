"""Facts of what moves entries about, joins them and takes them together; and of the leaves of graphs."""

from __future__ import annotations

import numpy as np

from ppl.graph import Node
from ppl.graph.node import Op
from ppl.rewrites.facts.facts import ANYTHING, ASSUME, INF, Fact, declare_facts, negative, positive
from ppl.tensor.arrays import indexing, reductions, shaping
from ppl.tensor.core import elementwise as ew
from ppl.tensor.core import names
from ppl.tensor.core.ops import CAST, OPS
from ppl.tensor.core.sizes import DIM
from ppl.tensor.tensor import CONSTANT, is_constant, value_of

_LARGEST_SCANNED = 1_000_000


# --- what moves entries about without changing them
_ELEMENTWISE_MARKS = frozenset(["nonzero"])


def _entries(fact: Fact) -> Fact:
    return fact.but(marks=fact.marks & _ELEMENTWISE_MARKS)


def _moved(node: Node, facts: list[Fact]) -> Fact:
    return _entries(facts[0])


def _chosen(node: Node, facts: list[Fact]) -> Fact:
    """One of two matrices is what both are; what takes entries of both need not be."""
    condition, *branches = node.inputs
    whole = all(size == 1 for size in condition.type.shape[-2:])
    alike = all(branch.type.shape[-2:] == node.type.shape[-2:] for branch in branches)
    either = facts[1].join(facts[2])
    return either if whole and alike else _entries(either)


declare_facts(ew.switch, _chosen)


_MOVING: list[Op] = [shaping.RESHAPE, shaping.EXPAND_DIMS, shaping.SQUEEZE, shaping.BROADCAST_TO]
for _op in [*_MOVING, reductions.max, reductions.min]:
    declare_facts(_op, _moved)


def _mean(node: Node, facts: list[Fact]) -> Fact:
    """An average lies where the entries do; it may be zero, and no whole number, where none of them is."""
    x = facts[0]
    return Fact(x.low, x.high, x.above, x.below, finite=x.finite and _takes_some(node))


def _takes_some(node: Node) -> bool:
    """Whether a reduction is known to take at least one entry."""
    shape = node.inputs[0].type.shape
    return all(shape[axis] not in (0, None) for axis in node.attrs["axis"])


declare_facts(reductions.mean, _mean)

for _op in (names.NAMED, shaping.specify_shape, OPS["stop_gradient"]):
    declare_facts(_op, lambda node, facts: facts[0])

declare_facts(ASSUME, lambda node, facts: facts[0].meet(node.attrs["fact"]))

_TURNED = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}
_OF_ROWS = frozenset(["simplex"])


def _transposed(node: Node, facts: list[Fact]) -> Fact:
    axes = node.attrs["axes"]
    rank = len(axes)
    if axes == (*range(rank - 2), rank - 1, rank - 2):
        return facts[0].but(marks=frozenset(_TURNED.get(mark, mark) for mark in facts[0].marks - _OF_ROWS))
    return _entries(facts[0])


declare_facts(shaping.TRANSPOSE, _transposed)


def _taken(node: Node, facts: list[Fact]) -> Fact:
    inside = all(is_constant(index) for index in node.inputs[1:])  # others may be out of range, which reads nan
    return _entries(facts[0]).but(finite=facts[0].finite and inside)


declare_facts(indexing.GETITEM, _taken)


def _joined(node: Node, facts: list[Fact]) -> Fact:
    total = facts[0]
    for fact in facts[1:]:
        total = total.join(fact)
    return _entries(total)


declare_facts(shaping.CONCATENATE, _joined)


def _cast(node: Node, facts: list[Fact]) -> Fact:
    target = node.attrs["dtype"]
    if target[0] == "f":
        return facts[0]
    if target[0] == "i" and node.inputs[0].type.dtype[0] in "bi":
        same = np.dtype(target).itemsize >= np.dtype(node.inputs[0].type.dtype).itemsize
        return facts[0] if same else ANYTHING
    return ANYTHING


declare_facts(CAST, _cast)


# --- reductions
def _summed(node: Node, facts: list[Fact]) -> Fact:
    x = facts[0]
    some = _takes_some(node)
    low = 0.0 if x.low >= 0 else -INF
    high = 0.0 if x.high <= 0 else INF
    return Fact(
        low,
        high,
        above=some and positive.holds(x),
        below=some and negative.holds(x),
        finite=x.finite,
        integer=x.integer,
    )


declare_facts(reductions.sum, _summed)


def _multiplied(node: Node, facts: list[Fact]) -> Fact:
    x = facts[0]
    return Fact(0.0, INF, above=positive.holds(x), finite=x.finite) if x.low >= 0 else Fact(finite=x.finite)


declare_facts(reductions.prod, _multiplied)
declare_facts(reductions.logsumexp, lambda node, facts: Fact(finite=facts[0].finite and _takes_some(node)))


def _softmax(node: Node, facts: list[Fact]) -> Fact:
    last = node.attrs["axis"] == (node.type.ndim - 1,)
    return Fact(0.0, 1.0, above=True, finite=facts[0].finite, marks=frozenset(["simplex"] if last else []))


declare_facts(reductions.softmax, _softmax)
declare_facts(reductions.log_softmax, lambda node, facts: Fact(high=0.0, finite=facts[0].finite))
declare_facts(DIM, lambda node, facts: Fact(low=0.0, finite=True, integer=True))


# --- leaves
def _constant(node: Node, facts: list[Fact]) -> Fact:
    array = value_of(node)
    if array.dtype.kind not in "biuf" or array.size == 0 or array.size > _LARGEST_SCANNED:
        return ANYTHING
    values = array.astype(np.float64)
    if np.isnan(values).any():
        values = values[~np.isnan(values)]
        if not values.size:
            return ANYTHING
        return Fact(float(values.min()), float(values.max()))
    finite = bool(np.isfinite(values).all())
    marks = frozenset(["nonzero"]) if (values != 0).all() else frozenset[str]()
    return Fact(
        float(values.min()),
        float(values.max()),
        finite=finite,
        integer=finite and bool((values == np.round(values)).all()),
        marks=marks,
    )


declare_facts(CONSTANT, _constant)
