r"""Measures of numbers computed entry by entry from one random number, by maps that have an inverse.

Where y ↦ x is one to one, with y(x) its inverse, log f(x) = log f_Y(y) + log |dy/dx|.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.law import INVERSES
from ppl.distributions.draws.draw import RandomVariable
from ppl.distributions.families.normal import Normal
from ppl.distributions.formulas.bounds import log_difference
from ppl.distributions.log_probability.measure import (
    Function,
    Measure,
    NoDensityError,
    measure,
    measures,
    only_random_input,
    require_same_shape,
    shown,
    sources,
)
from ppl.graph import substitute
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import FUNCTIONS, Tensor, TensorType, as_tensor, is_constant, placeholder, value_of

Pair = tuple[Any, Any]


def the_random_operand(node: Tensor) -> tuple[int, Tensor, Measure]:
    """Position, operand and measure of the one random operand, which the operation must not repeat."""
    at = only_random_input(node)
    y: Tensor = node.inputs[at]  # type: ignore[assignment]
    require_same_shape(node, y)
    return at, y, measure(y)


def one_to_one(
    node: Tensor,
    y: Tensor,
    law: Measure,
    inverse: Callable[[Any], Pair],
    increasing: Any,
    values: tuple[float, float] = (-np.inf, np.inf),
) -> Measure:
    """The measure of a map with an inverse; `inverse(x)` gives y and log |dy/dx|, `increasing` may be a symbol, and the
    results of the map lie between `values`."""
    low, high = values
    forward = lambda v: substitute(node, {y: tt.cast(v, y.dtype)})

    def inside(x: Any) -> Any:
        return (x >= low) & (x <= high) if law.discrete else (x > low) & (x < high)

    def back(x: Any) -> Pair:
        middle = low + 1.0 if np.isinf(high) else (low + high) / 2
        x = tt.switch(inside(x), x, middle) if np.isfinite(low) or np.isfinite(high) else x
        point, slope = inverse(x)
        return (tt.round(point), 0.0) if law.discrete else (point, slope)

    def logp(x: Any) -> Tensor:
        x = as_tensor(x)
        point, slope = back(x)
        slope = total(slope, x, law.ndim)
        result = law.logp(point) + slope
        if law.discrete:
            hit = tt.isclose(forward(point), x, 1e-9, 1e-12) & tt.isfinite(point)
            return tt.switch(over_event(hit, law.ndim), result, -np.inf)
        if np.isinf(low) and np.isinf(high):
            return result
        return tt.switch(over_event(inside(x), law.ndim), result, -np.inf)

    def tail(same: Function | None, other: Function | None, ends: Pair) -> Function | None:
        if same is None or other is None:
            return None

        def log_tail(x: Any) -> Tensor:
            x = as_tensor(x)
            point, _ = inverse(tt.switch(inside(x), x, low + 1.0 if np.isinf(high) else (low + high) / 2))
            point = snapped(point) if law.discrete else point
            value = chosen(increasing, lambda: same(point), lambda: other(point))
            return tt.switch(x < low if law.discrete else x <= low, ends[0], tt.switch(x >= high, ends[1], value))

        return log_tail

    known = law.logcdf is not None
    return Measure(
        node,
        logp,
        tail(law.logcdf, law.at_least if known else None, (-np.inf, 0.0)),
        tail(law.above if known else None, law.strictly_below if known else None, (0.0, -np.inf)),
        (lambda q: chosen(increasing, lambda: forward(law.quantile(q)), lambda: forward(law.upper_quantile(q))))
        if law.has_quantile
        else None,
        ndim=law.ndim,
        discrete=law.discrete,
        positive=low >= 0,
        independent=law.independent,
    )


def snapped(x: Any) -> Any:
    """Numbers that are whole but for rounding, made whole."""
    return tt.switch(tt.isclose(x, tt.round(x), 1e-9, 1e-12), tt.round(x), x)


def chosen(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """One of two expressions: now, if the condition is known, else entry by entry."""
    if isinstance(condition, Tensor) and is_constant(condition) and value_of(condition).ndim == 0:
        condition = bool(value_of(condition))
    if isinstance(condition, bool | np.bool_):
        return then() if condition else otherwise()
    return tt.switch(condition, then(), otherwise())


def total(slope: Any, x: Tensor, ndim: int) -> Any:
    """The sum of log slopes over the axes of one value."""
    return tt.sum(slope + 0.0 * x, axis=tuple(range(-ndim, 0))) if ndim else slope


def over_event(inside: Any, ndim: int) -> Any:
    return tt.all(inside, axis=tuple(range(-ndim, 0))) if ndim else inside


def by_differentiation(inverse: Callable[[Any], Any], x: Tensor) -> Pair:
    """The inverse at x and the logarithm of its slope."""
    point = placeholder(TensorType(tt.config.floatX, x.type.shape))
    y = inverse(point)
    slope = tt.log(tt.abs(tt.gradients(tt.sum(y), [point])[0]))
    x = tt.cast(x, "floatX")
    return substitute(y, {point: x}), substitute(slope, {point: x})


# values of operations that have an inverse only there, or that declare no range
RANGES = {
    "arcsin": (-np.pi / 2, np.pi / 2),
    "arctan": (-np.pi / 2, np.pi / 2),
    "arccos": (0.0, np.pi),
    "arccosh": (0.0, np.inf),
}


def monotone(node: Tensor) -> Measure:
    """An operation with one input that declares its inverse and its direction."""
    _, y, law = the_random_operand(node)
    facts = node.op.facts  # type: ignore[attr-defined]
    inverse, values = FUNCTIONS[facts.inverse], RANGES.get(node.op.name) or facts.range or (-np.inf, np.inf)

    def pair(x: Any) -> Pair:
        known = INVERSES.get(node.op.name)
        return known(x, None) if known else by_differentiation(inverse, as_tensor(x))

    return one_to_one(node, y, law, pair, facts.monotone == "increasing", values)


measures(
    *[
        op.name
        for op in {id(f): f for f in FUNCTIONS.values() if isinstance(f, Elementwise)}.values()
        if op.facts.inverse and op.facts.monotone and op.facts.inverse in FUNCTIONS
    ]
)(monotone)


@measures("log2", "log10", "exp2", "softplus", "cbrt")
def other_monotone(node: Tensor) -> Measure:
    """Monotone operations whose inverse is a formula."""
    inverses: dict[str, Callable[[Any], Pair]] = {
        "log2": lambda x: (tt.exp(x * np.log(2.0)), x * np.log(2.0) + np.log(np.log(2.0))),
        "log10": lambda x: (tt.exp(x * np.log(10.0)), x * np.log(10.0) + np.log(np.log(10.0))),
        "exp2": lambda x: (tt.log2(x), -tt.log(x) - np.log(np.log(2.0))),
        "softplus": lambda x: (x + tt.log(-tt.expm1(-x)), -tt.log(-tt.expm1(-x))),
        "cbrt": lambda x: (x**3, np.log(3.0) + 2 * tt.log(tt.abs(x))),
    }
    _, y, law = the_random_operand(node)
    low = 0.0 if node.op.name in ("exp2", "softplus") else -np.inf
    return one_to_one(node, y, law, inverses[node.op.name], True, (low, np.inf))


@measures("log1mexp")
def log_of_the_complement(node: Tensor) -> Measure:
    """log(1 - exp(y)) of a negative y, which is its own inverse."""
    _, y, law = the_random_operand(node)
    return one_to_one(node, y, law, lambda x: (tt.log1mexp(x), x - tt.log1mexp(x)), False, (-np.inf, 0.0))


@measures("add", "subtract")
def shifted(node: Tensor) -> Measure:
    """y + c, y - c, c - y."""
    at, y, law = the_random_operand(node)
    c = node.inputs[1 - at]
    inverse = INVERSES[node.op.name + (" of" if at else "")]
    return one_to_one(node, y, law, lambda x: inverse(x, c), not (at and node.op.name == "subtract"))


def _product_of_normals(node: Tensor) -> Measure | None:
    """x y of independent normal numbers around 0 has the density K₀(|z|/(σ₁σ₂))/(πσ₁σ₂)."""
    x, y = node.inputs
    centered = [isinstance(each, RandomVariable) and each.family is Normal and _is_zero(each.parameters[0])
               for each in (x, y)]  # fmt: skip
    if node.op.name != "multiply" or not all(centered) or sources(x) & sources(y):
        return None
    if x.type.shape != y.type.shape:
        return None  # a number that is repeated is one number
    scale = as_tensor(x.parameters[1]) * as_tensor(y.parameters[1])  # type: ignore[attr-defined]
    reduced = lambda z: tt.abs(as_tensor(z)) / scale
    return Measure(node, lambda z: tt.log_kve(0.0, reduced(z)) - reduced(z) - tt.log(np.pi * scale))


def _is_zero(x: Any) -> bool:
    return is_constant(as_tensor(x)) and not np.any(value_of(as_tensor(x)))


@measures("multiply", "true_divide")
def scaled(node: Tensor) -> Measure:
    """c y and y/c; c/y turns the two half lines round."""
    product = _product_of_normals(node)
    if product is not None:
        return product
    at, y, law = the_random_operand(node)
    c = as_tensor(node.inputs[1 - at])
    if is_constant(c) and not np.all(value_of(c)):
        raise NoDensityError(f"No density for {shown(node)}: a factor is 0, so it is always 0. Use DiracDelta.dist(0).")
    if at and node.op.name == "true_divide":
        return inverted(node, y, law, c)
    inverse = INVERSES[node.op.name]
    result = one_to_one(node, y, law, lambda x: inverse(x, c), c > 0)
    positive = law.positive and is_constant(c) and bool(np.all(value_of(c) > 0))
    return Measure(**{**vars_of(result), "positive": positive})


@measures("reciprocal")
def reciprocal(node: Tensor) -> Measure:
    """1/y."""
    _, y, law = the_random_operand(node)
    return inverted(node, y, law, as_tensor(1.0))


def inverted(node: Tensor, y: Tensor, law: Measure, c: Tensor) -> Measure:
    """c/y: decreasing for c > 0 and y > 0; else each half line goes to itself or to the other."""
    inverse = lambda x: INVERSES["true_divide of"](tt.switch(tt.equal(x, 0), 1.0, x), c)
    result = one_to_one(node, y, law, inverse, False, (0.0, np.inf) if law.positive else (-np.inf, np.inf))
    if law.positive and is_constant(c) and bool(np.all(value_of(c) > 0)):
        return result

    def logp(x: Any) -> Tensor:
        return tt.switch(tt.equal(x, 0), -np.inf, result.logp(x))

    def logcdf(x: Any) -> Tensor:
        """P(c/Y ≤ x) for c > 0: all y < 0, and y ≥ c/x for x > 0; only c/x ≤ y < 0 for x < 0."""
        x = as_tensor(x)
        bound = c / tt.switch(tt.equal(x, 0), 1.0, x)
        negative = law.strictly_below(0.0)
        right = tt.logaddexp(negative, law.at_least(bound))
        left = log_difference(negative, law.strictly_below(bound))
        return tt.switch(x > 0, right, tt.switch(x < 0, left, negative))

    known = law.logcdf is not None and is_constant(c) and bool(np.all(value_of(c) > 0))
    fields = {"logp": logp, "logcdf": logcdf if known else None, "logccdf": None, "icdf": None, "positive": False}
    return Measure(**{**vars_of(result), **fields})


def vars_of(law: Measure) -> dict[str, Any]:
    """The fields of a measure, to be given to another."""
    return {name: getattr(law, name) for name in law.__dataclass_fields__}
