"""Counts with more zeros, or with other zeros, than a law has; and positive numbers with zeros among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.distributions.declaration.domains import Domain
from ppl.distributions.draws.draw import draw
from ppl.distributions.draws.operation import InPyTensor, RandomOperation
from ppl.distributions.families.dirac_delta import DiracDelta
from ppl.distributions.families.mixture import Mixture
from ppl.distributions.families.truncated import Truncated, sample_between
from ppl.distributions.formulas.probability import complement, log_complement_for, log_for, log_mixed, log_of
from ppl.tensor import cast, equal, expm1, log1mexp, minimum, ones_like, stack, switch
from ppl.tensor.tensor import as_tensor


class HurdleOperation(RandomOperation):
    """PyTensor's operation of all hurdles."""

    symbolic = True


HurdleOperation.__name__ = "_HurdleRV"

zero_or_positive = Domain("zero or positive", lambda x: x >= 0, lower=0.0, atoms=(0.0,), examples=(0.0, 0.4, 2.0))


def zero_inflated(family: Any, inside: Callable[..., Any] | None = None) -> tuple[Callable[..., Any], ...]:
    """logp, logcdf, logccdf, sample, mean, variance, support_point of: a draw with probability ψ, else zero.

    Of a family that may have no zeros, `inside` gives the log-density, without a slope where that is infinite, and the
    chance of zero, which has one."""

    def logp(x, psi, *parameters):
        inner, chance = inside(x, *parameters) if inside else (family.log_density(x, *parameters), None)
        return switch(equal(x, 0), log_mixed(psi, inner, chance), log_for(x, psi) + inner)

    def logcdf(x, psi, *parameters):
        chance = -expm1(family.log_ccdf(x, *parameters)) if inside else None
        return log_mixed(psi, family.log_cdf(x, *parameters), chance)

    def logccdf(x, psi, *parameters):
        return log_of(psi) + family.log_ccdf(x, *parameters)

    def sample(key, shape, psi, *parameters):
        return switch(key.uniform(shape) < psi, family.sample(key, shape, *parameters), 0)

    def mean(psi, *parameters):
        return psi * family.mean(*parameters)

    def variance(psi, *parameters):
        return psi * (family.variance(*parameters) + complement(psi) * family.mean(*parameters) ** 2)

    def support_point(psi, *parameters):
        return cast(psi * family.mean(*parameters), "int64")

    return logp, logcdf, logccdf, sample, mean, variance, support_point


def hurdle(family: Any) -> tuple[Callable[..., Any], ...]:
    """logp, logcdf, logccdf, sample, mean, variance, support_point of: with probability ψ a draw given that it is not
    zero, else zero. A continuous family has no zeros to begin with."""

    def log_zero(parameters):
        """The log-probability of zero under the family; None where it has none."""
        domain = family.support_for(parameters)
        return family.log_density(0, *parameters) if domain.discrete else None

    def given_positive(value, parameters):
        zero = log_zero(parameters)
        return value if zero is None else value - log1mexp(zero)

    def logp(x, psi, *parameters):
        none = equal(x, 0)
        drawn = family.log_density(switch(none, ones_like(x), x), *parameters)
        return switch(none, log_complement_for(none, psi), log_for(x, psi) + given_positive(drawn, parameters))

    def logcdf(x, psi, *parameters):
        none, zero = x <= 0, log_zero(parameters)
        below = family.log_cdf(switch(none, ones_like(x), x), *parameters)
        if zero is not None:
            below = below + log1mexp(minimum(zero - below, -1e-300)) - log1mexp(zero)
        at_zero = switch(x < 0, -np.inf, log_complement_for(none, psi))
        return switch(none, at_zero, log_mixed(psi, below))

    def logccdf(x, psi, *parameters):
        none = x <= 0
        above = given_positive(family.log_ccdf(switch(none, ones_like(x), x), *parameters), parameters)
        return log_of(psi) + switch(none, 0.0, above)

    def sample(key, shape, psi, *parameters):
        chosen = key.uniform(shape) < psi
        if log_zero(parameters) is None:
            return switch(chosen, family.sample(key, shape, *parameters), 0.0)
        return switch(chosen, sample_between(key, shape, draw(family, parameters), lower=1), 0)

    def mean(psi, *parameters):
        zero = log_zero(parameters)
        inner = family.mean(*parameters)
        return psi * (inner if zero is None else inner / -expm1(zero))

    def variance(psi, *parameters):
        zero = log_zero(parameters)
        square = family.variance(*parameters) + family.mean(*parameters) ** 2
        square = square if zero is None else square / -expm1(zero)
        return psi * square - mean(psi, *parameters) ** 2

    def support_point(psi, *parameters):
        point = mean(psi, *parameters)
        return cast(point, "int64") if log_zero(parameters) is not None else as_tensor(point)

    return logp, logcdf, logccdf, sample, mean, variance, support_point


def zero_inflated_in_pytensor(family: Any) -> InPyTensor:
    """A mixture of zero and the family."""
    parts = lambda parameters: [DiracDelta.dist(0), draw(family, parameters)]
    return InPyTensor(same_as=lambda psi, *parameters: Mixture.dist(_weights(psi), parts(parameters)))


def hurdle_in_pytensor(family: Any) -> InPyTensor:
    """A mixture of zero and the family without its zeros, as an operation of its own."""

    def parts(psi, *parameters):
        law = draw(family, parameters)
        discrete = law.dtype[0] != "f"
        return _weights(psi), DiracDelta.dist(0 if discrete else 0.0), Truncated.dist(law, lower=1) if discrete else law

    return InPyTensor(None, kind=HurdleOperation, shown="Hurdle", parameters=parts, inputs="rng *", symbolic=True,
                      signature="(w),(),()->()")  # fmt: skip


def _weights(psi: Any) -> Any:
    """Of zero, and of the family."""
    return stack([1 - psi, psi], axis=-1)
