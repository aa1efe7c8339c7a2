import numpy as np

from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import between, positive
from ppl.distributions.families.exponential import Exponential
from ppl.tensor import exp, log, log1mexp, log1p, switch


class Pareto(Distribution):
    r"""X = m exp(E/α) with E standard exponential.

    .. math:: \log f(x) = \log α + α\log m - (α + 1)\log x, \qquad x \ge m
    """

    alpha, m = param(positive), param(positive)

    def support(alpha, m):
        return between(m, None)

    def logp(x, alpha, m):
        return log(alpha) - alpha * log(x / m) - log(x)

    def logcdf(x, alpha, m):
        return log1mexp(-alpha * log(x / m))

    def logccdf(x, alpha, m):
        return -alpha * log(x / m)

    def icdf(q, alpha, m):
        return m * exp(-log1p(-q) / alpha)

    def sample(key, shape, alpha, m):
        return m * exp(key.exponential(shape) / alpha)

    def mean(alpha, m):
        return switch(alpha > 1, alpha * m / (alpha - 1), np.inf)

    def variance(alpha, m):
        return switch(alpha > 2, alpha * m**2 / ((alpha - 1) ** 2 * (alpha - 2)), np.inf)

    def mode(alpha, m):
        return m

    def entropy(alpha, m):
        return log(m / alpha) + 1 + 1 / alpha

    def support_point(alpha, m):
        return m * 2 ** (1 / alpha)

    @change_to(Exponential, "log {} from its least value", data=("m",))
    def change_of_variables(y, alpha, m):
        return log(y / m), (alpha,), -log(y)
