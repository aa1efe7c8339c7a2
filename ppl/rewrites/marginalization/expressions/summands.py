"""What a log-density is the sum of: expressions whose entries, weighted, add up to it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node
from ppl.rewrites.marginalization.expressions.data import data_value, is_data
from ppl.tensor.tensor import Tensor

_Weight = Any  # a number, or an expression of data that is one
_Spread = Callable[[Any, _Weight], list[tuple[Node, _Weight]]]


def summands(
    terms: Sequence[Tensor], values: Collection[Tensor], whole: Callable[[Node], bool] = lambda node: False
) -> list[tuple[Tensor, _Weight]]:
    """Expressions and weights: the sum of the entries of all terms is that of the weighted entries of these. What is
    `whole` is not spread out further."""
    weights: dict[Node, _Weight] = {}
    found: list[tuple[Tensor, _Weight]] = []
    latest: list[tuple[int, Node]] = []  # whatever uses a node is younger than it

    def add(node: Node, weight: _Weight) -> None:
        if node in weights:
            weights[node] = weights[node] + weight
        else:
            weights[node] = weight
            heapq.heappush(latest, (-node.serial, node))

    for term in terms:
        add(term, 1.0)
    while latest:
        node = heapq.heappop(latest)[1]
        weight = weights.pop(node)
        spread = None if node in values or whole(node) else _SPREADS.get(node.op.name)
        inner = spread(node, weight) if spread is not None else None
        if inner is None:
            found.append((node, weight))  # type: ignore[arg-type]
        else:
            for x, weight in inner:
                add(x, weight)
    return found


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


def _divided(node: Any, weight: _Weight) -> list[tuple[Node, _Weight]] | None:
    """An expression by a number of data."""
    x, number = node.inputs
    return [(x, weight / number)] if number.type.shape == () and is_data(number) else None


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
    "broadcast_to": _broadcast(1.0), "multiply": _scaled, "true_divide": _divided, "switch": _where_valid,
    **dict.fromkeys(("named", "sum", "reshape", "transpose", "expand_dims", "squeeze", "concatenate"), _unchanged),
}  # fmt: skip
