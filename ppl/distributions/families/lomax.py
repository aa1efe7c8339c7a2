import numpy as np

from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.families.exponential import Exponential
from ppl.tensor import expm1, log, log1mexp, log1p, switch


class Lomax(Distribution):
    r"""X = E/G with E standard exponential and G ~ Gamma(α, m): a Pareto that begins at 0.

    .. math:: \log f(x) = \log α - \log m - (α + 1)\log(1 + x/m), \qquad x \ge 0
    """

    alpha, m = param(positive), param(positive)
    support = nonnegative

    def logp(x, alpha, m):
        return log(alpha) - log(m) - (alpha + 1) * log1p(x / m)

    def logcdf(x, alpha, m):
        return log1mexp(-alpha * log1p(x / m))

    def logccdf(x, alpha, m):
        return -alpha * log1p(x / m)

    def icdf(q, alpha, m):
        return m * expm1(-log1p(-q) / alpha)

    def sample(key, shape, alpha, m):
        return m * expm1(key.exponential(shape) / alpha)

    def mean(alpha, m):
        return switch(alpha > 1, m / (alpha - 1), np.inf)

    def variance(alpha, m):
        return switch(alpha > 2, alpha * m**2 / ((alpha - 1) ** 2 * (alpha - 2)), np.inf)

    def mode(alpha, m):
        return 0.0 * m

    def entropy(alpha, m):
        return log(m / alpha) + 1 + 1 / alpha

    def support_point(alpha, m):
        return m * expm1(np.log(2.0) / alpha)

    @change_to(Exponential, "log(1 + {}/m)", data=("m",))
    def change_of_variables(y, alpha, m):
        return log1p(y / m), (alpha,), -log(m + y)
