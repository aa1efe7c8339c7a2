"""Facts of sums, products and powers, and of the larger and the smaller of two numbers."""

from __future__ import annotations

import numpy as np

from ppl.graph import Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, is_whole
from ppl.rewrites.facts.facts import ANYTHING, INF, Fact, declare_facts, nonnegative, nonzero, positive
from ppl.tensor.core import elementwise as ew


# --- sums, products, powers
def _scaled(x: Fact, by: float) -> Fact:
    if by == 0:
        return Fact(0.0, 0.0, finite=x.finite, integer=x.integer)
    low, high, above, below = x.low * by, x.high * by, x.above, x.below
    if by < 0:
        low, high, above, below = high, low, below, above
    return Fact(low, high, above, below, x.finite, x.integer and is_whole(by))


def _plus(x: Fact, y: Fact) -> Fact:
    return Fact(
        x.low + y.low if -INF not in (x.low, y.low) else -INF,
        x.high + y.high if INF not in (x.high, y.high) else INF,
        x.above or y.above,
        x.below or y.below,
        x.finite and y.finite,
        x.integer and y.integer,
    )


def _of_sum(node: Node, facts: list[Fact]) -> Fact:
    shift = float(node.attrs["shift"])
    total = Fact(shift, shift, finite=True, integer=shift.is_integer())
    for fact, weight in zip(facts, node.attrs["weights"], strict=True):
        total = _plus(total, _scaled(fact, weight))
    return total if node.type.dtype[0] == "f" else ANYTHING  # integers wrap around


def _to_power(x: Fact, power: float) -> Fact:
    fits = x.finite and (power > 0 or nonzero.holds(x)) and (is_whole(power) or nonnegative.holds(x))
    integer = x.integer and is_whole(power) and power > 0
    if nonnegative.holds(x):
        with np.errstate(all="ignore"):
            ends = sorted([float(np.float64(x.low) ** power), float(np.float64(x.high) ** power)])
        above, below = (x.above, x.below) if power > 0 else (x.below, x.above)
        open_low = above or (ends[0] == 0 and positive.holds(x) and x.finite)
        return Fact(ends[0], ends[1], open_low, below and ends[1] != INF, fits, integer)
    if is_whole(power) and power % 2 == 0:
        return Fact(0.0, INF, above=nonzero.holds(x), finite=fits, integer=integer)
    if is_whole(power):
        marks = frozenset(["nonzero"]) if nonzero.holds(x) and x.finite else frozenset[str]()
        if x.high <= 0 and (power > 0 or nonzero.holds(x)):  # 1/0 is above all numbers, also for x ≤ 0
            return Fact(high=0.0, below=x.below or x.high < 0, finite=fits, integer=integer, marks=marks)
        return Fact(finite=fits, integer=integer, marks=marks) if power != 1 else x
    return Fact(0.0, INF, finite=fits)


def _times(x: Fact, y: Fact) -> Fact:
    finite, integer = x.finite and y.finite, x.integer and y.integer
    never_zero = nonzero.holds(x) and nonzero.holds(y)
    marks = frozenset(["nonzero"]) if never_zero else frozenset[str]()
    if nonnegative.holds(x) and nonnegative.holds(y):
        low = x.low * y.low
        high = INF if INF in (x.high, y.high) else x.high * y.high
        return Fact(low, high, above=never_zero and (low == 0 or x.above or y.above), finite=finite, integer=integer)
    if x.high <= 0 and y.high <= 0:
        return _times(_scaled(x, -1), _scaled(y, -1))
    if (x.high <= 0 and y.low >= 0) or (x.low >= 0 and y.high <= 0):
        return Fact(high=0.0, below=never_zero, finite=finite, integer=integer)
    if finite and all(abs(end) != INF for end in (x.low, x.high, y.low, y.high)):
        corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
        return Fact(min(corners), max(corners), finite=finite, integer=integer, marks=marks)
    return Fact(finite=finite, integer=integer, marks=marks)


def _of_product(node: Node, facts: list[Fact]) -> Fact:
    total = Fact(1.0, 1.0, finite=True, integer=True)
    for fact, power in zip(facts, node.attrs["weights"], strict=True):
        total = _times(total, _to_power(fact, power))
    return total if node.type.dtype[0] == "f" else ANYTHING


declare_facts(SUM, _of_sum)
declare_facts(PRODUCT, _of_product)


declare_facts(ew.sqrt, lambda node, facts: _to_power(facts[0], 0.5))
declare_facts(ew.square, lambda node, facts: _to_power(facts[0], 2))
declare_facts(ew.reciprocal, lambda node, facts: _to_power(facts[0], -1))


def _power(node: Node, facts: list[Fact]) -> Fact:
    base, exponent = facts
    if positive.holds(base):
        return Fact(0.0, INF, above=True, finite=base.finite and exponent.finite)
    return Fact(low=0.0) if nonnegative.holds(base) else ANYTHING


declare_facts(ew.power, _power)


declare_facts(ew.hypot, lambda node, facts: Fact(low=0.0, finite=facts[0].finite and facts[1].finite))
declare_facts(ew.logaddexp, lambda node, facts: Fact(finite=facts[0].finite and facts[1].finite))


# --- the larger and the smaller
def _of_maximum(node: Node, facts: list[Fact]) -> Fact:
    x, y = facts
    low, above = max((x.low, x.above), (y.low, y.above))
    high, closed = max((x.high, not x.below), (y.high, not y.below))
    return Fact(low, high, above, not closed, x.finite and y.finite, x.integer and y.integer)


def _of_minimum(node: Node, facts: list[Fact]) -> Fact:
    return _scaled(_of_maximum(node, [_scaled(f, -1) for f in facts]), -1)


declare_facts(ew.maximum, _of_maximum)
declare_facts(ew.minimum, _of_minimum)
declare_facts(ew.clip, lambda node, facts: _of_minimum(node, [_of_maximum(node, facts[:2]), facts[2]]))
