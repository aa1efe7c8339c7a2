"""Densities of random expressions, by PyMC's names: laws of an expression come before its density."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ppl.distributions import is_draw
from ppl.distributions.log_probability import logprob
from ppl.distributions.log_probability.measure import NoDensityError, measure, sources
from ppl.graph import ancestors, topological
from ppl.rewrites import simplify
from ppl.rewrites.laws import in_law
from ppl.tensor.tensor import Tensor
from ppl.xtensor.densities import of_labelled


def _simplest(rv: Any) -> Any:
    """The expression by the law that is known for it; where this would join entries in one density that have one each,
    as running sums have, the expression as it is."""
    if not isinstance(rv, Tensor):
        return rv  # which is refused
    found = _in_law(rv)
    joins = isinstance(found, Tensor) and is_draw(found) and found is not rv and found.event_ndim > 0
    return rv if joins and _axes_joined(rv) < found.event_ndim else found


def _axes_joined(rv: Tensor) -> float:
    """How many of the last axes of a value have one density together; infinite where no rule tells."""
    try:
        return measure(rv).ndim
    except NoDensityError:
        return math.inf


def _in_law(rv: Any) -> Any:
    """The expression as one draw where a law says so: N(0, 1) + N(0, 1) has a density by no other rule. A draw used
    twice may be used once when terms are collected: x + 2x is 3x; a sum in a loop starts from 0 + x."""
    if not isinstance(rv, Tensor) or (is_draw(rv) and all(x is rv or x.name for x in sources(rv))):
        return rv
    found = in_law(rv)[0]
    uses = Counter(x for node in topological(found) for x in node.inputs if is_draw(x))
    if max(uses.values(), default=0) > 1:
        return in_law(simplify(rv))[0]
    if is_draw(found) or sum(map(is_draw, ancestors(found))) < 2:
        return found
    again = in_law(simplify(found))[0]
    return again if sum(map(is_draw, ancestors(again))) < sum(map(is_draw, ancestors(found))) else found


@of_labelled
def logp(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The log-density of a random expression at a value, or the logarithm of a probability for discrete ones.

    Parameters
    ----------
    rv : tensor
        A random variable, or an expression of some: a sum, a product, a maximum, an entry, ...
    value : tensor or array
        Where the density is asked for.
    warn_rvs : bool, default True
        Whether to warn where the result is random itself, since a parameter is a draw that no law is known for.

    Returns
    -------
    Tensor
        One number for each independent part; `.eval()` gives its value.

    Raises
    ------
    NotImplementedError
        Where no formula is known, saying which part and why.

    Examples
    --------
    >>> import ppl as pm
    >>> total = pm.Normal.dist(1, 3) + pm.Normal.dist(2, 4)
    >>> round(float(pm.logp(total, 3.0).eval()), 4)
    -2.5284
    """
    return logprob.logp(_simplest(rv), value, warn_rvs)


def conditional_logp(rv_values: Mapping[Any, Any], warn_rvs: bool = True) -> dict[Tensor, Tensor]:
    """The log-densities of several random expressions that may depend on each other, each given the values of the
    others.

    Parameters
    ----------
    rv_values : dict
        The value of each random variable or expression of some: a tensor, such as `pt.scalar()`, or a number.
    warn_rvs : bool, default True
        Whether to warn where the result is random itself, since a parameter is a draw without a value.

    Returns
    -------
    dict
        A log-density for each value; their sum is the joint log-density.

    Raises
    ------
    NotImplementedError
        Where no formula is known, saying which part and why.

    Examples
    --------
    >>> import ppl.tensor as pt
    >>> variance, v, y = pm.InverseGamma.dist(2, 1), pt.scalar("v"), pt.scalar("y")
    >>> terms = pm.conditional_logp({variance: v, pm.Normal.dist(0, pt.sqrt(variance)): y})
    >>> round(float(sum(terms.values()).eval({v: 0.5, y: 0.0})), 4)
    -0.4929
    """
    for rv in rv_values:
        if not isinstance(rv, Tensor):
            raise TypeError(f"conditional_logp: the keys are random variables or expressions of some, got {rv!r}.")
    random = {rv: sources(rv) for rv in rv_values}
    shared = {rv: any(random[rv] & random[other] for other in random if other is not rv) for rv in random}
    laws = {rv: rv if shared[rv] else _simplest(rv) for rv in rv_values}
    values = {rv: logprob.numbers(value, rv) for rv, value in rv_values.items()}
    if len(set(values.values())) < len(values):
        raise ValueError(
            "conditional_logp: two expressions have the same value, by which the terms are told apart. Give each a"
            " variable of its own, such as pt.scalar()."
        )
    factors = logprob.conditional_logp({laws[rv]: value for rv, value in values.items()}, warn_rvs)
    return {value: factors[laws[rv]] for rv, value in values.items()}


@of_labelled
def logcdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The logarithm of the distribution function of a random expression: log P(X ≤ value).

    Parameters
    ----------
    rv : tensor
        A random variable, or an expression of some: a sum, a product, a maximum, an entry, ...
    value : tensor or array
        The upper bound.
    warn_rvs : bool, default True
        Whether to warn where the result is random itself, since a parameter is a draw that no law is known for.

    Returns
    -------
    Tensor
        One number for each independent part; `.eval()` gives its value.

    Raises
    ------
    NotImplementedError
        Where no formula is known, saying which part and why.

    Examples
    --------
    >>> round(float(pm.logcdf(pm.Normal.dist(0, 1), 0.0).eval()), 4)
    -0.6931
    """
    return logprob.logcdf(_simplest(rv), value, warn_rvs)


@of_labelled
def logccdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The logarithm of the upper tail of a random expression: log P(X > value), with all digits far out.

    Parameters
    ----------
    rv : tensor
        A random variable, or an expression of some: a sum, a product, a maximum, an entry, ...
    value : tensor or array
        The lower bound.
    warn_rvs : bool, default True
        Whether to warn where the result is random itself, since a parameter is a draw that no law is known for.

    Returns
    -------
    Tensor
        One number for each independent part; `.eval()` gives its value.

    Raises
    ------
    NotImplementedError
        Where no formula is known, saying which part and why.

    Examples
    --------
    >>> round(float(pm.logccdf(pm.Normal.dist(0, 1), 10.0).eval()), 3)
    -53.231
    """
    return logprob.logccdf(_simplest(rv), value, warn_rvs)


@of_labelled
def icdf(rv: Any, value: Any, warn_rvs: bool = True) -> Tensor:
    """The quantile of a random expression: the smallest x with P(X ≤ x) ≥ value.

    Parameters
    ----------
    rv : tensor
        A random variable, or an expression of some: a sum, a product, a maximum, an entry, ...
    value : tensor or array
        A probability.
    warn_rvs : bool, default True
        Whether to warn where the result is random itself, since a parameter is a draw that no law is known for.

    Returns
    -------
    Tensor
        One number for each independent part; `.eval()` gives its value.

    Raises
    ------
    NotImplementedError
        Where no formula is known, saying which part and why.

    Examples
    --------
    >>> round(float(pm.icdf(pm.Normal.dist(0, 1), 0.975).eval()), 3)
    1.96
    """
    return logprob.icdf(_simplest(rv), value, warn_rvs)
