"""From the normal form back to additions and multiplications.

Operands are joined smallest shape first, so that scalars meet scalars before they meet an array, and in a balanced tree
among equals. Factors of one power stand together, so that x²/y² is computed as (x/y)², which neither overflows nor
underflows where the quotient does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ppl.graph import Node, topological
from ppl.graph.replace import rebuilt
from ppl.rewrites.normal import PRODUCT, SUM, Number, Weighted, content, is_whole, number, terms, weighted
from ppl.tensor import elementwise as ew
from ppl.tensor.ops import Elementwise


def lowered(outputs: Iterable[Node]) -> list[Node]:
    """The same graph without sums and products of many operands."""
    wanted = list(outputs)
    done: dict[Node, Node] = {}
    for node in topological(wanted):
        inputs = tuple([done[x] for x in node.inputs])
        if node.op is SUM:
            done[node] = _sum(list(zip(inputs, node.attrs["weights"], strict=True)), node.attrs["shift"])
        elif node.op is PRODUCT:
            done[node] = _product(_exponentials_inside(weighted(node), done))
        else:
            done[node] = rebuilt(node, inputs)
    return [done[node] for node in wanted]


def _exponentials_inside(parts: Weighted, done: dict[Node, Node]) -> Weighted:
    """Factors in lower terms; an exponential goes into a square beside it: e^(-2s)·x² is (x·e^-s)², which keeps its
    digits where e^(-2s) overflows and x² underflows."""
    outer = max((abs(p) for x, p in parts if x.op is not ew.exp), default=1)
    if outer <= 1 or not is_whole(outer):
        return [(done[x], p) for x, p in parts]
    inside: Weighted = []
    for x, p in parts:
        if x.op is ew.exp:
            terms_of, shift = terms(x.inputs[0])
            scaled = [(done[t], w * p / outer) for t, w in terms_of]
            alone = len(scaled) == 1 and scaled[0][1] == 1 and not shift
            argument = scaled[0][0] if alone else _sum(scaled, shift * p / outer)
            inside.append((Node(ew.exp, (argument,)), outer))
        else:
            inside.append((done[x], p))
    return inside


def _sum(parts: Weighted, shift: Number) -> Node:
    dtype = parts[0][0].type.dtype
    if len(parts) == 1 and not shift:
        x, weight = parts[0]
        return Node(ew.negative, (x,)) if weight == -1 else Node(ew.multiply, (number(weight, dtype), x))
    factor = _worth_taking_out(parts, shift)
    if factor != 1:
        inner = _sum([(x, w / factor) for x, w in parts], shift / factor)
        return Node(ew.multiply, (number(factor, dtype), inner))
    if len(parts) == 1 and parts[0][1] == -1:
        return Node(ew.subtract, (number(shift, dtype), parts[0][0]))
    plus, minus = _signed(parts, dtype)
    if shift:
        (plus if shift > 0 else minus).append(number(abs(shift), dtype))
    if not plus:
        return Node(ew.negative, (_joined(ew.add, minus),))
    if not minus:
        return _joined(ew.add, plus)
    return Node(ew.subtract, (_joined(ew.add, plus), _joined(ew.add, minus)))


def _worth_taking_out(parts: Weighted, shift: Number) -> Number:
    """A factor whose removal saves multiplications: several terms share it, all others are whole multiples."""
    factor = abs(content(parts, shift))
    if factor == 1:
        return 1
    return factor if sum(abs(w) == factor for _, w in parts) > 1 else 1


def _signed(parts: Weighted, dtype: str) -> tuple[list[Node], list[Node]]:
    plus: list[Node] = []
    minus: list[Node] = []
    for x, weight in parts:
        size = abs(weight)
        (plus if weight >= 0 else minus).append(x if size == 1 else Node(ew.multiply, (number(size, dtype), x)))
    return plus, minus


def _product(parts: Weighted) -> Node:
    """Groups of one power, each a quotient of products."""
    groups: dict[Number, tuple[list[Node], list[Node]]] = {}
    for x, power in parts:
        groups.setdefault(abs(power), ([], []))[power < 0].append(x)
    over: list[Node] = []
    under: list[Node] = []
    for power, (above, below) in sorted(groups.items()):
        if above and below:
            quotient = Node(ew.true_divide, (_joined(ew.multiply, above), _joined(ew.multiply, below)))
            over.append(_power(quotient, power))
        elif above:
            over.append(_power(_joined(ew.multiply, above), power))
        else:
            under.append(_power(_joined(ew.multiply, below), power))
    if not under:
        return _joined(ew.multiply, over)
    bottom = _joined(ew.multiply, under)
    if not over:
        return Node(ew.reciprocal, (bottom,))
    return Node(ew.true_divide, (_joined(ew.multiply, over), bottom))


def _power(x: Node, power: Number) -> Node:
    if power == 1:
        return x
    if power == 0.5:
        return Node(ew.sqrt, (x,))
    if is_whole(power) and power <= 16:
        return _by_squaring(x, int(power))
    return Node(ew.power, (x, number(power, x.type.dtype)))


def _by_squaring(x: Node, power: int) -> Node:
    result: Node | None = None
    while True:
        if power % 2:
            result = x if result is None else Node(ew.multiply, (result, x))
        power //= 2
        if not power:
            assert result is not None, "a positive power has a lowest bit"
            return result
        x = Node(ew.square, (x,))


def _joined(op: Elementwise, operands: Sequence[Node]) -> Node:
    """Operands joined in balanced trees of equal shape, the smaller shapes first."""
    by_size: dict[float, list[Node]] = {}
    for x in operands:
        by_size.setdefault(_size(x), []).append(x)
    joined: Node | None = None
    for _, group in sorted(by_size.items()):
        tree = _balanced(op, group)
        joined = tree if joined is None else Node(op, (tree, joined))
    assert joined is not None, "a sum or product has operands"
    return joined


def _size(node: Node) -> float:
    """A number that orders shapes; unknown dimensions count as long."""
    return float(math.prod(1000 if dim is None else dim for dim in node.type.shape)) + node.type.ndim * 1e-3


def _balanced(op: Elementwise, operands: Sequence[Node]) -> Node:
    level = list(operands)
    while len(level) > 1:
        paired = [Node(op, (level[i], level[i + 1])) for i in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]
