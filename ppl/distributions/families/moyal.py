import numpy as np

from ppl.distributions.declaration.constants import EULER_GAMMA, LOG_2, LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import abs, erf, exp, log, log_ndtr, ndtri


class Moyal(Distribution):
    r"""X = μ - 2σ log|Z| with Z standard normal.

    .. math:: \log f(x) = -\tfrac12(z + e^{-z}) - \log σ - \tfrac12\log 2π, \qquad z = (x - μ)/σ
    """

    mu, sigma = param(real, 0.0), param(positive, 1.0)
    support = real
    location_scale = mu, sigma

    def logp(x, mu, sigma):
        z = (x - mu) / sigma
        return -0.5 * (z + exp(-z)) - log(sigma) - 0.5 * LOG_2PI

    def logcdf(x, mu, sigma):
        return LOG_2 + log_ndtr(-exp((mu - x) / (2 * sigma)))

    def logccdf(x, mu, sigma):
        return log(erf(exp((mu - x) / (2 * sigma)) * np.sqrt(0.5)))

    def icdf(q, mu, sigma):
        return mu - 2 * sigma * log(-ndtri(q / 2))

    def sample(key, shape, mu, sigma):
        return mu - 2 * sigma * log(abs(key.normal(shape)))

    def mean(mu, sigma):
        return mu + sigma * (EULER_GAMMA + LOG_2)

    def variance(mu, sigma):
        return (np.pi * sigma) ** 2 / 2

    def mode(mu, sigma):
        return mu

    def entropy(mu, sigma):
        return log(sigma) + 0.5 * (EULER_GAMMA + LOG_2 + 1 + LOG_2PI)

    def fisher_information(mu, sigma):
        return {"mu": 0.5 * sigma**-2.0}
