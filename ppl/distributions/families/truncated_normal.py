import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param, requires
from ppl.distributions.declaration.domains import between, extended_real, positive, real
from ppl.tensor import (
    clip,
    exp,
    expm1,
    isfinite,
    log,
    log1p,
    log_ndtr,
    log_ndtr_between,
    logaddexp,
    maximum,
    minimum,
    ndtri_exp,
    rsqrt,
    sqrt,
    stop_gradient,
    switch,
)

FAR = 1e4  # standard deviations: a number so large has few digits for how far a draw is beyond a bound


class TruncatedNormal(Distribution):
    r"""Y ~ Normal(μ, σ), given that a ≤ Y ≤ b.

    .. math:: \log f(x) = -\tfrac12 z^2 - \log σ - \tfrac12\log 2π - \log(Φ(β) - Φ(α)),
              \qquad z = \frac{x - μ}σ,\; α = \frac{a - μ}σ,\; β = \frac{b - μ}σ
    """

    mu, sigma = param(real, 0.0), param(positive, 1.0)
    lower, upper = param(extended_real, -np.inf), param(extended_real, np.inf)
    order = ("mu", "sigma", "tau", "lower", "upper")
    from_tau = alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)
    ordered = requires(lambda lower, upper: lower < upper, "lower must be below upper", "exchange them")
    in_pytensor = InPyTensor("truncated_normal")

    def support(mu, sigma, lower, upper):
        return between(lower, upper)

    def logp(x, mu, sigma, lower, upper):
        mass = log_ndtr_between(*_standard(mu, sigma, lower, upper))
        return -0.5 * ((x - mu) / sigma) ** 2 - log(sigma) - 0.5 * LOG_2PI - mass

    def logcdf(x, mu, sigma, lower, upper):
        low, high = _standard(mu, sigma, lower, upper)
        return log_ndtr_between(low, clip((x - mu) / sigma, low, high)) - log_ndtr_between(low, high)

    def logccdf(x, mu, sigma, lower, upper):
        low, high = _standard(mu, sigma, lower, upper)
        return log_ndtr_between(clip((x - mu) / sigma, low, high), high) - log_ndtr_between(low, high)

    def icdf(q, mu, sigma, lower, upper):
        low, high = _standard(mu, sigma, lower, upper)
        mass = log_ndtr_between(low, high)
        left = ndtri_exp(logaddexp(log_ndtr(low), log(q) + mass))
        right = -ndtri_exp(logaddexp(log_ndtr(-high), log(1 - q) + mass))
        return clip(mu + sigma * switch(low > 0, right, left), lower, upper)

    def sample(key, shape, mu, sigma, lower, upper):
        low, high = _standard(mu, sigma, lower, upper)
        near, u = mu + sigma * key.truncated_normal(low, high, shape), key.uniform(shape)
        both = isfinite(lower) & isfinite(upper)
        width = switch(both, (switch(both, upper, 1.0) - switch(both, lower, 0.0)) / sigma, 1e10)
        right = switch(low > FAR, lower + sigma * _beyond(low, width, u), near)
        return clip(switch(high < -FAR, upper - sigma * _beyond(-high, width, u), right), lower, upper)

    def mean(mu, sigma, lower, upper):
        at_low, at_high, _, _ = _heights(mu, sigma, lower, upper)
        return mu + sigma * (at_low - at_high)

    def variance(mu, sigma, lower, upper):
        at_low, at_high, low, high = _heights(mu, sigma, lower, upper)
        return sigma**2 * (1 + low * at_low - high * at_high - (at_low - at_high) ** 2)

    def mode(mu, sigma, lower, upper):
        return clip(mu, lower, upper)

    def entropy(mu, sigma, lower, upper):
        at_low, at_high, low, high = _heights(mu, sigma, lower, upper)
        return 0.5 * (LOG_2PI + 1 + low * at_low - high * at_high) + log(sigma) + log_ndtr_between(low, high)

    def support_point(mu, sigma, lower, upper):
        one_sided = switch(isfinite(lower), lower + 1, switch(isfinite(upper), upper - 1, mu))
        return switch(isfinite(lower) & isfinite(upper), (lower + upper) / 2, one_sided)


def _standard(mu, sigma, lower, upper):
    """Both bounds in standard units; an infinite one becomes ±1e10 or is far beyond the other, so that gradients stay
    finite."""
    low = (switch(isfinite(lower), lower, 0.0) - mu) / sigma
    high = (switch(isfinite(upper), upper, 0.0) - mu) / sigma
    return (
        switch(isfinite(lower), low, minimum(-1e10, 2 * stop_gradient(high))),
        switch(isfinite(upper), high, maximum(1e10, 2 * stop_gradient(low))),
    )


def _beyond(low, width, u):
    """How far a standard normal variable is above a large bound, given that it is by less than a width: its square has
    an exponential law, but for a share of 1/low²."""
    low = maximum(low, FAR)
    twice = -2 * log1p(u * expm1(-width * (low + 0.5 * width)))
    return twice / (low + low * sqrt(1 + twice / low / low))


def _heights(mu, sigma, lower, upper):
    """φ/(Φ(β) - Φ(α)) at both bounds, and the bounds in standard units."""
    low, high = _standard(mu, sigma, lower, upper)
    mass = log_ndtr_between(low, high) + 0.5 * LOG_2PI
    return exp(-0.5 * low**2 - mass), exp(-0.5 * high**2 - mass), low, high
