"""What a family answers at values: its facts, asked only inside the support and for valid parameters.

Elsewhere the answer is known: a density of 0, tails of 0 or 1, no quantile. Values outside are replaced by a point
inside before the fact is asked, so that gradients stay finite there.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.arguments import widened
from ppl.distributions.declaration.domains import Domain, a_distribution, real, real_matrix, real_vector
from ppl.distributions.formulas.quantile import Number, quantile
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

REALS = ("real", "a vector of reals", "a matrix of reals")  # the domains that hold all numbers


class Evaluated:
    """The part of a family that is asked for densities, tails and quantiles."""

    params: Any
    requirements: Any
    support_for: Any
    logp: Any
    logcdf: Any
    logccdf: Any
    icdf: Any

    @classmethod
    def log_density(cls, x: Any, *parameters: Any, checked: bool = True) -> Tensor:
        """log p(x), -inf outside the support, at infinity, and for parameters outside their domains; nan for nan.

        With `checked=False` both are taken as given, as for values that come out of a transform.
        """
        domain = cls.support_for(parameters)
        x = _as_value(x, domain)
        valid, outside = cls.in_domains(parameters), as_tensor(-np.inf)
        if checked:
            inside, outside = _inside(x, domain), _log_of_nothing(x, domain)
            safe = tt.switch(_over_event(inside, domain.ndim), x, cls.safe_point(parameters, domain, x))
            valid = inside if valid is None else inside & valid
            x = safe
        density = cls.stated_logp(x, *parameters)
        return density if valid is None else tt.switch(valid, density, outside)

    @classmethod
    def log_cdf(cls, x: Any, *parameters: Any) -> Tensor:
        """log P(X ≤ x): -inf below the support, 0 above it, -inf for parameters outside their domains."""
        return cls._log_tail(cls.stated_logcdf, x, parameters, (-np.inf, 0.0))

    @classmethod
    def log_ccdf(cls, x: Any, *parameters: Any) -> Tensor:
        """log P(X > x); from the distribution function where the family does not say it better."""
        if not cls.stated_logccdf and cls.stated_logcdf:
            return tt.log1mexp(tt.minimum(cls.log_cdf(x, *parameters), 0.0))  # rounded, it may be above
        return cls._log_tail(cls.stated_logccdf, x, parameters, (0.0, -np.inf))

    @classmethod
    def _log_tail(cls, fact: Any, x: Any, parameters: Any, ends: tuple[float, float]) -> Tensor:
        domain = cls.support_for(parameters)
        x = _as_value(x, domain)
        if domain.discrete:
            x = tt.floor(x)
        low, high = cls.number(parameters).limits
        below = x < low if domain.discrete or domain.atoms else x <= low
        below, above = below | tt.equal(x, -np.inf), x >= high
        point = cls.safe_point(parameters, domain, x)
        inner = fact(tt.switch(below | above, point, x), *parameters)
        value = tt.switch(below, ends[0], tt.switch(above, ends[1], inner))
        if not _surely_finite(x):
            value = tt.switch(tt.isnan(x), np.nan, value)
        valid = cls.in_domains(parameters)
        return value if valid is None else tt.switch(valid, value, -np.inf)

    @classmethod
    def inverse_cdf(cls, q: Any, *parameters: Any) -> Tensor:
        """The smallest x with P(X ≤ x) ≥ q; nan for q outside [0, 1] and for parameters outside their domains."""
        valid = cls.in_domains(parameters)
        value = quantile(cls.number(parameters), q)
        return value if valid is None else tt.switch(valid, value, np.nan)

    @classmethod
    def number(cls, parameters: Any) -> Number:
        """What quantiles are found from."""
        domain = cls.support_for(parameters)
        return Number(
            (lambda x: cls.log_cdf(x, *parameters)) if cls.stated_logcdf else None,
            (lambda x: cls.log_ccdf(x, *parameters)) if cls.stated_logcdf else None,
            (lambda q: cls.stated_icdf(q, *parameters)) if cls.stated_icdf else None,
            (domain.lower, domain.upper),
            domain.discrete,
        )

    @classmethod
    def has_quantile(cls, parameters: Any) -> bool:
        """Whether quantiles can be had: by a formula, or from the distribution function."""
        return bool(cls.stated_icdf) or (bool(cls.stated_logcdf) and cls.support_for(parameters).ndim == 0)

    @classmethod
    def safe_point(cls, parameters: Any, domain: Domain, x: Tensor) -> Tensor:
        """Some value inside the support, where the density is evaluated in place of a value outside."""
        return tt.stop_gradient(tt.cast(default_point(cls, parameters, domain), x.dtype))

    @classmethod
    def in_domains(cls, parameters: Any) -> Tensor | None:
        """Whether a density takes the parameters, as far as this is not known when the graph is built."""
        return cls._all_hold(parameters, lambda domain, value: domain.name in REALS or domain.evaluates(value))

    @classmethod
    def drawable(cls, *parameters: Any) -> Tensor | None:
        """Whether there is a law to draw from, as far as this is not known when the graph is built.

        Continuous families may also stand at the open end of a domain, where the draw is that of the limit: a normal
        one of `sigma` 0 is its mean; and a parameter that is nan makes their draws nan, unless it is a probability."""
        counts = cls.support_for(parameters).discrete

        def member(domain: Domain, value: Tensor) -> Any:
            if counts:
                return domain.contains(value) & (domain.name in REALS or _finite(value, domain))
            if domain.name in REALS or domain.ndim or domain.upper is not None:
                return domain.name in REALS or domain.closure_contains(value)
            return domain.closure_contains(value) | tt.isnan(value)

        return cls._all_hold(parameters, member)

    @classmethod
    def _all_hold(cls, parameters: Any, member: Callable[[Domain, Tensor], Any]) -> Tensor | None:
        """Whether each parameter is a member of its domain, and the conditions on several hold; None if surely."""
        pairs = [(p.domain, x) for p, x in zip(cls.params.values(), parameters, strict=False) if not is_constant(x)]
        found = [member(domain, value) for domain, value in pairs if domain is not a_distribution]
        conditions = [as_tensor(each) for each in found if each is not True]
        for each in cls.requirements:
            values = cls._named(parameters, each.takes)
            if not all(map(is_constant, values.values())):
                conditions.append(as_tensor(each.holds(**values)))
        return all_of(conditions)

    @classmethod
    def _named(cls, parameters: Any, names: tuple[str, ...]) -> dict[str, Any]:
        everything = dict(zip(cls.params, parameters, strict=False))
        return {name: everything[name] for name in names}


def all_of(conditions: Iterable[Tensor | None]) -> Tensor | None:
    """Whether all conditions hold, of which None surely does."""
    open_ = [each for each in conditions if each is not None]
    return functools.reduce(operator.and_, open_) if open_ else None


def _as_value(x: Any, domain: Domain) -> Tensor:
    """A value as a tensor, of floats where the support is continuous."""
    x = widened(as_tensor(x))
    return x if domain.discrete or x.dtype[0] in "fc" else tt.cast(x, "floatX")


def _finite(x: Tensor, domain: Domain) -> Tensor:
    return tt.all(tt.isfinite(x), axis=tuple(range(-domain.ndim, 0))) if domain.ndim else tt.isfinite(x)


def _surely_finite(x: Tensor) -> bool:
    return x.dtype[0] != "f" or (is_constant(x) and bool(np.isfinite(value_of(x)).all()))


def _inside(x: Tensor, domain: Domain) -> Tensor:
    """Which values lie in a support; what is infinite lies in none."""
    inside = as_tensor(domain.contains(x))
    if _surely_finite(x) or (domain.lower is not None and domain.upper is not None):
        return inside
    finite = _finite(x, domain)
    return finite if domain in (real, real_vector, real_matrix) else inside & finite


def _log_of_nothing(x: Tensor, domain: Domain) -> Tensor:
    """The log-density outside the support: -inf, and nan for nan."""
    if _surely_finite(x):
        return as_tensor(-np.inf)
    size = tt.abs(tt.stop_gradient(x))
    return -np.inf - (tt.sum(size, axis=tuple(range(-domain.ndim, 0))) if domain.ndim else size)


def _over_event(inside: Tensor, ndim: int) -> Tensor:
    return tt.expand_dims(inside, tuple(range(-ndim, 0))) if ndim else inside


def default_point(family: Any, parameters: Any, domain: Domain) -> Any:
    """A point inside the support: the declared support point, the mean, or the middle of the bounds."""
    if family.support_point:
        return family.support_point(*parameters)
    if family.mean and not domain.discrete:
        return family.mean(*parameters)
    if family.mean:
        return tt.clip(tt.floor(family.mean(*parameters)), domain.lower, domain.upper)
    if domain.lower is not None and domain.upper is not None:
        return (domain.lower + domain.upper) / 2
    if domain.lower is not None:
        return domain.lower + 1.0
    return as_tensor(domain.examples[0])
