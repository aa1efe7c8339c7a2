import numpy as np

from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import (
    arcsinh,
    betaln,
    digamma,
    exp,
    gammaln,
    log,
    log_beta_cdf,
    log_sigmoid,
    logit_betaincinv,
    rsqrt,
    sinh,
    sqrt,
    switch,
)  # fmt: skip


class SkewStudentT(Distribution):
    r"""X = μ + σ√(a + b) sinh(t/2) with t the log odds of a Beta(a, b) (Jones and Faddy 2003).

    .. math:: \log f(x) = (a + \tfrac12)\log(1 + z/r) + (b + \tfrac12)\log(1 - z/r) - \log C - \log σ,
              \qquad z = (x - μ)/σ,\; r = \sqrt{a + b + z^2},\; C = 2^{a+b-1} B(a, b)\sqrt{a + b}
    """

    a, b, mu, sigma = param(positive), param(positive), param(real, 0.0), param(positive, 1.0)
    support = real
    location_scale = mu, sigma
    from_lam = alternative(lambda lam: {"sigma": rsqrt(lam)}, lam=positive)

    def logp(x, a, b, mu, sigma):
        t = _log_odds(x, a, b, mu, sigma)
        powers = (a + 0.5) * log_sigmoid(t) + (b + 0.5) * log_sigmoid(-t)
        return powers + 2 * LOG_2 - betaln(a, b) - 0.5 * log(a + b) - log(sigma)

    def logcdf(x, a, b, mu, sigma):
        return log_beta_cdf(a, b, _log_odds(x, a, b, mu, sigma))

    def logccdf(x, a, b, mu, sigma):
        return log_beta_cdf(b, a, -_log_odds(x, a, b, mu, sigma))

    def icdf(q, a, b, mu, sigma):
        return mu + sigma * sqrt(a + b) * sinh(logit_betaincinv(a, b, q) / 2)

    def sample(key, shape, a, b, mu, sigma):
        root = exp((key.loggamma(a, shape) - key.loggamma(b, shape)) / 2)  # of the odds: sinh of half their logarithm
        return mu + sigma * sqrt(a + b) * (root - 1 / root) / 2

    def mean(a, b, mu, sigma):
        return switch((a > 0.5) & (b > 0.5), mu + sigma * _standard_mean(a, b), np.nan)

    def variance(a, b, mu, sigma):
        square = (a + b) / 4 * ((a - b) ** 2 + a + b - 2) / ((a - 1) * (b - 1))
        return switch((a > 1) & (b > 1), sigma**2 * (square - _standard_mean(a, b) ** 2), np.nan)

    def mode(a, b, mu, sigma):
        return mu + sigma * (a - b) * sqrt(a + b) / sqrt((2 * a + 1) * (2 * b + 1))

    def entropy(a, b, mu, sigma):
        total = digamma(a + b)
        powers = (a + 0.5) * (total - digamma(a)) + (b + 0.5) * (total - digamma(b))
        return powers - 2 * LOG_2 + betaln(a, b) + 0.5 * log(a + b) + log(sigma)

    def support_point(a, b, mu, sigma):
        both = (a > 0.5) & (b > 0.5)
        return mu + sigma * switch(both, _standard_mean(a, b), SkewStudentT.mode(a, b, 0.0, 1.0))


def _log_odds(x, a, b, mu, sigma):
    return 2 * arcsinh((x - mu) / sigma / sqrt(a + b))


def _standard_mean(a, b):
    steps = gammaln(a - 0.5) - gammaln(a) + gammaln(b - 0.5) - gammaln(b)
    return (a - b) * sqrt(a + b) / 2 * exp(steps)
