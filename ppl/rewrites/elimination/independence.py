r"""Which numbers of a posterior have nothing to do with each other.

A log-density is a sum. Numbers that meet in none of its summands are independent:

.. math:: \log p(x) = \sum_k \log p_k(x_k), \qquad x_1, x_2, \ldots \text{ the entries of each part}

Every entry of a value has a mark of its own. Going through the operations, an entry of a result bears the mark of one
of the entries that it is computed from, and the marks of several of them are joined. What an operation does to entries
is known of those that work entry by entry, move entries, or reduce axes; in any other, all entries meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node, topological
from ppl.rewrites.elimination.affine import HOST, data_value, is_data, known_shape
from ppl.rewrites.elimination.program import Program, log_density
from ppl.tensor.ops import Elementwise, Reduction
from ppl.tensor.segments import segment_sum
from ppl.tensor.shaping import CONCATENATE
from ppl.tensor.tensor import Tensor

Marks = np.ndarray | None  # of the entries of a result, NOTHING where it depends on no value; None: nowhere does it
NOTHING = -1
MOST_NUMBERS = 300  # that are drawn by quadrature: 3 ms each for 4 × 1,000 draws, a chain is slow to begin


@dataclass(frozen=True)
class Independent:
    """The parts of a density."""

    owners: tuple[np.ndarray, ...]  # of each entry of each value the part that it belongs to
    count: int
    densities: Tensor  # of the parts, in their order; the sum is the density

    @property
    def one_number_each(self) -> bool:
        """Whether every part is one number."""
        return self.count == sum(owner.size for owner in self.owners)


def without_a_chain(program: Program) -> bool:
    """Whether what is left are numbers, each independent of the others, so that they can be drawn by quadrature."""
    if not 1 <= program.ndim <= MOST_NUMBERS or any(rv.dtype[0] != "f" for rv in program.free):
        return False
    if program.ndim == 1:
        return True
    if any(program.parents(rv) for rv in program.free):
        return False
    parts = independent([log_density(f) for f in program.factors], program.free)
    return parts is not None and parts.one_number_each


def independent(terms: Iterable[Tensor], values: Sequence[Tensor]) -> Independent | None:
    """The parts of the density whose logarithm is the sum of all entries of `terms`, as a function of `values`; None
    where a length is not known.

    >>> from ppl.tensor.tensor import TensorType, placeholder
    >>> x, y = placeholder(TensorType("float64", (3,)), "x"), placeholder(TensorType("float64", ()), "y")
    >>> independent([-(x**2), y * x[1]], [x, y]).owners
    (array([0, 1, 2]), array(1))
    """
    if any(None in value.type.shape for value in values):
        return None
    summands = _summands(list(terms), frozenset(values))
    ends = np.cumsum([prod(known_shape(value)) for value in values], dtype=int)
    own = [
        np.arange(end - prod(known_shape(value)), end).reshape(known_shape(value))
        for value, end in zip(values, ends, strict=True)
    ]
    joins = _Joins()
    marks: dict[Node, Marks] = dict(zip(values, own, strict=True))
    for node in topological([x for x, _ in summands], blockers=frozenset(values)):
        if node in marks:
            continue
        given = [marks[x] for x in node.inputs]
        if all(x is None for x in given):
            marks[node] = None
        elif any(None in shape for x in (node, *node.inputs) for shape in _shapes(x)):
            return None
        else:
            marks[node] = _marks(node, given, joins)
    labels, count = joins.labels(int(ends[-1]))
    densities = tt.zeros(count)
    for x, weight in summands:
        densities = densities + weight * _by_part(x, marks[x], labels, count)
    return Independent(tuple([np.asarray(labels[each]) for each in own]), count, densities)


# --- what is added
_Weight = Any  # a number, or an expression of data that is one
_Spread = Callable[[Any, _Weight], list[tuple[Node, _Weight]]]


def _summands(terms: Sequence[Tensor], values: frozenset[Tensor]) -> list[tuple[Tensor, _Weight]]:
    """Expressions and weights: the sum of the entries of all terms is that of the weighted entries of these."""
    weights: dict[Node, _Weight] = {}
    found: list[tuple[Tensor, _Weight]] = []

    def add(node: Node, weight: _Weight) -> None:
        weights[node] = weights[node] + weight if node in weights else weight

    for term in terms:
        add(term, 1.0)
    order = topological(terms, blockers=values)
    for node in reversed(order):
        if node not in weights:
            continue
        weight = weights.pop(node)
        spread = None if node in values else _SPREADS.get(node.op.name)
        inner = spread(node, weight) if spread is not None else None
        if inner is None:
            found.append((node, weight))  # type: ignore[arg-type]
        else:
            for x, weight in inner:
                add(x, weight)
    return [*found, *weights.items()]  # type: ignore[list-item]  # conditions of single entries are new


def _times(node: Any, x: Any) -> float | None:
    """How often each entry of an input stands in a result that it is broadcast to; None where a length is not known."""
    if node.type.shape == x.type.shape:
        return 1.0
    if None in node.type.shape or None in x.type.shape:
        return None
    return prod(node.type.shape) / prod(x.type.shape) if prod(x.type.shape) else None


def _broadcast(*signs: float) -> _Spread:
    def spread(node: Any, weight: _Weight) -> list[tuple[Node, _Weight]] | None:
        times = [_times(node, x) for x in node.inputs]
        if None in times:
            return None
        return [(x, s * t * weight) for x, s, t in zip(node.inputs, signs, times, strict=True)]  # type: ignore[operator]

    return spread  # type: ignore[return-value]


def _unchanged(node: Any, weight: _Weight) -> list[tuple[Node, _Weight]]:
    return [(x, weight) for x in node.inputs]


def _scaled(node: Any, weight: _Weight) -> list[tuple[Node, _Weight]] | None:
    """A number of data times an expression."""
    for number, x in (node.inputs, node.inputs[::-1]):
        if number.type.shape == () and is_data(number):
            return [(x, weight * number)]
    return None


def _where_valid(node: Any, weight: _Weight) -> list[tuple[Node, _Weight]] | None:
    """A density that is 0 where a condition does not hold. Of a condition on all entries each entry has its own."""
    condition, density, outside = node.inputs
    whole = condition.op.name == "all" and condition.type.shape == ()
    plain = isinstance(weight, float) and weight == 1.0
    if not (whole and plain and is_data(outside) and np.all(data_value(outside) == -np.inf)):
        return None
    times = _times(node, density)
    each = tt.switch(condition.inputs[0], 0.0, -np.inf)
    return None if times is None else [(density, times), (each, 1.0)]


_SPREADS: dict[str, Any] = {
    "add": _broadcast(1.0, 1.0), "subtract": _broadcast(1.0, -1.0), "negative": _broadcast(-1.0),
    "broadcast_to": _broadcast(1.0), "multiply": _scaled, "switch": _where_valid,
    **dict.fromkeys(("named", "sum", "reshape", "transpose", "expand_dims", "squeeze", "concatenate"), _unchanged),
}  # fmt: skip


def _by_part(x: Tensor, marks: Marks, labels: np.ndarray, count: int) -> Tensor:
    """The sums of the entries of an expression that belong to each part; those of data alone go to the first."""
    part = np.zeros(1, int) if marks is None else np.where(marks == NOTHING, 0, labels[marks]).ravel()
    if marks is not None and np.array_equal(part, np.arange(count)):
        return tt.reshape(x, (-1,))
    if np.all(part == part[0]):
        return tt.switch(np.arange(count) == part[0], tt.sum(x), 0.0)
    return segment_sum(tt.reshape(x, (-1,)), part, count)


# --- where entries meet
class _Joins:
    """Marks that belong together."""

    def __init__(self) -> None:
        self._pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def joined(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """For each entry of either a mark of what it depends on, where two marks stand side by side."""
        first, second = np.broadcast_arrays(first, second)
        both = (first != second) & (first != NOTHING) & (second != NOTHING)
        if both.any():
            self._pairs.append((first[both], second[both]))
        return np.maximum(first, second)

    def along(self, marks: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
        """For all entries along some axes one mark."""
        one = np.max(marks, axis=axis, keepdims=True, initial=NOTHING)
        self.joined(marks, one)
        return one

    def labels(self, count: int) -> tuple[np.ndarray, int]:
        """The part of each mark, and how many parts there are."""
        label = np.arange(count)
        a, b = np.unique(np.concatenate([np.zeros((2, 0), int), *map(np.stack, self._pairs)], axis=1), axis=1)
        while True:
            before = label.copy()
            np.minimum.at(label, before[a], before[b])
            np.minimum.at(label, before[b], before[a])
            label = label[label]
            if np.array_equal(label, before):
                break
        parts, found = np.unique(label, return_inverse=True)
        return found, len(parts)


def _shapes(node: Node) -> list[tuple[int | None, ...]]:
    return [kind.shape for kind in getattr(node.type, "items", (node.type,)) if hasattr(kind, "shape")]


def _marks(node: Any, given: list[Marks], joins: _Joins) -> Marks:
    """The marks of a result, given those of its inputs."""
    known = [marks for marks in given if marks is not None]
    if not known:
        return None
    if isinstance(node.op, Elementwise):
        found = known[0]
        for marks in known[1:]:
            found = joins.joined(found, marks)
        return np.broadcast_to(found, node.type.shape)
    if node.op.name == "named":
        return known[0]
    if isinstance(node.op, Reduction):
        axes = node.attrs["axis"]
        found = joins.along(known[0], axes if isinstance(axes, tuple) else (axes,))
        return found.reshape(node.type.shape)
    if node.op is CONCATENATE:
        parts = [
            np.full(x.type.shape, NOTHING) if marks is None else marks
            for x, marks in zip(node.inputs, given, strict=True)
        ]
        return np.concatenate(parts, axis=node.attrs["axis"])
    if node.op.name in HOST and all(map(is_data, node.inputs[1:])):
        return HOST[node.op.name](node)(known[0])
    if node.op is segment_sum and is_data(node.inputs[1]):
        return _by_group(known[0], data_value(node.inputs[1]), node, joins)
    whole = joins.along(np.concatenate([marks.ravel() for marks in known]), (0,))
    shape = getattr(node.type, "shape", ())
    return np.broadcast_to(whole[0], shape)


def _by_group(marks: np.ndarray, groups: np.ndarray, node: Any, joins: _Joins) -> np.ndarray:
    """The marks of sums over groups of rows."""
    found = np.full(node.type.shape, NOTHING)
    inside = (groups >= 0) & (groups < len(found))
    np.maximum.at(found, groups[inside], marks[inside])
    joins.joined(marks[inside], found[groups[inside]])
    return found
