"""The measure that every rule decreases, which is why rewriting ends.

Each operation is given a linear function with positive coefficients: the measure of f(x, y) is a·(m(x) + m(y)) + d.
What is carried outward (logarithms of products, sums over sums, indices of functions) has a > 1, so that
log(x·y) > log x + log y although it is shorter. The measure of a pattern is a linear form over its holes, so that one
comparison of coefficients decides for all graphs; every measure is at least that of a leaf, 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ppl.graph import Node, topological
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, content, weighted
from ppl.rewrites.engine.pattern import HOLE


class Weight(NamedTuple):
    """The measure of f: `slope` times the measures of its inputs, plus `own`."""

    slope: int = 2
    own: int = 10


WEIGHTS: dict[str, Weight] = {
    "constant": Weight(1, 10), "sum_of": Weight(1, 2), "product_of": Weight(1, 2), "bound": Weight(1, 10),
    "add": Weight(1, 3), "subtract": Weight(1, 3), "multiply": Weight(1, 3), "negative": Weight(1, 3),
    "true_divide": Weight(1, 3),
    "log": Weight(8, 12), "log1p": Weight(8, 10), "exp": Weight(2, 12), "expm1": Weight(2, 11),
    "gammaln": Weight(8, 30), "log_ndtr": Weight(8, 1), "logit": Weight(8, 30),
    "sum": Weight(8, 10), "mean": Weight(8, 60), "getitem": Weight(3, 10), "cast": Weight(2, 1), "max": Weight(3, 10),
    "min": Weight(3, 10), "logsumexp": Weight(4, 20), "softmax": Weight(2, 40), "log_softmax": Weight(2, 30),
    "sigmoid": Weight(2, 12), "ndtr": Weight(2, 12), "switch": Weight(1, 10), "erfc": Weight(2, 8),
    "erf": Weight(2, 13), "log_sigmoid": Weight(4, 40), "i0": Weight(4, 60),
    "sqrt": Weight(2, 12), "power": Weight(3, 12), "abs": Weight(2, 3), "prod": Weight(8, 20),
    "reshape": Weight(3, 8), "transpose": Weight(3, 4), "expand_dims": Weight(1, 3), "squeeze": Weight(3, 3),
    "broadcast_to": Weight(1, 5), "named": Weight(1, 1), "assume": Weight(1, 1),
    "matmul": Weight(6, 40), "inv": Weight(4, 90), "det": Weight(9, 90), "slogdet": Weight(9, 80),
    "cholesky": Weight(4, 60), "solve_general": Weight(4, 200), "trace": Weight(60, 90), "diagonal": Weight(60, 90),
    "diagonal_of": Weight(3, 5), "solve_triangular_op": Weight(2, 10), "get": Weight(1, 1),
}  # fmt: skip
LEAF = 10
_DEFAULT = Weight()


def weight_of(name: str) -> Weight:
    return WEIGHTS.get(name, _DEFAULT)


Form = dict[Node | None, int]


def measure(pattern: Node) -> Form:
    """The measure as a linear form: a coefficient for each hole, and under None the constant."""
    forms: dict[Node, Form] = {}
    for node in topological(pattern):
        if node.op is HOLE:
            forms[node] = {node: 1}
            continue
        weight = weight_of(node.op.name)
        form: Form = {None: weight.own}
        numbers = node.attrs.get("weights") if node.op in (SUM, PRODUCT) else None
        for i, x in enumerate(node.inputs):
            times = 1 if numbers is None or node.op is SUM else _copies(numbers[i])
            for key, value in forms[x].items():
                form[key] = form.get(key, 0) + weight.slope * value * times
            if numbers is not None:
                form[None] = form.get(None, 0) + _of_operand(x, numbers[i])
        if node.op is SUM:
            form[None] = form.get(None, 0) + _of_numbers(node)
        forms[node] = form
    return forms[pattern]


def _copies(power: float) -> int:
    """A factor counts as often as its power would be written out."""
    return max(1, min(4, math.ceil(abs(power))))


def _of_operand(node: Node, number: float) -> int:
    """What an operand of a sum or product adds: a choice adds most, so that it moves out."""
    return 2 + (number != 1) + 20 * (number == 0) + 5 * (node.op.name == "switch")


def _of_numbers(node: Node) -> int:
    """What the numbers of a sum count: its shift, and a minus that could be taken out."""
    shift = node.attrs["shift"]
    return (14 if shift else 0) + (6 if content(weighted(node), shift) < 0 else 0)


def _of_axes(node: Node) -> int:
    """What axes count: new ones inside an index more than beside it, and those that a softmax is told of."""
    told = len(node.attrs["axis"]) if node.op.name in ("softmax", "log_softmax") else 0
    return told + 4 * sum(part[0] == "new" for part in node.attrs.get("plan", ()))


def size(node: Node) -> int:
    """The measure of a graph without holes, written out as a tree."""
    sizes: dict[Node, int] = {}
    for each in topological(node):
        weight = weight_of(each.op.name)
        numbers = each.attrs.get("weights") if each.op in (SUM, PRODUCT) else None
        copies: Iterable[int] = [1] * len(each.inputs) if numbers is None or each.op is SUM else map(_copies, numbers)
        total = (
            weight.own
            + _of_axes(each)
            + weight.slope * sum(sizes[x] * n for x, n in zip(each.inputs, copies, strict=True))
        )
        if numbers is not None:
            total += sum(map(_of_operand, each.inputs, numbers))
        if each.op is SUM:
            total += _of_numbers(each)
        sizes[each] = total if each.inputs else LEAF
    return sizes[node]


def decreases(before: Node, after: Node) -> bool:
    """Whether the second pattern has the smaller measure, whatever the holes stand for (each at least a leaf)."""
    gap = dict(measure(before).items())
    for key, value in measure(after).items():
        gap[key] = gap.get(key, 0) - value
    constant = gap.pop(None, 0)
    return all(value >= 0 for value in gap.values()) and constant + LEAF * sum(gap.values()) > 0
