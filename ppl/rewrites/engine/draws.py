"""What is known of draws: that they lie in the support of their distribution, and are numbers if its parameters are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions.declaration import domains
from ppl.distributions.draws.draw import DRAW
from ppl.graph import Node
from ppl.rewrites.facts.facts import INF, Fact, declare_facts
from ppl.tensor.tensor import as_tensor, is_constant, value_of

_MARKS: dict[Any, frozenset[str]] = {
    domains.simplex: frozenset(["simplex"]),
    domains.positive_definite: frozenset(["positive_definite", "symmetric"]),
    domains.symmetric_positive_definite: frozenset(["positive_definite", "symmetric"]),
    domains.cholesky_factor: frozenset(["lower_triangular", "positive_diagonal"]),
}


def _drawn(node: Node, facts: list[Fact]) -> Fact:
    parameters = node.inputs[: len(node.inputs) - node.attrs["sizes"]]
    support = node.attrs["family"].support_for(parameters)
    known = dict(zip(node.inputs, facts, strict=True))
    low, above = _end(support, support.lower, known, -INF)
    high, below = _end(support, support.upper, known, INF)
    if support.transform == "simplex":
        low, high = 0.0, 1.0
    marks = next((marks for domain, marks in _MARKS.items() if support is domain), frozenset[str]())
    return Fact(low, high, above, below, all(f.finite for f in facts), support.discrete, marks)


def _end(support: Any, bound: Any, known: dict[Node, Fact], none: float) -> tuple[float, bool]:
    """An end of the support, and whether it is left out. A bound that is a parameter lies where that lies."""
    if bound is None:
        return none, False
    node = as_tensor(bound)
    outermost = np.min if none < 0 else np.max
    if not is_constant(node):
        fact = known.get(node, Fact())
        return (fact.low, fact.above) if none < 0 else (fact.high, fact.below)
    values = np.asarray(value_of(node), float)
    if np.isnan(values).any():
        return none, False
    inside = True if support.ndim else support.contains(values)
    return float(outermost(values)), not isinstance(inside, Node) and not np.any(inside)


declare_facts(DRAW, _drawn)

__all__: list[str] = []
