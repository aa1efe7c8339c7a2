"""Arithmetic in normal form: terms collected with their coefficients, factors with their powers.

What is dropped must have been a number: x - x is 0 only where x is finite, else it stays as 0·x, which is the same for
every x and keeps its nan. In the same way x/x stays unless x is known to be finite and not zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.graph import Node
from ppl.rewrites.facts import Knowledge, finite, nonnegative, nonzero
from ppl.rewrites.normal import (
    PRODUCT,
    SUM,
    Number,
    Weighted,
    content,
    is_whole,
    number,
    number_of,
    product_node,
    sum_node,
    terms,
    weighted,
)
from ppl.tensor import elementwise as ew
from ppl.tensor.tensor import CONSTANT, constant, value_of

if TYPE_CHECKING:
    from ppl.rewrites.engine import Engine

_SHARED_LIMIT = 8  # a sum that is also used elsewhere is taken apart up to this many terms
_FOLD_LIMIT = 100_000


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
        collecting = _Factors(self, like[0].type.dtype)
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
    return x.op is not SUM or x.type.dtype[0] in "iub" or math.frexp(abs(coefficient))[0] == 0.5


def _opened(node: Node, whole: frozenset[Node]) -> tuple[Weighted, Number]:
    return ([(node, 1)], 0) if node in whole else terms(node)


def _constants_added(collected: dict[Node, Number], shift: Number) -> tuple[dict[Node, Number], Number]:
    """Constant arrays of a sum added up; numbers join them."""
    arrays = [x for x in collected if x.op is CONSTANT and value_of(x).size <= _FOLD_LIMIT]
    if not arrays or (len(arrays) == 1 and len(collected) > 1 and shift == 0 and collected[arrays[0]] in (1, -1)):
        return collected, shift
    dtype = value_of(arrays[0]).dtype
    shapes = [value_of(x).shape for x in arrays]
    if max(map(len, shapes)) and int(np.prod(np.broadcast_shapes(*shapes))) > _FOLD_LIMIT:
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


class _Factors:
    """Factors while they are collected: for each base its powers, which could not be merged."""

    def __init__(self, arithmetic: Arithmetic, dtype: str) -> None:
        self.arithmetic, self.dtype = arithmetic, dtype
        self.facts = arithmetic.facts
        self.coefficient: Number = 1
        self.powers: dict[Node, list[Number]] = {}
        self.exponents: Weighted = []
        self.dropped = False

    def multiply(self, node: Node, power: Number) -> None:
        """Take in node**power."""
        stack: Weighted = [(node, power)]
        while stack:
            x, p = stack.pop()
            value = number_of(x)
            if value is not None and self._scale(value, p):
                self.dropped = True
            elif value is not None and self.dtype[0] == "f" and p != 1:
                with np.errstate(all="ignore"):
                    stack.append((constant(np.asarray(np.power(np.float64(value), p), self.dtype)), 1))
            elif x.op is SUM:
                stack.extend(self._without_content(x, p))
            elif x.op is PRODUCT:
                stack.extend(self._opened(x, p))
            elif x.op is ew.exp:
                self.exponents.append((x.inputs[0], p))
            else:
                self._merge(x, p)

    def _scale(self, value: Number, power: Number) -> bool:
        if (value == 0 and power <= 0) or (value < 0 and not is_whole(power)):
            return False
        try:
            scaled = self.coefficient * value ** (int(power) if is_whole(power) else power)
        except OverflowError:
            return False
        if (
            isinstance(scaled, complex)
            or not math.isfinite(scaled)
            or (scaled == 0 and value != 0 and self.coefficient != 0)
        ):
            return False
        self.coefficient = scaled
        return True

    def _without_content(self, x: Node, p: Number) -> Weighted:
        parts, shift = weighted(x), x.attrs["shift"]
        factor = content(parts, shift) if len(parts) > 1 or shift else parts[0][1]
        if not is_whole(p):
            factor = abs(factor)
        if factor == 1 or (factor == 0 and not is_whole(p)) or not self._scale(factor, p):  # √(0·x) is 0 for x < 0 too
            self._merge(x, p)
            return []
        if len(parts) == 1 and not shift and abs(parts[0][1]) == abs(factor):
            left = 1 if parts[0][1] == factor else -1
            inner = parts[0][0] if left == 1 else self.arithmetic.total([(parts[0][0], -1)], 0, [x])
        else:
            divided = [(t, _quotient(w, factor)) for t, w in parts]
            inner = self.arithmetic.total(divided, _quotient(shift, factor), [x])
        if inner.op is SUM:
            self._merge(inner, p)
            return []
        return [(inner, p)]

    def _opened(self, x: Node, p: Number) -> Weighted:
        """(Π bᵢ^qᵢ)^p: the factors whose power may be taken one by one, and the others together."""
        if is_whole(p):
            apart: Weighted = []
            together: Weighted = []
            for base, q in weighted(x):
                merged = _simple(q * p)
                safe = is_whole(q) or not is_whole(merged) or nonnegative.holds(self.facts(base))
                (apart if safe else together).append((base, merged if safe else q))
        else:
            apart, together = self._rooted(x, p)
        if together:
            self._merge(product_node(together), p)
        for base, q in apart:
            if base.op is ew.exp:
                self.exponents.append((base.inputs[0], q))
            else:
                self._merge(base, q)
        return []

    def _rooted(self, x: Node, p: Number) -> tuple[Weighted, Weighted]:
        parts = weighted(x)
        if len(parts) == 1:
            base, q = parts[0]
            merged = _simple(q * p)
            if nonnegative.holds(self.facts(base)):
                return [(base, merged)], []
            if is_whole(q) and q % 2 == 0:
                return [(self.arithmetic.make(ew.abs, (base,)), merged)], []
            return ([(base, merged)], []) if not is_whole(merged) else ([], parts)
        apart: Weighted = []
        together: Weighted = []
        lone = [self._may_be_negative(base, q) for base, q in parts]
        for (base, q), signed in zip(parts, lone, strict=True):
            if signed or (any(lone) and not nonzero.holds(self.facts(base))):  # √(0·y) is 0 for y < 0 too
                together.append((base, q))
            elif nonnegative.holds(self.facts(base)):
                apart.append((base, _simple(q * p)))
            else:
                apart.append((self.arithmetic.make(ew.abs, (base,)), _simple(q * p)))
        if len(together) == 1 and not is_whole(_simple(together[0][1] * p)):
            base, q = together.pop()
            apart.append((base, _simple(q * p)))
        return apart, together

    def _may_be_negative(self, base: Node, power: Number) -> bool:
        return power % 2 != 0 and not nonnegative.holds(self.facts(base))

    def _merge(self, base: Node, power: Number) -> None:
        present = self.powers.setdefault(base, [])
        for i, q in enumerate(present):
            merged = _simple(q + power)
            if self._may_merge(base, q, power, merged):
                del present[i]
                if merged == 0:
                    self.dropped = True
                else:
                    self._merge(base, merged)
                if not self.powers.get(base):
                    self.powers.pop(base, None)
                return
        present.append(_simple(power))

    def _may_merge(self, base: Node, p: Number, q: Number, merged: Number) -> bool:
        same_sign = (p > 0) == (q > 0)
        whole = is_whole(p) and is_whole(q)
        if same_sign and (whole or not is_whole(merged)):
            return True
        fact = self.facts(base)
        if not whole and is_whole(merged) and not nonnegative.holds(fact):
            return False
        return same_sign or (nonzero.holds(fact) and (merged != 0 or finite.holds(fact)))

    def close(self) -> None:
        """Exponentials joined, constant arrays multiplied out."""
        while self.exponents:
            waiting, self.exponents = self.exponents, []
            for group in _grouped(waiting):
                argument = self.arithmetic.total(group, 0, [x for x, _ in group])
                self._take(self.arithmetic.make(ew.exp, (argument,)))
        arrays = [x for x in self.powers if x.op is CONSTANT and x.type.shape and value_of(x).size <= _FOLD_LIMIT]
        if len(arrays) > 1 or (arrays and (self.powers[arrays[0]] != [1] or len(self.powers) == 1)):
            self._fold(arrays)

    def _take(self, node: Node) -> None:
        if node.op is ew.exp:
            self._merge(node, 1)
        else:
            self.multiply(node, 1)

    def _fold(self, arrays: list[Node]) -> None:
        shapes = [value_of(x).shape for x in arrays]
        if int(np.prod(np.broadcast_shapes(*shapes))) > _FOLD_LIMIT:
            return
        alone = len(arrays) == len(self.powers)
        with np.errstate(all="ignore"):
            total: Any = np.asarray(self.coefficient if alone else 1).astype(self.dtype)
            for x in arrays:
                for p in self.powers.pop(x):
                    total = total * np.power(value_of(x), int(p) if is_whole(p) else p)
        if alone:
            self.coefficient = 1
        self.powers[constant(np.asarray(total, self.dtype))] = [1]


def _grouped(exponents: Weighted) -> list[Weighted]:
    """Exponentials that may become one without becoming larger: those of one shape, and scalars with any."""
    groups: dict[tuple[int | None, ...], Weighted] = {}
    for x, p in exponents:
        groups.setdefault(x.type.shape, []).append((x, p))
    scalars = groups.pop((), [])
    if not groups:
        return [scalars]
    first = next(iter(groups))
    groups[first] = groups[first] + scalars
    return list(groups.values())


def _simple(power: Number) -> Number:
    return int(power) if is_whole(power) else power


def _quotient(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return a / b


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


Handler = Callable[["Engine", tuple[Node, ...]], Node | None]


def _to_power(exponent: Number) -> Handler:
    return lambda engine, inputs: engine.power(inputs[0], exponent)


def _power(engine: Engine, inputs: tuple[Node, ...]) -> Node | None:
    base, exponent = inputs
    value = number_of(exponent)
    if value is None:
        return None
    if base.type.dtype[0] != "f" and (value < 0 or not is_whole(value)):
        return None
    if value == 0:  # x**0 is 1 also for nan
        return engine.spread(number(1, base.type.dtype), [base])
    return engine.power(base, _simple(value))


HANDLERS: dict[Any, Handler] = {
    ew.add: lambda engine, xs: engine.total([(xs[0], 1), (xs[1], 1)], 0, xs),
    ew.subtract: lambda engine, xs: engine.total([(xs[0], 1), (xs[1], -1)], 0, xs),
    ew.negative: lambda engine, xs: engine.total([(xs[0], -1)], 0, xs),
    ew.positive: lambda engine, xs: xs[0],
    ew.multiply: lambda engine, xs: engine.product([(xs[0], 1), (xs[1], 1)], xs),
    ew.true_divide: lambda engine, xs: engine.product([(xs[0], 1), (xs[1], -1)], xs),
    ew.reciprocal: _to_power(-1),
    ew.square: _to_power(2),
    ew.sqrt: _to_power(0.5),
    ew.rsqrt: _to_power(-0.5),
    ew.power: _power,
}
