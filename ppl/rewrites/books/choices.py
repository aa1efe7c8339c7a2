"""Choices and comparisons, decided where facts decide them."""

from __future__ import annotations

import numpy as np

from ppl.graph import Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, number_of, weighted
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import equal, rewrites
from ppl.rewrites.facts.facts import Fact, finite, negative, positive
from ppl.tensor.core import elementwise as ew
from ppl.tensor.core.elementwise import clip, exp, logical_not, maximum, minimum, sign, switch
from ppl.tensor.core.ops import OPS, Elementwise
from ppl.tensor.tensor import CONSTANT, TensorType, constant, value_of

YES, NO = constant(np.bool_(True)), constant(np.bool_(False))


_ANY = [op for op in OPS.values() if isinstance(op, Elementwise)]


# --- switch
@equal(bools=["c"], safety=Safety.exact)
def switch_between_equals(c, x):
    """A choice between equals is none."""
    return switch(c, x, x), x


@rewrites(switch, example=lambda x, y: switch(True, x, y), more=[lambda x, y: switch(False, x, y)], safety=Safety.exact)
def switch_decided(node: Node, engine: Engine) -> Node | None:
    """A choice with a known condition is made."""
    condition, then, otherwise = node.inputs
    if condition.op is not CONSTANT:
        return None
    values = value_of(condition)
    return then if values.all() else None if values.any() else otherwise


@equal(bools=["c"], safety=Safety.exact)
def switch_of_not(c, x, y):
    """To choose by the opposite is to choose the other."""
    return switch(logical_not(c), x, y), switch(c, y, x)


@equal(bools=["c"], safety=Safety.exact)
def switch_in_then(c, x, y, z):
    """Where a condition holds, a second choice by it is already made."""
    return switch(c, switch(c, x, y), z), switch(c, x, z)


@equal(bools=["c"], safety=Safety.exact)
def switch_in_otherwise(c, x, y, z):
    """Where a condition does not hold, a second choice by it is already made."""
    return switch(c, x, switch(c, y, z)), switch(c, x, z)


def _by_condition(node: Node) -> dict[Node, list[tuple[Node, float]]]:
    """The operands of a sum or product that are choices, by condition."""
    found: dict[Node, list[tuple[Node, float]]] = {}
    for x, weight in weighted(node):
        if x.op is switch:
            found.setdefault(x.inputs[0], []).append((x, weight))
    return found


@rewrites(SUM, PRODUCT, example=lambda c, x, y: switch(c, x, 1.0) + switch(c, y, 2.0), bools=["c"], one_of=[switch],
          more=[lambda c, x, y, z: switch(c, x, y) - switch(c, y, z), lambda c, x, y, z: switch(c, x, y)
                / switch(c, 1.0, exp(z))])  # fmt: skip
def choices_combined(node: Node, engine: Engine) -> Node | None:
    """Sums and products of choices by one condition are one choice between sums or products."""
    combined = engine.product if node.op is PRODUCT else lambda parts, like, fit: engine.total(parts, 0, like, fit=fit)
    for condition, group in _by_condition(node).items():
        if len(group) < 2:
            continue
        chosen = [x for x, _ in group]
        branches = [combined([(x.inputs[i], w) for x, w in group], chosen, fit=False) for i in (1, 2)]
        merged = engine.make(switch, (condition, *branches))
        rest = [(x, w) for x, w in weighted(node) if not any(x is y for y in chosen)]
        if node.op is PRODUCT:
            return engine.product([(merged, 1), *rest], [node])
        return engine.total([(merged, 1), *rest], node.attrs["shift"], [node])
    return None


_SEVERAL = [
    op for op in OPS.values()
    if isinstance(op, Elementwise) and op not in (switch, ew.add, ew.multiply, ew.subtract, ew.true_divide)
]  # fmt: skip


@rewrites(*_SEVERAL, example=lambda c, x, y, z: maximum(switch(c, x, y), switch(c, y, z)), bools=["c"],
          one_of=[switch], more=[lambda c, x, y: ew.hypot(switch(c, x, 1.0), switch(c, 2.0, y))],
          safety=Safety.exact)  # fmt: skip
def function_of_choices(node: Node, engine: Engine) -> Node | None:
    """f(switch(c, x, y), switch(c, u, v)) = switch(c, f(x, u), f(y, v))."""
    conditions = [x.inputs[0] for x in node.inputs if x.op is switch]
    if len(conditions) < 2 or len(conditions) < len(node.inputs) or any(c is not conditions[0] for c in conditions):
        return None
    branches = [engine.make(node.op, tuple([x.inputs[i] for x in node.inputs]), node.attrs) for i in (1, 2)]
    return engine.make(switch, (conditions[0], *branches))


def _masked(node: Node, engine: Engine, may_hide_nan: bool) -> Node | None:
    parts = weighted(node)
    for x, power in parts:
        if x.op is not switch or power != 1:
            continue
        zero = next((i for i in (1, 2) if number_of(x.inputs[i]) == 0), None)
        if zero is None:
            continue
        rest = [(y, p) for y, p in parts if y is not x]
        if not may_hide_nan and not all(finite.holds(engine.facts(engine.product([(y, p)], [y]))) for y, p in rest):
            continue
        branches = list(x.inputs)
        branches[3 - zero] = engine.product([(branches[3 - zero], 1), *rest], [node], fit=False)
        return engine.make(switch, tuple(branches))
    return None


@rewrites(PRODUCT, example=lambda c, x, y: x * switch(c, 0.0, y), bools=["c"], safety=Safety.domain, x=finite,
          one_of=[switch])  # fmt: skip
def product_with_masked(node: Node, engine: Engine) -> Node | None:
    """x·switch(c, 0, y) = switch(c, 0, x·y) for finite x: what is masked does not reach the gradient."""
    return _masked(node, engine, may_hide_nan=False)


@rewrites(PRODUCT, example=lambda c, x, y: x * switch(c, 0.0, y), bools=["c"], safety=Safety.nan_unsafe,
          one_of=[switch])  # fmt: skip
def product_with_masked_unproved(node: Node, engine: Engine) -> Node | None:
    """x·switch(c, 0, y) = switch(c, 0, x·y), also where x is infinite or nan behind the mask."""
    return _masked(node, engine, may_hide_nan=True)


@rewrites(SUM, example=lambda x: 0.0 * x, more=[lambda x: x - x], safety=Safety.nan_unsafe)
def zero_times(node: Node, engine: Engine) -> Node | None:
    """0·x = 0, also where x is infinite or nan."""
    if 0 not in node.attrs["weights"]:
        return None
    kept = [(x, w) for x, w in weighted(node) if w != 0]
    return engine.spread(engine.total(kept, node.attrs["shift"], [node], fit=False), [node])


@rewrites(*_ANY, example=lambda x: exp(0.0 * x + 2.0), one_of=[SUM])
def function_of_zero_times(node: Node, engine: Engine) -> Node | None:
    """f(a + 0·x) = f(a) + 0·x: where the operand is a number it is a, else nan, and so is the result."""
    x, dtype = node.inputs[0], node.type.dtype
    if len(node.inputs) > 1 or x.op is not SUM or any(x.attrs["weights"]) or dtype != x.type.dtype or dtype[0] != "f":
        return None
    known, unknown = (
        engine.make(node.op, (constant(np.array(a, dtype)),), node.attrs) for a in (x.attrs["shift"], np.nan)
    )
    value = number_of(known)
    if value is None or unknown.op is not CONSTANT or not np.isnan(value_of(unknown)):
        return None
    return engine.total(weighted(x), value, [node])


@rewrites(PRODUCT, example=lambda x: x / x, safety=Safety.nan_unsafe)
def quotient_of_equals(node: Node, engine: Engine) -> Node | None:
    """x/x = 1, also where x is zero, infinite or nan."""
    powers: dict[Node, float] = {}
    for x, p in weighted(node):
        powers[x] = powers.get(x, 0) + p
    if len(powers) == len(node.inputs):
        return None
    return engine.spread(engine.product([(x, p) for x, p in powers.items() if p], [node], fit=False), [node])


# --- comparisons
def _less(a: Fact, b: Fact, strictly: bool) -> bool | None:
    """Whether a < b (or a ≤ b): yes only for numbers, no also for nan."""
    surely = a.high < b.low or (a.high == b.low and (not strictly or a.below or b.above))
    if surely and finite.holds(a) and finite.holds(b):
        return True
    never = a.low > b.high or (a.low == b.high and (strictly or a.above or b.below))
    return False if never else None


@rewrites(ew.less, ew.less_equal, ew.greater, ew.greater_equal, safety=Safety.domain,
          example=lambda a, b: ew.less(a, b), more=[lambda a, b: ew.less_equal(b, a), lambda a, b: ew.greater(a, b),
          lambda a, b: ew.greater_equal(a, b), lambda x: ew.less(x, x), lambda f: ew.less_equal(f, f)],
          a=negative, b=positive, f=finite)  # fmt: skip
def comparison_decided(node: Node, engine: Engine) -> Node | None:
    """Numbers from intervals that do not meet compare as the intervals do."""
    a, b = node.inputs
    strictly = node.op in (ew.less, ew.greater)
    if a is b and (strictly or a.type.dtype[0] in "biu" or finite.holds(engine.facts(a))):
        answer: bool | None = not strictly
    else:
        left, right = (b, a) if node.op in (ew.greater, ew.greater_equal) else (a, b)
        answer = _less(engine.facts(left), engine.facts(right), strictly)
    return None if answer is None else engine.spread(YES if answer else NO, [node])


@rewrites(ew.equal, ew.not_equal, example=lambda x: ew.equal(x, x), more=[lambda x: ew.not_equal(x, x)], x=finite,
          safety=Safety.domain)  # fmt: skip
def equal_to_itself(node: Node, engine: Engine) -> Node | None:
    """A number equals itself; nan does not."""
    a, b = node.inputs
    if a is not b or not finite.holds(engine.facts(a)):
        return None
    return engine.spread(YES if node.op is ew.equal else NO, [node])


@rewrites(ew.isnan, ew.isinf, ew.isfinite, example=lambda x: ew.isnan(x), more=[lambda x: ew.isfinite(x),
          lambda x: ew.isinf(x)], x=finite, safety=Safety.domain)  # fmt: skip
def number_tests(node: Node, engine: Engine) -> Node | None:
    """A number is neither nan nor infinite."""
    if not finite.holds(engine.facts(node.inputs[0])):
        return None
    return engine.spread(YES if node.op is ew.isfinite else NO, [node])


# --- maximum and minimum
@rewrites(*[op for op in OPS.values() if isinstance(op, Elementwise) and op.facts.idempotent], safety=Safety.exact,
          example=lambda x: maximum(x, x), bools=["c"], types={"i": TensorType("int64")},
          more=[lambda x: minimum(x, x), lambda c: ew.logical_and(c, c), lambda c: ew.logical_or(c, c),
                lambda i: ew.bitwise_and(i, i), lambda i: ew.bitwise_or(i, i)])  # fmt: skip
def idempotent(node: Node, engine: Engine) -> Node | None:
    """f(x, x) = x."""
    return node.inputs[0] if node.inputs[0] is node.inputs[1] else None


@rewrites(maximum, minimum, example=lambda a, b: maximum(a, b), more=[lambda a, b: minimum(b, a)],
          a=negative, b=positive, safety=Safety.domain)  # fmt: skip
def larger_known(node: Node, engine: Engine) -> Node | None:
    """The larger of two numbers, where their intervals say which it is."""
    for x, y in (node.inputs, node.inputs[::-1]):
        left, right = engine.facts(x), engine.facts(y)
        wins = left.low >= right.high if node.op is maximum else left.high <= right.low
        if wins and finite.holds(right):
            return x
    return None


@rewrites(clip, example=lambda p: clip(p, -0.5, 1.5), p=positive, a=negative, safety=Safety.domain,
          more=[lambda p, a: clip(p, a, 1.5), lambda p, a: clip(a, -1.5, p)])  # fmt: skip
def clip_as_bounds(node: Node, engine: Engine) -> Node | None:
    """Clipping at a bound that is never reached does nothing."""
    x, low, high = node.inputs
    fact, lower, upper = (engine.facts(each) for each in node.inputs)
    if lower.high > upper.low:
        return None
    if fact.low >= lower.high and finite.holds(lower):
        return engine.make(minimum, (x, high))
    if fact.high <= upper.low and finite.holds(upper):
        return engine.make(maximum, (x, low))
    return None


@rewrites(sign, example=lambda a: sign(a), more=[lambda b: sign(b)], a=positive, b=negative, safety=Safety.domain)
def sign_known(node: Node, engine: Engine) -> Node | None:
    """The sign of a number that is never zero and never changes sign."""
    x = node.inputs[0]
    fact = engine.facts(x)
    if not finite.holds(fact) or x.type.dtype[0] != "f":
        return None
    value = 1.0 if positive.holds(fact) else -1.0 if negative.holds(fact) else None
    return None if value is None else engine.spread(constant(np.array(value, x.type.dtype)), [node])


choices = Book(
    "choices",
    switch_between_equals, switch_decided, switch_of_not, switch_in_then, switch_in_otherwise,
    choices_combined, function_of_choices,
    product_with_masked, product_with_masked_unproved, zero_times, function_of_zero_times, quotient_of_equals,
    comparison_decided, equal_to_itself, number_tests, idempotent, larger_known, clip_as_bounds, sign_known,
)  # fmt: skip
