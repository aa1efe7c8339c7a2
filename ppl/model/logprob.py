"""Densities of random expressions, by PyMC's names: laws of an expression come before its density."""

from __future__ import annotations

from typing import Any

from ppl.distributions import logprob
from ppl.rewrites.laws import in_law
from ppl.tensor.tensor import Tensor


def _simplest(rv: Any) -> Any:
    """The expression as one draw where a law says so: N(0, 1) + N(0, 1) has a density by no other rule."""
    return in_law(rv)[0] if isinstance(rv, Tensor) else rv


def logp(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The log-density of a random expression at a value, one number for each independent part.

    >>> import ppl as pm
    >>> total = pm.Normal.dist(1, 3) + pm.Normal.dist(2, 4)
    >>> round(float(pm.logp(total, 3.0).eval()), 4)
    -2.5284
    """
    return logprob.logp(_simplest(rv), value, warn_rvs)


def logcdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """log P(X ≤ value)."""
    return logprob.logcdf(_simplest(rv), value, warn_rvs)


def logccdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """log P(X > value)."""
    return logprob.logccdf(_simplest(rv), value, warn_rvs)


def icdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The quantile: the smallest x with P(X ≤ x) ≥ value."""
    return logprob.icdf(_simplest(rv), value, warn_rvs)
