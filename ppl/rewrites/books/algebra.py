"""Powers, absolute values, signs, circular functions: what collecting terms and factors does not already give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.graph import Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Weighted, content, factors, is_whole, weighted
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import equal, rewrites
from ppl.rewrites.facts.facts import both, finite, nonnegative, nonpositive, nonzero, positive
from ppl.rewrites.values.work import work
from ppl.tensor.arrays.shaping import BROADCAST_TO
from ppl.tensor.core.elementwise import abs, cos, cosh, exp, log, power, sign, sin, sinh
from ppl.tensor.core.ops import OPS, Elementwise
from ppl.tensor.special_functions.catalog import gammaln


@rewrites(abs, example=lambda x: abs(x), more=[lambda y: abs(y)], x=nonnegative, y=nonpositive, safety=Safety.domain)
def abs_of_known_sign(node: Node, engine: Engine) -> Node | None:
    """A number that is not negative is its absolute value; of one that is not positive it is the negative."""
    x = node.inputs[0]
    fact = engine.facts(x)
    if nonnegative.holds(fact):
        return x
    return engine.total([(x, -1)], 0, [x]) if nonpositive.holds(fact) else None


@rewrites(PRODUCT, example=lambda x: abs(x) ** 2, one_of=[abs],
          more=[lambda x: abs(x) ** -3, lambda x: abs(x) ** 2.5])  # fmt: skip
def power_of_abs(node: Node, engine: Engine) -> Node | None:
    """An even power forgets the sign: ∣x∣² = x², and ∣x∣³ = x²·∣x∣."""
    powers: Weighted = []
    for x, p in weighted(node):
        even = 2 * int(p / 2) if x.op is abs else 0
        powers += [(x.inputs[0], even), (x, p - even)] if even else [(x, p)]
    return None if len(powers) == len(node.inputs) else engine.product([(x, p) for x, p in powers if p], [node])


@equal
def number_times_sign(x):
    """A number times its sign is its absolute value."""
    return x * sign(x), abs(x)


@equal(x=both(nonzero, finite))
def square_of_sign(x):
    """The square of a sign is one."""
    return sign(x) ** 2, 1 + 0 * x


@equal(x=nonzero)
def over_abs(x):
    """A number over its absolute value is its sign."""
    return x / abs(x), sign(x)


@equal
def sign_times_abs(x):
    """A number is its sign times its absolute value."""
    return sign(x) * abs(x), x


@rewrites(abs, example=lambda x, y: abs(x * exp(y)), more=[lambda x: abs(-3 * x), lambda x, y: abs(x / y**2)])
def abs_of_product(node: Node, engine: Engine) -> Node | None:
    """∣x·y∣ = ∣x∣·∣y∣, and ∣x³∣ = ∣x∣³."""
    inner = node.inputs[0]
    if inner.op is SUM and len(inner.inputs) == 1 and not inner.attrs["shift"]:
        x, weight = weighted(inner)[0]
        return engine.total([(engine.make(abs, (x,)), max(weight, -weight))], 0, [node]) if weight else None
    if inner.op is not PRODUCT:
        return None
    return engine.product(
        [(x if _never_negative(p) else engine.make(abs, (x,)), p) for x, p in weighted(inner)], [node]
    )


def _never_negative(power: float) -> bool:
    """Whether a power with this exponent is not negative where it exists."""
    return _is_even(power) or not is_whole(power)


def _is_even(power: float) -> bool:
    return float(power) % 2 == 0


_ARITHMETIC = frozenset(["square", "negative", "reciprocal", "positive", "abs"])
_EVEN_OR_ODD = [
    op for op in OPS.values()
    if isinstance(op, Elementwise) and (op.facts.even or op.facts.odd) and op.name not in _ARITHMETIC
]  # fmt: skip


def _of_negative(op: Elementwise) -> Callable[[Any], Any]:
    return lambda x: op(-x)


@rewrites(*_EVEN_OR_ODD, example=lambda x, y: sinh(-2 * x - 2 * y), more=list(map(_of_negative, _EVEN_OR_ODD)))
def parity(node: Node, engine: Engine) -> Node | None:
    """f(-x) = -f(x) for odd functions and f(x) for even ones."""
    assert isinstance(node.op, Elementwise)
    x = node.inputs[0]
    if len(node.inputs) != 1 or x.op is not SUM or content(weighted(x), x.attrs["shift"]) > 0:
        return None
    turned = engine.make(node.op, (engine.total([(x, -1)], 0, [x]),), node.attrs)
    return engine.total([(turned, -1)], 0, [node]) if node.op.facts.odd else turned


@equal
def sine_and_cosine(x):
    """sin² + cos² = 1."""
    return sin(x) ** 2 + cos(x) ** 2, 1 + 0 * x


@equal
def hyperbolic_sine_and_cosine(x):
    """cosh² - sinh² = 1."""
    return cosh(x) ** 2 - sinh(x) ** 2, 1 + 0 * x


@equal(x=positive)
def difference_of_gammaln(x):
    """log Γ(x + 1) - log Γ(x) = log x."""
    return gammaln(x + 1) - gammaln(x), log(x)


@equal(x=positive)
def powers_of_one_base(x, a, b):
    """Powers of one base are multiplied by adding their exponents."""
    return power(x, a) * power(x, b), power(x, a + b)


@equal(x=positive)
def power_of_power(x, a, b):
    """A power of a power multiplies the exponents."""
    return power(power(x, a), b), power(x, a * b)


@equal
def power_of_one(a):
    """One to any power is one, also where the power is nan."""
    return power(1.0, a), 1.0


@rewrites(PRODUCT, example=lambda x, y: x * (y + 1 / x), x=nonzero, one_of=[SUM], safety=Safety.domain,
          saves_work=True)  # fmt: skip
def product_that_cancels(node: Node, engine: Engine) -> Node | None:
    """x·(y + z/x) = x·y + z: a factor is multiplied into a sum where it cancels inside."""
    parts = weighted(node)
    if any(x.op is BROADCAST_TO for x, _ in parts):
        return None  # entries that repeat are computed once first, or work would be counted for each
    for base, exponent in parts:
        if base.op is not SUM or exponent != 1:
            continue
        rest = [(x, p) for x, p in parts if x is not base]
        if not any(_cancels(x, p, rest) for term in base.inputs for x, p in factors(term)):
            continue
        terms: Weighted = [(engine.product([(t, 1), *rest], [node], fit=False), w) for t, w in weighted(base)]
        if base.attrs["shift"]:
            terms.append((engine.product(rest, [node], fit=False), base.attrs["shift"]))
        after = engine.total(terms, 0, [node], fit=False)
        if work(after) < work(node):
            return engine.spread(after, [node])
    return None


def _cancels(x: Node, exponent: float, others: Weighted) -> bool:
    return any(x is y and exponent * p < 0 for y, p in others)


algebra = Book(
    "algebra",
    abs_of_known_sign, power_of_abs, number_times_sign, square_of_sign, over_abs,
    sign_times_abs, abs_of_product, parity,
    sine_and_cosine, hyperbolic_sine_and_cosine, difference_of_gammaln, powers_of_one_base, power_of_power,
    power_of_one, product_that_cancels,
)  # fmt: skip
