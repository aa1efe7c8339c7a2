import numpy as np

from ppl.distributions.declaration.constants import EULER_GAMMA
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive
from ppl.tensor import exp, expm1, gammaln, log, log1mexp, switch


class Frechet(Distribution):
    r"""X = sE^{-1/α} with E standard exponential: the largest of many that have heavy tails.

    .. math:: \log f(x) = \log α - \log s - (α + 1)\log(x/s) - (x/s)^{-α}, \qquad x > 0
    """

    alpha, s = param(positive), param(positive, 1.0)
    support = positive

    def logp(x, alpha, s):
        power = alpha * log(x / s)
        return log(alpha) - log(x) - power - exp(-power)

    def logcdf(x, alpha, s):
        return -exp(-alpha * log(x / s))

    def logccdf(x, alpha, s):
        return log1mexp(-exp(-alpha * log(x / s)))

    def icdf(q, alpha, s):
        return s * (-log(q)) ** (-1 / alpha)

    def sample(key, shape, alpha, s):
        return s * key.exponential(shape) ** (-1 / alpha)

    def mean(alpha, s):
        return switch(alpha > 1, s * exp(gammaln(1 - 1 / switch(alpha > 1, alpha, 2.0))), np.inf)

    def variance(alpha, s):
        safe = switch(alpha > 2, alpha, 3.0)
        square = 2 * gammaln(1 - 1 / safe)
        return switch(alpha > 2, s**2 * exp(square) * expm1(gammaln(1 - 2 / safe) - square), np.inf)

    def mode(alpha, s):
        return s * (alpha / (1 + alpha)) ** (1 / alpha)

    def entropy(alpha, s):
        return 1 + EULER_GAMMA * (1 + 1 / alpha) + log(s / alpha)

    def support_point(alpha, s):
        return s * np.log(2.0) ** (-1 / alpha)
