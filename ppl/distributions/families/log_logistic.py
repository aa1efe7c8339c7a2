import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive
from ppl.distributions.declaration.law import law_of
from ppl.distributions.families.logistic import Logistic
from ppl.tensor import exp, log, sinc, switch


class LogLogistic(Distribution):
    r"""X = exp(Y) with Y ~ Logistic(log α, 1/β).

    .. math:: \log f(x) = \log β - \log x + β\log(x/α) - 2\log(1 + (x/α)^β), \qquad x > 0
    """

    alpha, beta = param(positive), param(positive)
    support = positive
    scale_parameter = alpha
    law = law_of(lambda alpha, beta: exp(Logistic.dist(log(alpha), 1 / beta)), words="log {}")

    def mean(alpha, beta):
        return switch(beta > 1, alpha / sinc(1 / beta), np.inf)

    def variance(alpha, beta):
        return switch(beta > 2, alpha**2 * (1 / sinc(2 / beta) - sinc(1 / beta) ** -2.0), np.inf)

    def mode(alpha, beta):
        inner = beta > 1
        return alpha * switch(inner, switch(inner, (beta - 1) / (beta + 1), 1.0) ** (1 / beta), 0.0)

    def entropy(alpha, beta):
        return log(alpha) - log(beta) + 2

    def support_point(alpha, beta):
        return alpha

    def log_variance(beta):
        return np.pi**2 / 3 / beta**2

    def fisher_information(alpha, beta):
        return {"alpha": (beta / alpha) ** 2 / 3.0}

    def estimates(y, beta=1.0):
        return {"beta": beta}
