"""Measures of maps to fewer values: censoring, rounding, comparison. What many numbers become has a probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.log_probability.measure import Measure, NoDensityError, measure, measures, shown
from ppl.distributions.log_probability.of_maps import Pair, the_random_operand, vars_of
from ppl.graph import Attrs, Node
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor


@measures("clip", "maximum", "minimum")
def clipped(node: Tensor) -> Measure:
    """Censoring: what lies beyond a bound is moved to it, so the bound has the probability of the tail."""
    at, _, law = the_random_operand(node)
    if node.op.name == "clip":
        if at:
            raise NoDensityError(f"No density for {shown(node)}: its bounds are random.")
        lower, upper = node.inputs[1:]
    else:
        bound = node.inputs[1 - at]
        lower, upper = (bound, None) if node.op.name == "maximum" else (None, bound)

    def logp(x: Any) -> Tensor:
        result = law.logp(x)
        outside: Any = False
        if lower is not None:
            result, outside = tt.switch(tt.equal(x, lower), law.below(lower), result), outside | (x < lower)
        if upper is not None:
            result, outside = tt.switch(tt.equal(x, upper), law.at_least(upper), result), outside | (x > upper)
        return tt.switch(outside, -np.inf, result)

    def tail(inner: Callable[[Any], Any], ends: Pair) -> Callable[[Any], Tensor]:
        def log_tail(x: Any) -> Tensor:
            result = inner(x)
            if lower is not None:
                result = tt.switch(x < lower, ends[0], result)
            return result if upper is None else tt.switch(x >= upper, ends[1], result)

        return log_tail

    def icdf(q: Any) -> Tensor:
        value = law.quantile(q)
        value = value if lower is None else tt.maximum(value, lower)
        return value if upper is None else tt.minimum(value, upper)

    if law.ndim:
        raise NoDensityError(f"No density for {shown(node)}: axes that belong together cannot be censored.")
    return Measure(
        node,
        logp,
        tail(law.below, (-np.inf, 0.0)),
        tail(law.above, (0.0, -np.inf)),
        icdf if law.has_quantile else None,
        discrete=law.discrete,
        independent=law.independent,
    )


@measures("floor", "ceil", "rint", "trunc")
def rounded(node: Tensor) -> Measure:
    """The probability of all values that are rounded to x."""
    _, _, law = the_random_operand(node)
    if law.discrete:
        return Measure(**{**vars_of(law), "node": node})
    if law.ndim:
        raise NoDensityError(f"No density for {shown(node)}: axes that belong together cannot be rounded.")
    if node.op.name == "trunc" and not law.positive:
        raise NoDensityError(f"No density for {shown(node)}: it rounds to zero from both sides. Use floor or round.")
    left, right = {"floor": (0.0, 1.0), "trunc": (0.0, 1.0), "ceil": (-1.0, 0.0), "rint": (-0.5, 0.5)}[node.op.name]
    return Measure(
        node,
        lambda x: tt.switch(tt.equal(x, tt.floor(x)), law.between(x + left, x + right), -np.inf),
        lambda x: law.below(tt.floor(x) + right),
        lambda x: law.above(tt.floor(x) + right),
        discrete=True,
        positive=law.positive,
        independent=law.independent,
    )


@measures("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
def compared(node: Tensor) -> Measure:
    """True with the probability of the half line."""
    at, _, law = the_random_operand(node)
    c = node.inputs[1 - at]
    name = node.op.name
    if at:
        turned = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
        name = turned.get(name, name)
    if name in ("equal", "not_equal"):
        if not law.discrete:
            raise NoDensityError(
                f"No density for {shown(node)}: a continuous number equals {shown(c)} with probability 0."
            )
        is_equal = law.logp(c)
        yes, no = (is_equal, tt.log1mexp(is_equal)) if name == "equal" else (tt.log1mexp(is_equal), is_equal)
        return truth(node, yes, no, law)
    yes, no = {
        "less": lambda: (law.strictly_below(c), law.at_least(c)),
        "less_equal": lambda: (law.below(c), law.above(c)),
        "greater": lambda: (law.above(c), law.below(c)),
        "greater_equal": lambda: (law.at_least(c), law.strictly_below(c)),
    }[name]()
    return truth(node, yes, no, law)


def truth(node: Tensor, yes: Any, no: Any, law: Measure) -> Measure:
    """True with log-probability `yes`, false with `no`."""
    if law.ndim:
        raise NoDensityError(f"No density for {shown(node)}: axes that belong together cannot be compared.")

    def logp(x: Any) -> Tensor:
        x = as_tensor(x)
        return tt.switch(tt.equal(x, 1), yes, tt.switch(tt.equal(x, 0), no, -np.inf))

    return Measure(
        node,
        logp,
        lambda x: tt.switch(as_tensor(x) < 0, -np.inf, tt.switch(as_tensor(x) < 1, no, 0.0)),
        discrete=True,
        positive=True,
        independent=law.independent,
    )


@measures("logical_not", "invert")
def negation(node: Tensor) -> Measure:
    """not y."""
    _, y, law = the_random_operand(node)
    if y.dtype != "bool":
        raise NoDensityError(f"No density for {shown(node)}: it is not of a truth value.")
    return truth(node, law.logp(0), law.logp(1), law)


@measures("cast", "named", "positive", "specify_shape")
def same(node: Tensor) -> Measure:
    """The same numbers; a cast of continuous numbers to integers drops digits and is a rounding to zero."""
    y: Tensor = node.inputs[0]  # type: ignore[assignment]
    law = measure(y)
    if node.op.name == "cast" and node.dtype[0] in "biu" and not law.discrete:
        if node.dtype == "bool":
            raise NoDensityError(f"No density for {shown(node)}: it is true with probability 1.")
        return rounded(Node(FUNCTIONS["trunc"], (y,), Attrs()))  # type: ignore[arg-type]
    return Measure(**{**vars_of(law), "node": node})
