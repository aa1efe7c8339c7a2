"""Powers, absolute values, signs, circular functions: what collecting terms and factors does not already give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.graph import Node
from ppl.rewrites.book import Book
from ppl.rewrites.engine import Engine
from ppl.rewrites.facts import nonnegative, nonpositive, nonzero, positive
from ppl.rewrites.normal import PRODUCT, SUM, Weighted, content, factors, number_of, weighted
from ppl.rewrites.rule import Safety
from ppl.rewrites.statement import equal, rewrites
from ppl.rewrites.work import work
from ppl.tensor.elementwise import abs, cos, cosh, exp, log, power, sign, sin, sinh
from ppl.tensor.ops import OPS, Elementwise
from ppl.tensor.special_functions import gammaln


@equal(x=nonnegative)
def abs_of_nonnegative(x):
    """A number that is not negative is its absolute value."""
    return abs(x), x


@equal(x=nonpositive)
def abs_of_nonpositive(x):
    """The absolute value of a number that is not positive is its negative."""
    return abs(x), -x


@equal
def square_of_abs(x):
    """A square forgets the sign."""
    return abs(x) ** 2, x**2


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
    """Factors of known sign come out of an absolute value: ∣x·e^y∣ = e^y·∣x∣."""
    inner = node.inputs[0]
    if inner.op is SUM and len(inner.inputs) == 1 and not inner.attrs["shift"]:
        x, weight = weighted(inner)[0]
        return engine.total([(engine.make(abs, (x,)), weight if weight >= 0 else -weight)], 0, [node])
    if inner.op is not PRODUCT:
        return None
    known: Weighted = []
    unknown: Weighted = []
    for x, p in weighted(inner):
        (known if _never_negative(engine, x, p) else unknown).append((x, p))
    if not known:
        return None
    if not unknown:
        return inner
    rest = engine.make(abs, (engine.product(unknown, [node], fit=False),))
    return engine.product([*known, (rest, 1)], [node])


def _never_negative(engine: Engine, x: Node, p: float) -> bool:
    return float(p) % 2 == 0 or nonnegative.holds(engine.facts(x))


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


@rewrites(power, example=lambda a: power(1.0, a))
def power_of_one(node: Node, engine: Engine) -> Node | None:
    """One to any power is one."""
    return node.inputs[0] if number_of(node.inputs[0]) == 1 else None


@rewrites(PRODUCT, example=lambda x, y: x * (y + 1 / x), x=nonzero, one_of=[SUM], safety=Safety.domain,
          saves_work=True)  # fmt: skip
def product_that_cancels(node: Node, engine: Engine) -> Node | None:
    """x·(y + z/x) = x·y + z: a factor is multiplied into a sum where it cancels inside."""
    parts = weighted(node)
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
    abs_of_nonnegative, abs_of_nonpositive, square_of_abs, over_abs, sign_times_abs, abs_of_product, parity,
    sine_and_cosine, hyperbolic_sine_and_cosine, difference_of_gammaln, powers_of_one_base, power_of_power,
    power_of_one, product_that_cancels,
)  # fmt: skip
