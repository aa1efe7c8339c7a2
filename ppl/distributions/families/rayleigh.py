import numpy as np

from ppl.distributions.declaration.constants import EULER_GAMMA, LOG_2
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive
from ppl.tensor import log, log1mexp, log1p, sqrt


class Rayleigh(Distribution):
    r"""X = σ√(2E) with E standard exponential: the length of a plane vector of normals.

    .. math:: \log f(x) = \log x - 2\log σ - \tfrac12(x/σ)^2, \qquad x > 0
    """

    sigma = param(positive, 1.0)
    support = positive

    def logp(x, sigma):
        return log(x) - 2 * log(sigma) - 0.5 * (x / sigma) ** 2

    def logcdf(x, sigma):
        return log1mexp(-0.5 * (x / sigma) ** 2)

    def logccdf(x, sigma):
        return -0.5 * (x / sigma) ** 2

    def icdf(q, sigma):
        return sigma * sqrt(-2 * log1p(-q))

    def sample(key, shape, sigma):
        return sigma * sqrt(2 * key.exponential(shape))

    def mean(sigma):
        return sigma * np.sqrt(np.pi / 2)

    def variance(sigma):
        return (2 - np.pi / 2) * sigma**2

    def mode(sigma):
        return sigma

    def entropy(sigma):
        return 1 + log(sigma) - 0.5 * LOG_2 + 0.5 * EULER_GAMMA

    def natural(sigma):
        return (-0.5 / sigma**2,)

    def statistics(x):
        return (x**2,)

    def log_normalizer(sigma):
        return 2 * log(sigma)
