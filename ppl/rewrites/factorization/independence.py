r"""Numbers of a posterior that have nothing to do with each other.

A log-density is a sum. Where each entry of each summand depends on one number at most, all numbers are independent:

.. math:: \log p(x) = \sum_i \log p_i(x_i)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import data_value, is_data
from ppl.rewrites.marginalization.expressions.supports import Sites, Support
from ppl.rewrites.marginalization.program import NoMatch, Program, log_density
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.tensor import Tensor


def without_a_chain(program: Program) -> bool:
    """Whether what is left are numbers, each independent of the others, so that they can be drawn by quadrature."""
    if not 1 <= program.ndim <= LIMITS.numbers_by_quadrature or any(rv.dtype[0] != "f" for rv in program.free):
        return False
    if program.ndim == 1:
        return True
    if any(program.parents(rv) for rv in program.free):
        return False
    return by_number([log_density(f) for f in program.factors], program.free) is not None


def by_number(terms: Iterable[Tensor], values: Sequence[Tensor]) -> Tensor | None:
    """The log-densities of all entries of `values`, one after the other, which add up to the entries of all `terms`;
    None where two of them meet, or a length is not known.

    >>> from ppl.tensor.tensor import TensorType, placeholder
    >>> x, y = placeholder(TensorType("float64", (3,)), "x"), placeholder(TensorType("float64", ()), "y")
    >>> by_number([-tt.sum(x**2) - y**2], [x, y]).type
    float64[4]
    >>> by_number([-tt.sum(x**2) - x[1] * y**2], [x, y])
    """
    if any(None in value.type.shape for value in values):
        return None
    sites, terms = Sites(values, most=1), list(terms)
    densities = tt.zeros(sites.count)
    if sites.count == 1:  # whatever is done to it
        return sum([tt.sum(term) for term in terms], start=densities)
    try:
        for x, weight in summands(terms, frozenset(values)):
            densities = densities + weight * _sums(x, sites.support(x), sites.count)
    except NoMatch:
        return None
    return densities


def _sums(x: Tensor, support: Support | None, count: int) -> Tensor:
    """The sums of the entries of an expression by number; those of data alone go to the first."""
    of_data = support is None or not support.size
    site = np.zeros(1, int) if of_data else np.maximum(support, 0).ravel()  # type: ignore[arg-type]
    if not of_data and np.array_equal(site, np.arange(count)):
        return tt.reshape(x, (-1,))
    if np.all(site == site[0]):
        return tt.switch(np.arange(count) == site[0], tt.sum(x), 0.0)
    return segment_sum(tt.reshape(x, (-1,)), site, count)


# --- what is added
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
