"""From the normal form back to additions and multiplications, in the bodies of loops, branches and derivatives too.

Operands are joined smallest shape first, so that scalars meet scalars before they meet an array, and in a balanced tree
among equals. Factors of one power stand together, so that x²/y² is computed as (x/y)², which neither overflows nor
underflows where the quotient does not. In the body of a loop the operands that stay the same from step to step are
joined first, and moved out of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ppl.graph import Attrs, Body, Node, bodies, topological
from ppl.graph.replace import rebuilt
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Number, Weighted, content, is_whole, number, terms, weighted
from ppl.rewrites.sharing.alike import Alike
from ppl.rewrites.sharing.invariants import moved_out, parts
from ppl.rewrites.sharing.rows_of_loops import merged, rows_first
from ppl.tensor.core import elementwise as ew
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.loops.loop import SCAN
from ppl.tensor.tensor import CONSTANT, value_of


def lowered(outputs: Iterable[Node], vectors: bool = False) -> tuple[list[Node], bool]:
    """The same graph without sums and products of many operands, and whether work came out of a loop: that then stands
    beside what was outside, and the two may have more in common. With `vectors` alike terms of a sum are one vector."""
    lowering = _Lowering(alike=Alike() if vectors else None)
    lower = lowering.run(outputs)
    together = merged(lower)
    return together, lowering.moved or any(x is not y for x, y in zip(lower, together, strict=True))


class _Lowering:
    """One graph on its way down. `changing` are the parameters that differ from step to step, where it is a loop's."""

    def __init__(self, changing: Collection[Node] = (), alike: Alike | None = None) -> None:
        self.changes: dict[Node, bool] = dict.fromkeys(changing, True)
        self.done: dict[Node, Node] = {}
        self.alike = alike
        self.moved = False  # whether work came out of a loop

    def run(self, outputs: Iterable[Node]) -> list[Node]:
        wanted = list(outputs)
        for node in topological(wanted):
            self.done[node] = self.node(node)
            self.changing(self.done[node])  # so that a question goes no deeper than a few new nodes
        return [self.done[node] for node in wanted]

    def node(self, node: Node) -> Node:
        if node.op is PRODUCT:
            return self.product(self._exponentials_inside(weighted(node)))
        inputs = tuple([self.done[x] for x in node.inputs])
        if node.op is SUM:
            operands: Weighted = list(zip(inputs, node.attrs["weights"], strict=True))
            if self.alike is not None:
                operands = self.alike.together(operands, apart=self.changing)
            return self.sum(operands, node.attrs["shift"])
        if not bodies(node):
            return rebuilt(node, inputs)
        new = Node(node.op, inputs, self._with_bodies(node))
        if not parts(node):
            return new
        lighter = moved_out(new)
        if lighter.op is SCAN:
            lighter = rows_first(lighter)
        self.moved |= lighter is not new
        return lighter

    def _with_bodies(self, node: Node) -> Attrs:
        """The attributes with bodies in lower terms; of a loop, with what its steps share joined first."""
        changing = {part.key: part.changing for part in parts(node)}
        new: dict[str, Body] = {}
        for key, body in node.attrs.items():
            if isinstance(body, Body):
                inside = _Lowering(body.params[: changing.get(key, 0)], self.alike)
                new[key] = Body(body.params, tuple(inside.run(body.outputs)))
                self.moved |= inside.moved
        return node.attrs.but(**new)

    def changing(self, node: Node) -> bool:
        """Whether a node in lower terms differs from step to step."""
        if not self.changes:
            return True
        known = self.changes.get(node)
        if known is None:
            known = self.changes[node] = any(map(self.changing, node.inputs))
        return known

    def _apart(self, operands: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Those that stay the same, and those that change."""
        same = [x for x in operands if not self.changing(x)]
        return same, [x for x in operands if self.changing(x)]

    def _exponentials_inside(self, factors: Weighted) -> Weighted:
        """Factors in lower terms; an exponential goes into a square beside it: e^(-2s)·x² is (x·e^-s)², which keeps its
        digits where e^(-2s) overflows and x² underflows."""
        done = self.done
        outer = max((abs(p) for x, p in factors if x.op is not ew.exp), default=1)
        if outer <= 1 or not is_whole(outer):
            return [(done[x], p) for x, p in factors]
        inside: Weighted = []
        for x, p in factors:
            if x.op is ew.exp:
                terms_of, shift = terms(x.inputs[0])
                scaled = [(done[t], w * p / outer) for t, w in terms_of]
                alone = len(scaled) == 1 and scaled[0][1] == 1 and not shift
                argument = scaled[0][0] if alone else self.sum(scaled, shift * p / outer)
                inside.append((Node(ew.exp, (argument,)), outer))
            else:
                inside.append((done[x], p))
        return inside

    def sum(self, operands: Weighted, shift: Number) -> Node:
        """x·2 + y·3 + …, of operands in lower terms."""
        dtype = operands[0][0].type.dtype
        if len(operands) == 1 and not shift:
            x, weight = operands[0]
            return Node(ew.negative, (x,)) if weight == -1 else Node(ew.multiply, (number(weight, dtype), x))
        factor = _worth_taking_out(operands, shift)
        if factor != 1:
            inner = self.sum([(x, w / factor) for x, w in operands], shift / factor)
            return Node(ew.multiply, (number(factor, dtype), inner))
        if len(operands) == 1 and operands[0][1] == -1:
            return Node(ew.subtract, (number(shift, dtype), operands[0][0]))
        same = [(x, w) for x, w in operands if not self.changing(x)]
        if same and (len(same) > 1 or shift) and len(same) < len(operands):
            held = self.sum(same, shift)
            operands, shift = [(held, 1), *[(x, w) for x, w in operands if self.changing(x)]], 0
        plus, minus = _signed(operands, dtype)
        if shift:
            (plus if shift > 0 else minus).append(number(abs(shift), dtype))
        if not plus:
            return Node(ew.negative, (self._joined(ew.add, minus),))
        if not minus:
            return self._joined(ew.add, plus)
        return Node(ew.subtract, (self._joined(ew.add, plus), self._joined(ew.add, minus)))

    def product(self, factors: Weighted) -> Node:
        """Groups of one whole power, each a quotient of products; other powers apart: √x·√y has no value where √(x·y)
        has one."""
        groups: dict[tuple[Number, int], tuple[list[Node], list[Node]]] = {}
        for i, (x, power) in enumerate(factors):
            groups.setdefault((abs(power), 0 if is_whole(power) else i), ([], []))[power < 0].append(x)
        over: list[Node] = []
        under: list[Node] = []
        for (power, _), (above, below) in sorted(groups.items()):
            if above and below:
                quotient = Node(ew.true_divide, (self._joined(ew.multiply, above), self._joined(ew.multiply, below)))
                over.append(_power(quotient, power))
            elif above:
                over.append(_power(self._joined(ew.multiply, above), power))
            else:
                under.append(_power(self._joined(ew.multiply, below), power))
        if not under:
            return self._joined(ew.multiply, over)
        bottom = self._joined(ew.multiply, under)
        if not over:
            return Node(ew.reciprocal, (bottom,))
        return Node(ew.true_divide, (self._joined(ew.multiply, over), bottom))

    def _joined(self, op: Elementwise, operands: Sequence[Node]) -> Node:
        """The operands that stay the same first, then those that change."""
        same, changing = self._apart(operands)
        if same and changing:
            return Node(op, (_joined(op, same), _joined(op, changing)))
        return _joined(op, operands)


def _worth_taking_out(parts: Weighted, shift: Number) -> Number:
    """A factor whose removal saves multiplications and rounds nothing: several terms share it, all others are whole
    multiples."""
    factor = abs(content(parts, shift))
    if factor == 1 or math.frexp(factor)[0] != 0.5:
        return 1
    return factor if sum(abs(w) == factor for _, w in parts) > 1 else 1


def _signed(parts: Weighted, dtype: str) -> tuple[list[Node], list[Node]]:
    plus: list[Node] = []
    minus: list[Node] = []
    for x, weight in parts:
        size = abs(weight)
        (plus if weight >= 0 else minus).append(x if size == 1 else Node(ew.multiply, (number(size, dtype), x)))
    return plus, minus


def _power(x: Node, power: Number) -> Node:
    if power == 1:
        return x
    if power == 0.5:
        return Node(ew.sqrt, (x,))
    if _overflows_apart(x, power):
        x = Node(ew.whole, (x,))
    if is_whole(power) and power <= 16:
        return _by_squaring(x, int(power))
    return Node(ew.power, (x, number(power, x.type.dtype)))


def _overflows_apart(x: Node, power: Number) -> bool:
    """Whether a product holds a number whose power is out of range: XLA may take (c x)² for c² x²."""
    if x.op not in (ew.multiply, ew.true_divide):
        return False
    with np.errstate(all="ignore"):
        sizes = [np.abs(value_of(c)) ** float(power) for c in x.inputs if c.op is CONSTANT and c.type.dtype[0] == "f"]
    return any(bool(np.any((n == np.inf) | (n < np.finfo(n.dtype).tiny))) for n in sizes)


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
