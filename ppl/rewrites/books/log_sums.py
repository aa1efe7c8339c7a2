"""Logarithms and exponentials of sums along axes, and softmax."""

from __future__ import annotations

import math

from ppl.graph import Attrs, Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Weighted, factors, number, terms, weighted
from ppl.rewrites.books.reductions import COLUMN, GRID, VECTOR, varies, without_axes
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.statement import rewrites
from ppl.rewrites.facts.facts import finite, nonnegative, positive
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays import shaping
from ppl.tensor.core import elementwise as ew
from ppl.tensor.core.elementwise import exp, log


# --- logarithms of sums and products
@rewrites(log, example=lambda x: log(red.sum(exp(x))), more=[lambda x, w: log(red.sum(w * exp(x)))],
          types={"x": VECTOR, "w": VECTOR}, w=positive)  # fmt: skip
def log_sum_exp(node: Node, engine: Engine) -> Node | None:
    """log Σᵢ wᵢ·e^xᵢ = logsumexp(x + log w) for positive weights."""
    total = node.inputs[0]
    if total.op is not red.sum:
        return None
    logs = logarithm_of_positive(engine, total.inputs[0], needs_exp=True)
    return None if logs is None else engine.make(red.logsumexp, (logs,), total.attrs)


def logarithm_of_positive(engine: Engine, x: Node, needs_exp: bool) -> Node | None:
    """log x for a product of exponentials and of factors known to be positive, without the exponentials."""
    parts = factors(x)
    if needs_exp and not any(base.op is exp for base, _ in parts):
        return None
    logs: Weighted = []
    for base, power in parts:
        if base.op is exp:
            logs.append((base.inputs[0], power))
        elif positive.holds(engine.facts(base)):
            logs.append((engine.make(log, (base,)), power))
        else:
            return None
    return engine.total(logs, 0, [x])


@rewrites(log, ew.log1p, example=lambda x, y: log(exp(x) + exp(y)), more=[lambda x, y: log(2 * exp(x) + 3 * exp(y)),
          lambda x, y: ew.log1p(exp(x) + 2 * exp(y)), lambda a, x: log(exp(x) + a)], a=positive)  # fmt: skip
def log_add_exp(node: Node, engine: Engine) -> Node | None:
    """log(Σₖ wₖ·e^xₖ) = the logaddexp of the xₖ + log wₖ."""
    total = node.inputs[0]
    parts, shift = terms(total)
    if total.op is not SUM or (node.op is ew.log1p and len(parts) < 2 and parts[0][1] == 1 and not shift):
        return None
    shift = shift + 1 if node.op is ew.log1p else shift
    if shift < 0 or len(parts) + bool(shift) < 2 or any(w <= 0 for _, w in parts) or len(parts) > 64:
        return None
    if not any(base.op is exp for x, _ in parts for base, _ in factors(x)):
        return None
    logs: list[Node] = []
    for x, weight in parts:
        inner = logarithm_of_positive(engine, x, needs_exp=False)
        if inner is None:
            return None
        logs.append(engine.total([(inner, 1)], math.log(weight), [x]))
    while len(logs) > 1:
        pairs = [engine.make(ew.logaddexp, (logs[i], logs[i + 1])) for i in range(0, len(logs) - 1, 2)]
        logs = pairs + logs[len(pairs) * 2 :]
    if not shift:
        return logs[0]
    offset = math.log(shift)
    shifted = engine.total([(logs[0], 1)], -offset, [logs[0]])
    return engine.total([(engine.make(ew.softplus, (shifted,)), 1)], offset, [node])


@rewrites(log, example=lambda x: log(red.prod(x)), types={"x": VECTOR}, x=positive)
def log_of_prod(node: Node, engine: Engine) -> Node | None:
    """log Πᵢ xᵢ = Σᵢ log xᵢ where no xᵢ is negative."""
    inner = node.inputs[0]
    if inner.op is not red.prod or not nonnegative.holds(engine.facts(inner.inputs[0])):
        return None
    return engine.make(red.sum, (engine.make(log, inner.inputs),), inner.attrs)


@rewrites(red.prod, example=lambda x: red.prod(exp(x)), types={"x": VECTOR})
def prod_of_exp(node: Node, engine: Engine) -> Node | None:
    """Πᵢ e^xᵢ = e^Σᵢxᵢ."""
    x = node.inputs[0]
    return engine.make(exp, (engine.make(red.sum, x.inputs, node.attrs),)) if x.op is exp else None


@rewrites(red.logsumexp, example=lambda x, c: red.logsumexp(x + c), types={"x": VECTOR})
def logsumexp_of_shifted(node: Node, engine: Engine) -> Node | None:
    """logsumexp(x + c) = c + logsumexp(x)."""
    x = node.inputs[0]
    if x.op is not SUM:
        return None
    rank, axes = x.type.ndim, node.attrs["axis"]
    inside = [(part, w) for part, w in weighted(x) if varies(part, rank, axes)]
    apart = [(without_axes(engine, part, rank, node), w) for part, w in weighted(x) if not varies(part, rank, axes)]
    shift = x.attrs["shift"]
    if not inside or not (apart or shift):
        return None
    rest = engine.total(inside, 0, [part for part, _ in inside])
    if not engine.same_size(rest, x):
        rest = engine.spread(rest, [x])
    return engine.total([*apart, (engine.make(node.op, (rest,), node.attrs), 1)], shift, [node])


# --- softmax
@rewrites(log, example=lambda x: log(red.softmax(x)), types={"x": VECTOR}, one_of=[red.softmax])
def log_of_softmax(node: Node, engine: Engine) -> Node | None:
    """log softmax x is computed without the exponentials."""
    inner = node.inputs[0]
    return engine.make(red.log_softmax, inner.inputs, inner.attrs) if inner.op is red.softmax else None


@rewrites(exp, example=lambda x: exp(red.log_softmax(x)), types={"x": VECTOR}, one_of=[red.log_softmax])
def exp_of_log_softmax(node: Node, engine: Engine) -> Node | None:
    """exp(log_softmax x) = softmax x."""
    inner = node.inputs[0]
    return engine.make(red.softmax, inner.inputs, inner.attrs) if inner.op is red.log_softmax else None


@rewrites(red.softmax, red.log_softmax, example=lambda x: red.softmax(x, axis=1), types={"x": COLUMN},
          more=[lambda x: red.log_softmax(x, axis=1), lambda x: red.softmax(x, axis=(0, 1))])  # fmt: skip
def softmax_over_one(node: Node, engine: Engine) -> Node | None:
    """Along an axis of length one a softmax is one, and its logarithm zero."""
    x, axes = node.inputs[0], node.attrs["axis"]
    if x.type.dtype != node.type.dtype:
        return None
    rest = tuple(a for a in axes if x.type.shape[a] != 1)
    if rest:
        return None if rest == axes else engine.make(node.op, (x,), Attrs(axis=rest))
    return engine.total([(x, 0)], int(node.op is red.softmax), [x])


@rewrites(PRODUCT, example=lambda x: exp(x) / red.sum(exp(x), axis=1, keepdims=True), types={"x": GRID},
          more=[lambda x: exp(x) / red.sum(exp(x))], one_of=[red.sum, shaping.EXPAND_DIMS])  # fmt: skip
def softmax_of_quotient(node: Node, engine: Engine) -> Node | None:
    """e^x/Σe^x is softmax x, which does not overflow."""
    parts = weighted(node)
    for base, power in parts:
        below = _added_up(base) if power == -1 else None
        if below is None or below.op is not exp or (below, 1) not in [(x, p) for x, p in parts if x is below]:
            continue
        quotient = engine.make(red.softmax, below.inputs, Attrs(axis=_bare(base).attrs["axis"]))
        rest = [(x, p) for x, p in parts if x is not base and x is not below]
        return engine.product([(quotient, 1), *rest], [node])
    return None


def _bare(x: Node) -> Node:
    return x.inputs[0] if x.op is shaping.EXPAND_DIMS else x


def _added_up(x: Node) -> Node | None:
    """What a sum is of, if it can be divided by that: it is one number, or its axes are kept."""
    total = _bare(x)
    if total.op is not red.sum:
        return None
    fits = x.attrs["axis"] == total.attrs["axis"] if total is not x else not x.type.shape
    return total.inputs[0] if fits else None


@rewrites(red.sum, example=lambda x: red.sum(red.softmax(x)), types={"x": VECTOR}, x=finite)
def sum_of_softmax(node: Node, engine: Engine) -> Node | None:
    """The entries of a softmax add up to one."""
    x = node.inputs[0]
    if x.op is not red.softmax or x.attrs["axis"] != node.attrs["axis"] or not finite.holds(engine.facts(x)):
        return None
    kept = [i for i in range(x.type.ndim) if i not in node.attrs["axis"]]
    if any(x.type.shape[i] is None for i in kept):
        return None
    return engine.spread(number(1, x.type.dtype), [node])


log_sums = Book(
    "log_sums",
    log_sum_exp, log_add_exp, log_of_prod, prod_of_exp, logsumexp_of_shifted, softmax_over_one, log_of_softmax,
    exp_of_log_softmax, softmax_of_quotient, sum_of_softmax,
)  # fmt: skip
