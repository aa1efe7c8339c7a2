import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, limit_of, param
from ppl.distributions.declaration.domains import positive, real
from ppl.distributions.families.normal import Normal
from ppl.tensor import (
    arcsinh,
    betaln,
    digamma,
    log,
    log1p_square,
    log_beta_cdf,
    logit_betaincinv,
    rsqrt,
    sinh,
    sqrt,
    switch,
)


class StudentT(Distribution):
    r"""X = μ + σZ/√(V/ν) with Z standard normal and V ~ ChiSquared(ν).

    .. math:: \log f(x) = \log\frac{Γ((ν+1)/2)}{Γ(ν/2)\sqrt{πν}} - \log σ - \tfrac{ν+1}2\log(1 + z^2/ν),
              \qquad z = (x - μ)/σ
    """

    nu, mu, sigma = param(positive), param(real, 0.0), param(positive, 1.0)
    support = real
    location_scale = mu, sigma
    limit = limit_of(lambda mu, sigma: Normal.dist(mu, sigma), nu="the degrees of freedom")
    from_lam = alternative(lambda lam: {"sigma": rsqrt(lam)}, lam=positive)
    in_pytensor = InPyTensor("t")

    def logp(x, nu, mu, sigma):
        z = (x - mu) / sigma
        return _log_constant(nu) - log(sigma) - (nu + 1) / 2 * log1p_square(z / sqrt(nu))

    def logcdf(x, nu, mu, sigma):
        return log_beta_cdf(nu / 2, nu / 2, _log_odds((x - mu) / sigma, nu))

    def logccdf(x, nu, mu, sigma):
        return log_beta_cdf(nu / 2, nu / 2, _log_odds((mu - x) / sigma, nu))

    def icdf(q, nu, mu, sigma):
        return mu + sigma * sqrt(nu) * sinh(logit_betaincinv(nu / 2, nu / 2, q) / 2)

    def sample(key, shape, nu, mu, sigma):
        return mu + sigma * key.student_t(nu, shape)

    def mean(nu, mu, sigma):
        return switch(nu > 1, mu, np.nan)

    def variance(nu, mu, sigma):
        return switch(nu > 2, sigma**2 * nu / (nu - 2), switch(nu > 1, np.inf, np.nan))

    def mode(nu, mu, sigma):
        return mu

    def entropy(nu, mu, sigma):
        return (nu + 1) / 2 * (digamma((nu + 1) / 2) - digamma(nu / 2)) - _log_constant(nu) + log(sigma)

    def support_point(nu, mu, sigma):
        return mu

    def fisher_information(nu, mu, sigma):
        return {"mu": (nu + 1) / (nu + 3) / sigma**2, "sigma": 2 * nu / (nu + 3) / sigma**2}

    def estimates(y, nu=5.0):
        return {"nu": nu}


def _log_constant(nu):
    return -betaln(nu / 2, 0.5) - 0.5 * log(nu)


def _log_odds(z, nu):
    """Half of 1 + z/√(ν + z²), which is Beta(ν/2, ν/2), in log odds."""
    return 2 * arcsinh(z / sqrt(nu))
