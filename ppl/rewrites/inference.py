"""How facts flow through operations."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ppl.graph import Node, Op
from ppl.rewrites.facts import (
    ANYTHING,
    ASSUME,
    INF,
    INFERENCES,
    Condition,
    Fact,
    above_minus_one,
    declare_facts,
    negative,
    nonnegative,
    nonzero,
    positive,
)
from ppl.rewrites.normal import PRODUCT, SUM, is_whole
from ppl.tensor import elementwise as ew
from ppl.tensor import indexing, names, reductions, shaping
from ppl.tensor.ops import CAST, OPS, Elementwise
from ppl.tensor.special_functions import erfc
from ppl.tensor.tensor import CONSTANT, is_constant, value_of

_LARGEST_SCANNED = 1_000_000
_EVERYWHERE: Condition = Condition("anything", ANYTHING, lambda f: True)


# --- monotone and bounded functions: the ends of the interval follow by applying the function
def _monotone(function: Callable[[float], float], domain: Condition = _EVERYWHERE, range: Fact = ANYTHING) -> None:
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

    declare_facts(OPS[_name(function)], infer)


def _name(function: Callable[[float], float]) -> str:
    return function.__name__


def exp(x: float) -> float:
    return float(np.exp(x))


def expm1(x: float) -> float:
    return float(np.expm1(x))


def log(x: float) -> float:
    return float(np.log(x))


def log1p(x: float) -> float:
    return float(np.log1p(x))


def tanh(x: float) -> float:
    return float(np.tanh(x))


def arctan(x: float) -> float:
    return float(np.arctan(x))


def sinh(x: float) -> float:
    return float(np.sinh(x))


def arcsinh(x: float) -> float:
    return float(np.arcsinh(x))


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def softplus(x: float) -> float:
    return float(np.logaddexp(0, x))


def log_sigmoid(x: float) -> float:
    return -float(np.logaddexp(0, -x))


def erf(x: float) -> float:
    return math.erf(x)


def ndtr(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


_OPEN_UNIT = Fact(0.0, 1.0, above=True, below=True)
_monotone(exp, range=Fact(low=0.0, above=True))
_monotone(expm1, range=Fact(low=-1.0, above=True))
_monotone(log, positive)
_monotone(log1p, above_minus_one)
_monotone(tanh, range=Fact(-1.0, 1.0, above=True, below=True))
_monotone(arctan)
_monotone(sinh)
_monotone(arcsinh)
_monotone(sigmoid, range=_OPEN_UNIT)
_monotone(softplus, range=Fact(low=0.0, above=True))
_monotone(log_sigmoid, range=Fact(high=0.0, below=True))
_monotone(erf, range=Fact(-1.0, 1.0, above=True, below=True))
_monotone(ndtr, range=_OPEN_UNIT)

# --- functions with a declared range, finite where their argument is in a domain
_FINITE_ON: dict[str, Condition] = {
    **dict.fromkeys(
        ["sin", "cos", "cosh", "erfc", "log_ndtr", "sign", "cbrt", "sinc", "i0e", "i1e"],
        _EVERYWHERE,
    ),
    "gammaln": positive, "digamma": positive, "gamma": positive, "log2": positive, "log10": positive,
    "log1mexp": negative, "rsqrt": positive, "sqrt": nonnegative, "entr": nonnegative,
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


# --- arithmetic
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
        if x.high <= 0:
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


# --- choices
def _of_maximum(node: Node, facts: list[Fact]) -> Fact:
    x, y = facts
    low, above = max((x.low, x.above), (y.low, y.above))
    high, closed = max((x.high, not x.below), (y.high, not y.below))
    return Fact(low, high, above, not closed, x.finite and y.finite, x.integer and y.integer)


def _of_minimum(node: Node, facts: list[Fact]) -> Fact:
    return _scaled(_of_maximum(node, [_scaled(f, -1) for f in facts]), -1)


declare_facts(ew.maximum, _of_maximum)
declare_facts(ew.minimum, _of_minimum)
declare_facts(ew.switch, lambda node, facts: facts[1].join(facts[2]))
declare_facts(ew.clip, lambda node, facts: _of_minimum(node, [_of_maximum(node, facts[:2]), facts[2]]))


# --- what moves entries about without changing them
_ELEMENTWISE_MARKS = frozenset(["nonzero"])


def _entries(fact: Fact) -> Fact:
    return fact.but(marks=fact.marks & _ELEMENTWISE_MARKS)


def _moved(node: Node, facts: list[Fact]) -> Fact:
    return _entries(facts[0])


_MOVING: list[Op] = [shaping.RESHAPE, shaping.EXPAND_DIMS, shaping.SQUEEZE, shaping.BROADCAST_TO]
for _op in [*_MOVING, reductions.max, reductions.min]:
    declare_facts(_op, _moved)


def _mean(node: Node, facts: list[Fact]) -> Fact:
    """An average lies where the entries do; it may be zero, and no whole number, where none of them is."""
    x = facts[0]
    return Fact(x.low, x.high, x.above, x.below, finite=x.finite and 0 not in node.inputs[0].type.shape)


declare_facts(reductions.mean, _mean)

for _op in (names.NAMED, ASSUME, shaping.specify_shape, OPS["stop_gradient"]):
    declare_facts(_op, lambda node, facts: facts[0])

declare_facts(ASSUME, lambda node, facts: facts[0].meet(node.attrs["fact"]))

_TURNED = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}


def _transposed(node: Node, facts: list[Fact]) -> Fact:
    axes = node.attrs["axes"]
    rank = len(axes)
    if axes == (*range(rank - 2), rank - 1, rank - 2):
        return facts[0].but(marks=frozenset(_TURNED.get(mark, mark) for mark in facts[0].marks))
    return _entries(facts[0])


declare_facts(shaping.TRANSPOSE, _transposed)


def _taken(node: Node, facts: list[Fact]) -> Fact:
    inside = all(is_constant(index) for index in node.inputs[1:])  # others may be out of range, which reads nan
    return _entries(facts[0]).but(finite=facts[0].finite and inside)


declare_facts(indexing.GETITEM, _taken)


def _joined(node: Node, facts: list[Fact]) -> Fact:
    total = facts[0]
    for fact in facts[1:]:
        total = total.join(fact)
    return _entries(total)


declare_facts(shaping.CONCATENATE, _joined)


def _cast(node: Node, facts: list[Fact]) -> Fact:
    target = node.attrs["dtype"]
    if target[0] == "f":
        return facts[0]
    if target[0] == "i" and node.inputs[0].type.dtype[0] in "bi":
        same = np.dtype(target).itemsize >= np.dtype(node.inputs[0].type.dtype).itemsize
        return facts[0] if same else ANYTHING
    return ANYTHING


declare_facts(CAST, _cast)


# --- reductions
def _summed(node: Node, facts: list[Fact]) -> Fact:
    x = facts[0]
    shape = node.inputs[0].type.shape
    some = all(shape[axis] not in (0, None) for axis in node.attrs["axis"])
    low = 0.0 if x.low >= 0 else -INF
    high = 0.0 if x.high <= 0 else INF
    return Fact(
        low,
        high,
        above=some and positive.holds(x),
        below=some and negative.holds(x),
        finite=x.finite,
        integer=x.integer,
    )


declare_facts(reductions.sum, _summed)


def _multiplied(node: Node, facts: list[Fact]) -> Fact:
    x = facts[0]
    return Fact(0.0, INF, above=positive.holds(x), finite=x.finite) if x.low >= 0 else Fact(finite=x.finite)


declare_facts(reductions.prod, _multiplied)
declare_facts(reductions.logsumexp, lambda node, facts: Fact(finite=facts[0].finite))
declare_facts(
    reductions.softmax,
    lambda node, facts: _OPEN_UNIT.but(
        finite=facts[0].finite,
        below=False,
        marks=frozenset(["simplex"]) if node.attrs["axis"] == (node.type.ndim - 1,) else frozenset(),
    ),
)
declare_facts(reductions.log_softmax, lambda node, facts: Fact(high=0.0, finite=facts[0].finite))
declare_facts(shaping.DIM, lambda node, facts: Fact(low=0.0, finite=True, integer=True))


# --- leaves


def _constant(node: Node, facts: list[Fact]) -> Fact:
    array = value_of(node)
    if array.dtype.kind not in "biuf" or array.size == 0 or array.size > _LARGEST_SCANNED:
        return ANYTHING
    values = array.astype(np.float64)
    if np.isnan(values).any():
        values = values[~np.isnan(values)]
        if not values.size:
            return ANYTHING
        return Fact(float(values.min()), float(values.max()))
    finite = bool(np.isfinite(values).all())
    marks = frozenset(["nonzero"]) if (values != 0).all() else frozenset[str]()
    return Fact(
        float(values.min()),
        float(values.max()),
        finite=finite,
        integer=finite and bool((values == np.round(values)).all()),
        marks=marks,
    )


declare_facts(CONSTANT, _constant)

__all__ = ["INFERENCES"]
