"""Priors from what is known of their quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile import function
from ppl.tensor.tensor import TensorType, placeholder


def _with_slope(inputs: list[Any], output: Any) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """A function of a vector, with its gradient."""
    compiled = function(inputs, [output, *tt.grad(output, inputs)])

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, *slope = compiled(*map(float, point))
        return float(value), np.array(slope, dtype=float)

    return evaluate


def find_constrained_prior(
    distribution: Any,
    lower: float,
    upper: float,
    init_guess: Mapping[str, float],
    mass: float = 0.95,
    fixed_params: Mapping[str, float] | None = None,
    mass_below_lower: float | None = None,
    **options: Any,
) -> dict[str, float]:
    """Parameters for which a family puts `mass` between `lower` and `upper`.

    Of these the ones that come nearest to `mass_below_lower` below, without it to tails that are alike.

    `init_guess` names the parameters to find, `fixed_params` the others; options go to `scipy.optimize.minimize`.

    >>> found = pm.find_constrained_prior(pm.Normal, lower=-1.0, upper=1.0, init_guess={"mu": 0.1, "sigma": 0.7})
    >>> round(float(found["sigma"]), 2)
    0.51
    """
    from scipy.optimize import minimize

    if not 0.01 <= mass <= 0.99:
        raise ValueError(f"mass is between 0.01 and 0.99, got {mass}")
    if mass_below_lower is not None and not 0 <= mass_below_lower <= 1 - mass:
        raise ValueError(f"mass_below_lower is between 0 and 1 - mass, got {mass_below_lower}")
    if not distribution.logcdf:
        raise NotImplementedError(f"{distribution.__name__} declares no logcdf, which finding a prior needs")
    names = list(init_guess)
    inputs = [placeholder(TensorType("float64"), name) for name in names]
    parameters = distribution.resolve((), {**dict(zip(names, inputs, strict=True)), **(fixed_params or {})})
    below = [tt.exp(distribution.log_cdf(x, *parameters)) for x in (lower, upper)]
    wanted = (1 - mass) / 2 if mass_below_lower is None else mass_below_lower
    aim = _with_slope(inputs, (below[0] - wanted) ** 2)
    inside = _with_slope(inputs, below[1] - below[0] - mass)
    exactly = {"type": "eq", "fun": lambda point: inside(point)[0], "jac": lambda point: inside(point)[1]}
    start = np.array([init_guess[n] for n in names], dtype=float)
    found = minimize(aim, start, jac=True, constraints=[exactly], **{"tol": 1e-12, **options})
    reached = inside(found.x)[0]
    if not np.isfinite(reached) or abs(reached) > 1e-3:
        raise ValueError(
            f"no parameters of {distribution.__name__} put {mass:.0%} between {lower} and {upper}: the best found, "
            f"{dict(zip(names, map(float, found.x), strict=True))}, miss by {abs(reached):.3f}. "
            "Try another init_guess."
        )
    return {**dict(zip(names, map(float, found.x), strict=True)), **(fixed_params or {})}
