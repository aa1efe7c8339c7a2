import numpy as np

from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.constants import EULER_GAMMA
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.families.exponential import Exponential
from ppl.tensor import exp, expm1, gammaln, log, log1mexp, log1p, maximum, xlogy


class Weibull(Distribution):
    r"""X = βE^{1/α} with E standard exponential.

    .. math:: \log f(x) = \log α - \log β + (α - 1)\log(x/β) - (x/β)^α, \qquad x \ge 0
    """

    alpha, beta = param(positive), param(positive)
    support = nonnegative
    scale_parameter = beta
    in_pytensor = InPyTensor(kind="WeibullBetaRV", symbolic=True)

    def logp(x, alpha, beta):
        return log(alpha) - log(beta) + xlogy(alpha - 1, x / beta) - (x / beta) ** alpha

    def logcdf(x, alpha, beta):
        return log1mexp(-((x / beta) ** alpha))

    def logccdf(x, alpha, beta):
        return -((x / beta) ** alpha)

    def icdf(q, alpha, beta):
        return beta * (-log1p(-q)) ** (1 / alpha)

    def sample(key, shape, alpha, beta):
        return beta * key.exponential(shape) ** (1 / alpha)

    def mean(alpha, beta):
        return beta * exp(gammaln(1 + 1 / alpha))

    def variance(alpha, beta):
        square = 2 * gammaln(1 + 1 / alpha)
        return beta**2 * exp(square) * expm1(gammaln(1 + 2 / alpha) - square)

    def mode(alpha, beta):
        return beta * maximum(1 - 1 / alpha, 0.0) ** (1 / alpha)

    def entropy(alpha, beta):
        return EULER_GAMMA * (1 - 1 / alpha) + log(beta) - log(alpha) + 1

    def log_variance(alpha):
        return np.pi**2 / 6 / alpha**2

    def fisher_information(alpha, beta):
        return {"beta": (alpha / beta) ** 2}

    def estimates(y, alpha=1.0):
        return {"alpha": alpha}

    @change_to(Exponential, "the power of {}", data=("alpha",))
    def change_of_variables(y, alpha, beta):
        return y**alpha, (beta**-alpha,), log(alpha) + (alpha - 1.0) * log(y)
