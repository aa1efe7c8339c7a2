"""Facts of functions of one number: monotone and bounded ones, rounding, absolute values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ppl.graph import Node
from ppl.rewrites.facts.facts import (
    ANYTHING,
    INF,
    Condition,
    Fact,
    above_minus_one,
    declare_facts,
    negative,
    nonnegative,
    nonzero,
    positive,
)
from ppl.tensor.core import elementwise as ew
from ppl.tensor.core.ops import OPS, Elementwise
from ppl.tensor.special_functions.catalog import erfc

_EVERYWHERE: Condition = Condition("anything", ANYTHING, lambda f: True)


# --- monotone and bounded functions: the ends of the interval follow by applying the function
def _monotone(
    name: str, function: Callable[[float], float], domain: Condition = _EVERYWHERE, range: Fact = ANYTHING
) -> None:
    """Facts of an increasing function that is finite on finite numbers of its domain."""

    def infer(node: Node, facts: list[Fact]) -> Fact:
        x = facts[0]
        with np.errstate(all="ignore"):
            low, high = float(function(x.low)), float(function(x.high))
        image = Fact(
            -INF if math.isnan(low) else low,
            INF if math.isnan(high) else high,
            x.above and low != -INF,
            x.below and high != INF,
        )
        return image.meet(range).but(finite=x.finite and domain.holds(x))

    declare_facts(OPS[name], infer)


_OPEN_UNIT = Fact(0.0, 1.0, above=True, below=True)
_WITHIN_ONE = Fact(-1.0, 1.0, above=True, below=True)
_monotone("exp", np.exp, range=Fact(low=0.0, above=True))
_monotone("expm1", np.expm1, range=Fact(low=-1.0, above=True))
_monotone("log", np.log, positive)
_monotone("log1p", np.log1p, above_minus_one)
_monotone("tanh", np.tanh, range=_WITHIN_ONE)
_monotone("arctan", np.arctan)
_monotone("sinh", np.sinh)
_monotone("arcsinh", np.arcsinh)
_monotone("sigmoid", lambda x: 1 / (1 + np.exp(-x)), range=_OPEN_UNIT)
_monotone("softplus", lambda x: np.logaddexp(0, x), range=Fact(low=0.0, above=True))
_monotone("log_sigmoid", lambda x: -np.logaddexp(0, -x), range=Fact(high=0.0, below=True))
_monotone("erf", math.erf, range=_WITHIN_ONE)
_monotone("ndtr", lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), range=_OPEN_UNIT)


def _share(node: Node, facts: list[Fact]) -> Fact:
    x, y = facts
    if not (positive.holds(x) and nonnegative.holds(y)):
        return ANYTHING
    return Fact(0.0, 1.0, above=True, below=positive.holds(y), finite=x.finite)


declare_facts(ew.share, _share)

# --- functions with a declared range, finite where their argument is in a domain
_FINITE_ON: dict[str, Condition] = {
    **dict.fromkeys(
        ["sin", "cos", "cosh", "log_ndtr", "sign", "cbrt", "sinc", "i0e", "i1e"],
        _EVERYWHERE,
    ),
    "gammaln": positive, "digamma": positive, "gamma": positive, "log2": positive, "log10": positive,
    "log1mexp": negative, "rsqrt": positive, "entr": nonnegative,
}  # fmt: skip


def _unary(domain: Condition) -> Callable[[Node, list[Fact]], Fact]:
    def infer(node: Node, facts: list[Fact]) -> Fact:
        declared = node.op.facts.range if isinstance(node.op, Elementwise) else None
        fact = Fact(*declared) if declared else ANYTHING
        return fact.but(finite=facts[0].finite and domain.holds(facts[0]), integer=node.op is ew.sign)

    return infer


for _op_name, _domain in _FINITE_ON.items():
    declare_facts(OPS[_op_name], _unary(_domain))


def _erfc(node: Node, facts: list[Fact]) -> Fact:
    return Fact(0.0, 2.0, above=True, below=True, finite=facts[0].finite)


declare_facts(erfc, _erfc)


def _rounded(node: Node, facts: list[Fact]) -> Fact:
    x = facts[0]
    whole: Callable[[float], float] = getattr(np, node.op.name)
    low, high = float(whole(x.low)), float(whole(x.high))
    return Fact(low, high, finite=x.finite, integer=True)


for _each in (ew.floor, ew.ceil, ew.rint, ew.trunc):
    declare_facts(_each, _rounded)


def _absolute(node: Node, facts: list[Fact]) -> Fact:
    x = facts[0]
    if x.low >= 0:
        return x
    high = max(-x.low, x.high)
    low = -x.high if x.high < 0 else 0.0
    return Fact(low, high, above=low == 0.0 and nonzero.holds(x), finite=x.finite, integer=x.integer)


declare_facts(ew.abs, _absolute)
