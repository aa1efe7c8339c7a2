r"""Measures of maps that take two numbers to one, as y² and |y| do, and of powers, some of which do.

Where y₁ and y₂ go to x, f(x) = f_Y(y₁) |dy₁/dx| + f_Y(y₂) |dy₂/dx|.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.law import INVERSES
from ppl.distributions.log_probability.measure import Measure, NoDensityError, measures, shown
from ppl.distributions.log_probability.of_maps import inverted, one_to_one, the_random_operand, vars_of
from ppl.graph import Node
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


def two_to_one(node: Tensor, law: Measure, roots: Callable[[Any], tuple[Any, Any, Any]], start: float) -> Measure:
    """A map that takes two values to one x ≥ start; `roots(x)` gives both, the lower first, and log |dy/dx|."""

    def logp(x: Any) -> Tensor:
        x = as_tensor(x)
        inside = x >= start
        lower, upper, slope = roots(tt.switch(inside, x, start + 1.0))
        if law.discrete:
            both = tt.logaddexp(law.logp(lower), law.logp(upper))
            return tt.switch(tt.equal(x, start), law.logp(upper), tt.switch(inside, both, -np.inf))
        both = law.logp(upper) if law.positive else tt.logaddexp(law.logp(lower), law.logp(upper))
        return tt.switch(inside & (both > -np.inf), both + slope, -np.inf)  # the slope may be infinite at the start

    def logcdf(x: Any) -> Tensor:
        x = as_tensor(x)
        lower, upper, _ = roots(tt.switch(x >= start, x, start + 1.0))
        inner = law.below(upper) if law.positive else law.between(law.before(lower), upper)
        return tt.switch(x >= start, inner, -np.inf)

    if law.ndim:
        raise NoDensityError(
            f"No density for {shown(node)}: it takes two values to one, along axes that belong together."
        )
    return Measure(
        node,
        logp,
        logcdf if law.logcdf is not None else None,
        discrete=law.discrete,
        positive=start >= 0,
        independent=law.independent,
    )


@measures("abs")
def absolute(node: Tensor) -> Measure:
    """|y|: from -x and x."""
    _, _, law = the_random_operand(node)
    return two_to_one(node, law, lambda x: (-x, x, 0.0), 0.0)


@measures("square")
def squared(node: Tensor) -> Measure:
    """y²: from -√x and √x."""
    _, _, law = the_random_operand(node)
    return two_to_one(node, law, lambda x: (-tt.sqrt(x), tt.sqrt(x), -np.log(2.0) - 0.5 * tt.log(x)), 0.0)


@measures("cosh")
def hyperbolic_cosine(node: Tensor) -> Measure:
    """cosh y: from -arccosh x and arccosh x."""
    _, _, law = the_random_operand(node)
    return two_to_one(node, law, lambda x: (-tt.arccosh(x), tt.arccosh(x), -0.5 * (tt.log(x - 1) + tt.log(x + 1))), 1.0)


@measures("power")
def power(node: Tensor) -> Measure:
    """y**c for a constant c: even whole c take y and -y to one value, odd ones keep the sign, others need y ≥ 0. And
    c**y."""
    at, y, law = the_random_operand(node)
    c = as_tensor(node.inputs[1 - at])
    if at:
        log_c = tt.log(c)
        inverse = lambda x: (tt.log(x) / log_c, -tt.log(x) - tt.log(tt.abs(log_c)))
        return one_to_one(node, y, law, inverse, c > 1, (0.0, np.inf))
    if not (is_constant(c) and value_of(c).size == 1):
        if not law.positive:
            raise NoDensityError(
                f"No density for {shown(node)}: the exponent must be a constant, or the base positive."
            )
        return one_to_one(node, y, law, lambda x: INVERSES["power"](x, c), c > 0, (0.0, np.inf))
    k = float(value_of(c).reshape(()))
    log_slope = lambda x: (1 / k - 1) * tt.log(x) - np.log(abs(k))
    if k == 0:
        raise NoDensityError(f"No density for {shown(node)}: it is always 1.")
    if law.positive or k != int(k):
        positive = lambda x: (x ** (1 / k), log_slope(x))
        result = one_to_one(node, y, law, positive, k > 0, (0.0, np.inf))
        partly = {} if law.positive else {"logcdf": None, "logccdf": None, "icdf": None}
        return Measure(**{**vars_of(result), **partly})
    if k % 2 == 0 and k > 0:
        return two_to_one(node, law, lambda x: (-(x ** (1 / k)), x ** (1 / k), log_slope(x)), 0.0)
    if k > 0:
        odd = lambda x: (tt.sign(x) * tt.abs(x) ** (1 / k), log_slope(tt.abs(x)))
        return one_to_one(node, y, law, odd, True)
    flipped = Node(node.op, (y, as_tensor(np.float64(-k))), node.attrs)
    result = inverted(node, flipped, power(flipped), as_tensor(1.0))  # type: ignore[arg-type]
    return Measure(**{**vars_of(result), "icdf": None})
