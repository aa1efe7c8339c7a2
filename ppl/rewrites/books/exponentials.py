"""Exponentials and logarithms, and functions that undo one another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ppl.graph import Node
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Weighted, is_whole, number, terms, weighted
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import rewrites
from ppl.rewrites.facts.facts import CONDITIONS, Condition, nonnegative, nonzero, positive
from ppl.tensor.core.elementwise import abs, exp, log
from ppl.tensor.core.ops import OPS, Elementwise

# Where f does not give back everything, g(f(x)) = x needs x in the domain of f.
_DOMAINS: dict[str, str] = {
    "log2": "nonnegative", "log1p": "at_least_minus_one",
    "arcsin": "within_one", "arccos": "within_one", "arccosh": "at_least_one", "arctanh": "within_one",
    "logit": "probability", "erfinv": "within_one", "ndtri": "probability", "ndtri_exp": "nonpositive",
}  # fmt: skip
_OTHERS = frozenset(["negative", "positive", "reciprocal", "sqrt", "log", "erfcinv"])  # arithmetic, exp_of_logs
_UNDONE = [
    op for op in OPS.values()
    if isinstance(op, Elementwise) and op.facts.inverse is not None and op.name not in _OTHERS and op.result == "float"
]  # fmt: skip
_UNDOING: dict[Op, Elementwise] = {OPS[op.facts.inverse]: op for op in _UNDONE if op.facts.inverse is not None}


_MODERATE = 50.0


def _domain(op: Elementwise) -> Condition | None:
    name = _DOMAINS.get(op.name)
    return None if name is None else CONDITIONS[name]


# One example for each pair: the name of its parameter stands for what is known of it.
_OF: dict[str | None, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    None: lambda f: lambda x: f(x), "probability": lambda f: lambda p: f(p), "nonnegative": lambda f: lambda a: f(a),
    "nonpositive": lambda f: lambda b: f(b), "within_one": lambda f: lambda c: f(c),
    "at_least_one": lambda f: lambda d: f(d), "at_least_minus_one": lambda f: lambda e: f(e),
}  # fmt: skip


def _undone(f: Elementwise) -> Callable[[Any], Any]:
    return _OF[_DOMAINS.get(f.name)](lambda x: OPS[str(f.facts.inverse)](f(x)))


@rewrites(*_UNDOING, example=lambda x: log(exp(x)), more=list(map(_undone, _UNDONE)), one_of=list(_UNDOING.values()),
          p=CONDITIONS["probability"], a=nonnegative, b=CONDITIONS["nonpositive"], c=CONDITIONS["within_one"],
          d=CONDITIONS["at_least_one"], e=CONDITIONS["at_least_minus_one"], safety=Safety.domain)  # fmt: skip
def inverse_functions(node: Node, engine: Engine) -> Node | None:
    """g(f(x)) = x where g undoes f, on the domain of f."""
    inner = node.inputs[0]
    if len(node.inputs) != 1 or inner.op is not _UNDOING.get(node.op):
        return None
    x = inner.inputs[0]
    domain = _domain(inner.op)
    return x if domain is None or domain.holds(engine.facts(x)) else None


@rewrites(log, example=lambda x, y: log(exp(x) * y), a=positive, c=nonzero, more=[lambda x: log(x**2),
          lambda x: log(x**3), lambda x: log(3 * x), lambda a, b: log(a * b), lambda c, x: log(c**2 * x)])  # fmt: skip
def log_of_product(node: Node, engine: Engine) -> Node | None:
    """log(a·b) = log a + log b where a > 0; log(x²) = 2 log∣x∣; log(x³) = 3 log x."""
    inner, coefficient = node.inputs[0], 1.0
    if inner.op is SUM and len(inner.inputs) == 1 and not inner.attrs["shift"]:
        inner, coefficient = inner.inputs[0], inner.attrs["weights"][0]
        if coefficient <= 0:
            return None
    if inner is node.inputs[0] and inner.op is not PRODUCT:
        return None
    parts = weighted(inner) if inner.op is PRODUCT else [(inner, 1)]
    all_nonnegative = all(_even(p) or nonnegative.holds(engine.facts(x)) for x, p in parts)
    logs: Weighted = []
    rest: Weighted = []
    for x, p in parts:
        fact = engine.facts(x)
        if positive.holds(fact) or (all_nonnegative and nonnegative.holds(fact)):
            logs.append((engine.make(log, (x,)), p))
        elif _even(p) and (all_nonnegative or nonzero.holds(fact)):  # log(0²·y) is -inf for y < 0 too
            logs.append((engine.make(log, (engine.make(abs, (x,)),)), p))
        else:
            rest.append((x, p))
    if len(rest) == 1:
        x, p = rest[0]
        logs.append((engine.make(log, (x,)), p))
    elif rest:
        if not logs and coefficient == 1:
            return None
        logs.append((engine.make(log, (engine.product(rest, [inner], fit=False),)), 1))
    return engine.total(logs, math.log(coefficient), [node])


def _even(power: float) -> bool:
    return is_whole(power) and power % 2 == 0


@rewrites(exp, example=lambda x: exp(2 * log(x)), more=[lambda x: exp(3 - log(x))], x=positive, safety=Safety.domain)
def exp_of_logs(node: Node, engine: Engine) -> Node | None:
    """exp(c·log x) = x^c where x ≥ 0. With other terms the sum stays: their exponential might overflow alone."""
    inner = node.inputs[0]
    parts, shift = terms(inner)
    if any(x.op is not log or w == 0 or not nonnegative.holds(engine.facts(x.inputs[0])) for x, w in parts):
        return None
    if not parts or not -_MODERATE <= shift <= _MODERATE:
        return None
    factor = number(math.exp(shift), node.type.dtype)
    return engine.product([*[(x.inputs[0], w) for x, w in parts], (factor, 1)], [node])


exponentials = Book("exponentials", inverse_functions, log_of_product, exp_of_logs)
