r"""Densities of random expressions: `logp`, `logcdf`, `logccdf`, `icdf`, and several together by `conditional_logp`.

>>> import numpy as np
>>> from ppl.distributions import Normal
>>> float(logp(2 * Normal.dist(0.0, 1.0) + 1, np.float64(3.0)).eval())
-2.112085713764618

The rules are in `measures_of_maps` and `measures_of_arrays`. What follows from no rule raises `NoDensityError`;
nothing is ever scored as independent that is not."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ppl.distributions import measures_of_arrays as measures_of_arrays  # the rules: importing fills the table
from ppl.distributions import measures_of_maps as measures_of_maps
from ppl.distributions.draw import is_draw
from ppl.distributions.joint import joint_factors
from ppl.distributions.measure import Measure, measure, shown, sources
from ppl.graph import Node
from ppl.tensor.tensor import FUNCTIONS, Tensor, as_tensor

cast = FUNCTIONS["cast"]


def logp(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The log-density of a random expression at a value, one number for each independent part."""
    law = the_law(rv)
    return _warned(law.logp(as_value(value, rv)), rv, value, warn_rvs)


def logcdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """log P(X ≤ value)."""
    law = the_law(rv)
    return _warned(law.below(as_value(value, rv)), rv, value, warn_rvs)


def logccdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """log P(X > value)."""
    law = the_law(rv)
    return _warned(law.above(as_value(value, rv)), rv, value, warn_rvs)


def icdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The quantile: the smallest x with P(X ≤ x) ≥ value."""
    law = the_law(rv)
    return _warned(law.quantile(as_tensor(value)), rv, value, warn_rvs)


def the_law(rv: Any) -> Measure:
    """The measure of an expression that must be random."""
    if not isinstance(rv, Tensor):
        raise TypeError(
            f"a random expression is a tensor that depends on draws, got {rv!r} of type {type(rv).__name__}"
        )
    if not sources(rv):
        raise TypeError(f"{rv!r} depends on no draw: it has no density. Make a draw by a family's .dist().")
    return measure(rv)


def as_value(value: Any, rv: Tensor) -> Tensor:
    """A value of an expression; whole numbers count as floats where the expression is of floats."""
    x = as_tensor(value)
    return cast(x, rv.dtype) if rv.dtype[0] == "f" and x.dtype[0] in "biu" else x


def _warned(result: Tensor, rv: Tensor, value: Any, warn_rvs: bool) -> Tensor:
    """Warn of draws left in the result, unless the value brought them; a plain draw's parameters are its own
    business."""
    if warn_rvs and not is_draw(rv):
        given = sources(value) if isinstance(value, Node) else set()
        left = sources(result) - given
        if left:
            names = ", ".join(sorted(shown(each) for each in left))
            warnings.warn(
                f"Random variables ({names}) were found in the derived graph of {shown(rv)}: the result is itself "
                "random. "
                "Give them values first, or pass warn_rvs=False.",
                UserWarning,
                stacklevel=3,
            )
    return result


# --- several at once
def conditional_logp(rvs_to_values: Mapping[Tensor, Any], warn_rvs: bool = True) -> dict[Tensor, Tensor]:
    """The factors of the joint log-density of several random expressions with values, which may depend on each other:
    the sum of all of them is the joint log-density."""
    pairs = [(rv, as_value(value, rv)) for rv, value in rvs_to_values.items()]
    factors = joint_factors(pairs, None)
    if warn_rvs:
        for (rv, value), factor in zip(pairs, factors, strict=True):
            _warned_joint(factor, rv, value)
    return {rv: factor for (rv, _), factor in zip(pairs, factors, strict=True)}


def _warned_joint(factor: Tensor, rv: Tensor, value: Tensor) -> None:
    left = sources(factor) - sources(value)
    if left:
        names = ", ".join(sorted(shown(each) for each in left))
        warnings.warn(
            f"Random variables ({names}) have no value, so the density of {shown(rv)} is itself random. Give them "
            "values.",
            UserWarning,
            stacklevel=4,
        )
