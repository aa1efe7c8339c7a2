"""Arithmetic in normal form: terms collected with their coefficients, factors with their powers.

What is dropped must have been a number: x - x is 0 only where x is finite, else it stays as 0·x, which is the same for
every x and keeps its nan. In the same way x/x stays unless x is known to be finite and not zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Node
from ppl.rewrites.arithmetic.normal import (
    PRODUCT,
    SUM,
    Number,
    Weighted,
    is_whole,
    number,
    number_of,
    product_node,
    sum_node,
    terms,
)
from ppl.rewrites.arithmetic.powers import Factors, simple
from ppl.rewrites.facts.facts import Knowledge, finite
from ppl.rewrites.limits import LIMITS
from ppl.tensor.core import elementwise as ew
from ppl.tensor.tensor import CONSTANT, constant, value_of

_SHARED_LIMIT = 8  # a sum that is also used elsewhere is taken apart up to this many terms


class Arithmetic:
    """Sums and products over normal nodes. The engine adds rules and shapes."""

    def __init__(self, facts: Knowledge) -> None:
        self.facts = facts

    # what the engine provides
    make: Callable[..., Node]
    settle: Callable[[Node], Node]
    spread: Callable[[Node, Sequence[Node]], Node]

    # --- sums
    def total(
        self,
        parts: Weighted,
        shift: Number,
        like: Sequence[Node],
        whole: frozenset[Node] = frozenset(),
        fit: bool = True,
    ) -> Node:
        """The sum of weighted parts and a number; `like` are nodes whose common shape and dtype it has."""
        collected: dict[Node, Number] = {}
        dropped = False
        for node, weight in parts:
            inner, number_in_it = _opened(node, whole)
            dropped |= not inner
            shift += weight * number_in_it if number_in_it else 0
            for x, w in inner:
                collected[x] = collected.get(x, 0) + weight * w
        for node, weight in list(collected.items()):
            if weight == 0 and finite.holds(self.facts(node)):
                del collected[node]
                dropped = True
            elif not math.isfinite(weight):
                return self._overflowing(parts, shift, like)
        if not math.isfinite(shift):
            return self._overflowing(parts, shift, like)
        collected, shift = _constants_added(collected, shift)
        dtype = like[0].type.dtype
        result = sum_node(collected.items(), shift) if collected else number(shift, dtype)
        if result.op is SUM:
            result = self.settle(result)
        return self.spread(result, like) if dropped and fit else result

    def _overflowing(self, parts: Weighted, shift: Number, like: Sequence[Node]) -> Node:
        """Coefficients too large to collect: the sum as it was given."""
        dtype = like[0].type.dtype
        result = constant(np.array(shift, dtype)) if not math.isfinite(shift) else number(shift, dtype)
        for node, weight in parts:
            scaled = Node(ew.multiply, (constant(np.array(weight, dtype)), node))
            result = Node(ew.add, (result, scaled))
        return result

    def total_of(self, node: Node, operands: Sequence[Node]) -> Node:
        """The sum that a node is, of other operands; a sum that was held together as one of them still is."""
        weights, shift = node.attrs["weights"], node.attrs["shift"]
        if len(operands) == 1 and operands[0].op is SUM and not shift:
            factor = number(weights[0], node.type.dtype)
            return self.product([(operands[0], 1), (factor, 1)], operands)
        whole = frozenset(x for x, old in zip(operands, node.inputs, strict=True) if old.op is SUM)
        return self.total(list(zip(operands, weights, strict=True)), shift, operands, whole)

    def gathered_sum(self, root: Node, done: dict[Node, Node], inner: set[Node], uses: Counter[Node]) -> Node:
        """The sum of a whole tree of additions, whose inner nodes nothing else uses."""
        parts: Weighted = []
        shared: list[Node] = []
        stack: list[tuple[Node, Number]] = [(root, 1)]
        while stack:
            node, sign = stack.pop()
            if node is not root and node not in inner:
                parts.append((done[node], sign))
                if uses[node] > 1:
                    shared.append(done[node])
            elif node.op is ew.negative:
                stack.append((node.inputs[0], -sign))
            else:
                stack.append((node.inputs[0], sign))
                stack.append((node.inputs[1], -sign if node.op is ew.subtract else sign))
        whole = frozenset(x for x in shared if len(x.inputs) > _SHARED_LIMIT)
        return self.total(parts, 0, [x for x, _ in parts], whole)

    # --- products
    def product(self, parts: Weighted, like: Sequence[Node], fit: bool = True) -> Node:
        """The product of powers; `like` are nodes whose common shape and dtype it has."""
        collecting = Factors(self, like[0].type.dtype)
        for node, power in parts:
            collecting.multiply(node, power)
        collecting.close()
        found = [(base, p) for base, powers in collecting.powers.items() for p in powers]
        if found:
            result = product_node(found)
            if result.op is PRODUCT:
                result = self.settle(result)
            if collecting.coefficient != 1:
                whole = frozenset() if _is_exact(collecting.coefficient, result) else frozenset([result])
                result = self.total([(result, collecting.coefficient)], 0, [result], whole)
        else:
            result = number(collecting.coefficient, like[0].type.dtype)
        return self.spread(result, like) if collecting.dropped and fit else result

    def gathered_product(self, root: Node, done: dict[Node, Node], inner: set[Node], uses: Counter[Node]) -> Node:
        """The product of a whole tree of multiplications and divisions."""
        parts: Weighted = []
        stack: list[tuple[Node, Number]] = [(root, 1)]
        while stack:
            node, power = stack.pop()
            if node is not root and node not in inner:
                parts.append((done[node], power))
            else:
                stack.append((node.inputs[0], power))
                stack.append((node.inputs[1], -power if node.op is ew.true_divide else power))
        return self.product(parts, [x for x, _ in parts])

    def power(self, base: Node, exponent: Number) -> Node:
        """A power with a number as its exponent."""
        return self.product([(base, exponent)], [base])


def _is_exact(coefficient: Number, x: Node) -> bool:
    """Whether multiplying each term of a sum rounds nothing: else c(1 - x) would lose its digits near x = 1."""
    return x.op is not SUM or x.type.dtype[0] in "iub" or math.frexp(abs(coefficient))[0] in (0, 0.5)


def _opened(node: Node, whole: frozenset[Node]) -> tuple[Weighted, Number]:
    return ([(node, 1)], 0) if node in whole else terms(node)


def _constants_added(collected: dict[Node, Number], shift: Number) -> tuple[dict[Node, Number], Number]:
    """Constant arrays of a sum added up; numbers join them."""
    arrays = [x for x in collected if x.op is CONSTANT and value_of(x).size <= LIMITS.largest_folded]
    if not arrays or (len(arrays) == 1 and len(collected) > 1 and shift == 0 and collected[arrays[0]] in (1, -1)):
        return collected, shift
    dtype = value_of(arrays[0]).dtype
    shapes = [value_of(x).shape for x in arrays]
    if max(map(len, shapes)) and int(np.prod(np.broadcast_shapes(*shapes))) > LIMITS.largest_folded:
        return collected, shift
    with np.errstate(all="ignore"):
        total: Any = np.zeros((), dtype)
        for x in arrays:
            total = total + np.asarray(collected[x]).astype(dtype) * value_of(x)
        total = total + np.asarray(shift).astype(dtype)
    folded = set(arrays)
    rest = {x: w for x, w in collected.items() if x not in folded}
    rest[constant(np.asarray(total, dtype))] = 1
    return rest, 0


# --- operations of the language
def is_arithmetic(inputs: Sequence[Node]) -> bool:
    """Whether the dtype is one that sums and products are collected in."""
    return inputs[0].type.dtype[0] in "fiu"


_SUMS = frozenset([ew.add, ew.subtract, ew.negative])
_PRODUCTS = frozenset([ew.multiply, ew.true_divide])


def is_sum(node: Node) -> bool:
    return node.op in _SUMS and is_arithmetic(node.inputs)


def is_product(node: Node) -> bool:
    return node.op in _PRODUCTS and is_arithmetic(node.inputs)


Handler = Callable[[Arithmetic, tuple[Node, ...]], Node | None]


def _to_power(exponent: Number) -> Handler:
    return lambda build, inputs: build.power(inputs[0], exponent)


def _power(build: Arithmetic, inputs: tuple[Node, ...]) -> Node | None:
    base, exponent = inputs
    value = number_of(exponent)
    if value is None:
        return None
    if base.type.dtype[0] != "f" and (value < 0 or not is_whole(value)):
        return None
    if value == 0:  # x**0 is 1 also for nan
        return build.spread(number(1, base.type.dtype), [base])
    return build.power(base, simple(value))


HANDLERS: dict[Any, Handler] = {
    ew.add: lambda build, xs: build.total([(xs[0], 1), (xs[1], 1)], 0, xs),
    ew.subtract: lambda build, xs: build.total([(xs[0], 1), (xs[1], -1)], 0, xs),
    ew.negative: lambda build, xs: build.total([(xs[0], -1)], 0, xs),
    ew.positive: lambda build, xs: xs[0],
    ew.multiply: lambda build, xs: build.product([(xs[0], 1), (xs[1], 1)], xs),
    ew.true_divide: lambda build, xs: build.product([(xs[0], 1), (xs[1], -1)], xs),
    ew.reciprocal: _to_power(-1),
    ew.square: _to_power(2),
    ew.sqrt: _to_power(0.5),
    ew.rsqrt: _to_power(-0.5),
    ew.power: _power,
}
