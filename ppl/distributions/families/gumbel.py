import numpy as np

from ppl.distributions.declaration.constants import EULER_GAMMA
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import exp, log, log1mexp


class Gumbel(Distribution):
    r"""X = μ - β log E with E standard exponential: the largest of many.

    .. math:: \log f(x) = -z - e^{-z} - \log β, \qquad z = (x - μ)/β
    """

    mu, beta = param(real), param(positive)
    support = real
    location_scale = mu, beta

    def logp(x, mu, beta):
        z = (x - mu) / beta
        return -z - exp(-z) - log(beta)

    def logcdf(x, mu, beta):
        return -exp((mu - x) / beta)

    def logccdf(x, mu, beta):
        return log1mexp(-exp((mu - x) / beta))

    def icdf(q, mu, beta):
        return mu - beta * log(-log(q))

    def sample(key, shape, mu, beta):
        return mu + beta * key.gumbel(shape)

    def mean(mu, beta):
        return mu + EULER_GAMMA * beta

    def variance(mu, beta):
        return (np.pi * beta) ** 2 / 6

    def mode(mu, beta):
        return mu

    def entropy(mu, beta):
        return log(beta) + EULER_GAMMA + 1

    def fisher_information(mu, beta):
        return {"mu": beta**-2.0}
