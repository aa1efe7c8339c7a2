"""The factors of a product while they are collected: what comes in is taken apart, powers of one base are joined.

Powers of one base are added up, but for what their factors say of it beside the product: √x·√x says that x is not
negative, x/x that it is neither zero nor infinite. So some of that stays where it is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ppl.graph import Node
from ppl.rewrites.arithmetic.normal import (
    PRODUCT,
    SUM,
    Number,
    Weighted,
    content,
    is_whole,
    number,
    number_of,
    product_node,
    weighted,
)
from ppl.rewrites.facts.facts import Fact, Knowledge, finite, nonnegative, nonzero
from ppl.rewrites.limits import LIMITS
from ppl.tensor.core import elementwise as ew
from ppl.tensor.tensor import CONSTANT, constant, value_of


class Builder(Protocol):
    """What collecting factors needs: facts on nodes, and nodes in normal form."""

    facts: Knowledge
    make: Callable[..., Node]

    def total(self, parts: Weighted, shift: Number, like: Sequence[Node]) -> Node: ...


class Factors:
    """Factors while they are collected: for each base its powers, which could not be merged."""

    def __init__(self, build: Builder, dtype: str) -> None:
        self.build, self.dtype = build, dtype
        self.facts = build.facts
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
                self._add(x, p)

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
        if factor == 0 and p < 0 and is_whole(p) and self.dtype[0] == "f":
            return [(number(0, self.dtype), p), (parts[0][0], p)]
        if factor == 1 or (factor == 0 and not is_whole(p)) or not self._scale(factor, p):  # √(0·x) is 0 for x < 0 too
            self._add(x, p)
            return []
        if len(parts) == 1 and not shift and abs(parts[0][1]) == abs(factor):
            left = 1 if parts[0][1] == factor else -1
            inner = parts[0][0] if left == 1 else self.build.total([(parts[0][0], -1)], 0, [x])
        else:
            divided = [(t, _quotient(w, factor)) for t, w in parts]
            inner = self.build.total(divided, _quotient(shift, factor), [x])
        if inner.op is SUM:
            self._add(inner, p)
            return []
        return [(inner, p)]

    def _opened(self, x: Node, p: Number) -> Weighted:
        """(Π bᵢ^qᵢ)^p as factors still to be taken in; those whose power may not be taken one by one are together."""
        if is_whole(p):
            return [part for base, q in weighted(x) for part in _powers(base, q, simple(q * p))]
        apart, together = self._rooted(x, p)
        if together:
            self._add(product_node(together), p)
        return apart

    def _rooted(self, x: Node, p: Number) -> tuple[Weighted, Weighted]:
        parts = weighted(x)
        apart: Weighted = []
        together: Weighted = []
        lone = [self._may_be_negative(base, q) for base, q in parts]
        for (base, q), signed in zip(parts, lone, strict=True):
            if signed or (
                len(parts) > 1 and any(lone) and not nonzero.holds(self.facts(base))
            ):  # √(0·y) is 0 for y < 0 too
                together.append((base, q))
            elif nonnegative.holds(self.facts(base)):
                apart.append((base, simple(q * p)))
            else:
                apart.append((self.build.make(ew.abs, (base,)), simple(q * p)))
        if len(together) == 1:
            base, q = together.pop()
            apart += _powers(base, p, simple(q * p))
        return apart, together

    def _may_be_negative(self, base: Node, power: Number) -> bool:
        return power % 2 != 0 and not nonnegative.holds(self.facts(base))

    def _add(self, base: Node, power: Number) -> None:
        self.powers.setdefault(base, []).append(simple(power))

    def close(self) -> None:
        """Exponentials and powers of one base joined, constant arrays multiplied out."""
        while self.exponents or self._join_powers():
            waiting, self.exponents = self.exponents, []
            for group in _grouped(waiting):
                argument = self.build.total(group, 0, [x for x, _ in group])
                self._take(self.build.make(ew.exp, (argument,)))
        most = LIMITS.largest_folded
        arrays = [x for x in self.powers if x.op is CONSTANT and x.type.shape and value_of(x).size <= most]
        if len(arrays) > 1 or (arrays and (self.powers[arrays[0]] != [1] or len(self.powers) == 1)):
            self._fold(arrays)

    def _join_powers(self) -> bool:
        """Several powers of one base as few; whether that took apart a base, so that there may be more to join."""
        opened = False
        for base, powers in list(self.powers.items()):
            if len(powers) < 2:
                continue
            fewer = joined_powers(powers, self.facts(base))
            if fewer == sorted(powers):
                continue
            del self.powers[base]
            self.dropped |= not fewer
            compound = base.op is SUM or base.op is PRODUCT
            for power in fewer:
                (self.multiply if compound else self._add)(base, power)
            opened |= compound
        return opened

    def _take(self, node: Node) -> None:
        if node.op is ew.exp:
            self._add(node, 1)
        else:
            self.multiply(node, 1)

    def _fold(self, arrays: list[Node]) -> None:
        shapes = [value_of(x).shape for x in arrays]
        if int(np.prod(np.broadcast_shapes(*shapes))) > LIMITS.largest_folded:
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
        return [scalars] if scalars else []
    first = next(iter(groups))
    groups[first] = groups[first] + scalars
    return list(groups.values())


def _powers(base: Node, given: Number, power: Number) -> Weighted:
    """base^power; where a root was taken on the way, by the power that was given, as roots: they say it has one."""
    if is_whole(given) or not is_whole(power):
        return [(base, power)]
    return [(base, given), (base, power - given)]


def joined_powers(powers: list[Number], fact: Fact) -> list[Number]:
    """The fewest powers of one base that say the same as the given ones, in order; whichever were joined before.

    >>> [joined_powers(p, f) for p, f in [([3, -2], Fact()), ([3, -2], nonzero.fact), ([0.5, 0.5], Fact(low=0))]]
    [[-1, 2], [1], [1]]
    """
    over, under = sum(p for p in powers if p > 0), -sum(p for p in powers if p < 0)
    rooted = not nonnegative.holds(fact) and not all(map(is_whole, powers))
    if over and under:
        if not nonzero.holds(fact) or (over == under and not finite.holds(fact)):
            common = max(min(over, under) - 1, 0)  # x³/x² is x²/x, as little defined at zero, and x²/x² is x/x
        else:
            common = min(over, under)
        over, under = over - common, under - common
    found = [simple(p) for p in (-under, over) if p]
    if rooted and all(map(is_whole, found)):  # a root stays, which says that the base is not negative
        largest = found.pop() if found else 0
        found += [-0.5, largest + 0.5] if largest <= 0 else [0.5, largest - 0.5]
    return sorted(map(simple, found))


def simple(power: Number) -> Number:
    return int(power) if is_whole(power) else power


def _quotient(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return a / b
