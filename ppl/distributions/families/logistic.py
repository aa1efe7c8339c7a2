import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import abs, log, log_sigmoid, logit, softplus


class Logistic(Distribution):
    r"""X = μ + s log(U/(1 - U)) with U uniform.

    .. math:: \log f(x) = -z - 2\log(1 + e^{-z}) - \log s, \qquad z = (x - μ)/s
    """

    mu, s = param(real, 0.0), param(positive, 1.0)
    support = real
    location_scale = mu, s

    def logp(x, mu, s):
        z = abs((x - mu) / s)
        return -z - 2 * softplus(-z) - log(s)

    def logcdf(x, mu, s):
        return log_sigmoid((x - mu) / s)

    def logccdf(x, mu, s):
        return log_sigmoid((mu - x) / s)

    def icdf(q, mu, s):
        return mu + s * logit(q)

    def sample(key, shape, mu, s):
        return mu + s * key.logistic(shape)

    def mean(mu, s):
        return mu

    def variance(mu, s):
        return (np.pi * s) ** 2 / 3

    def mode(mu, s):
        return mu

    def entropy(mu, s):
        return log(s) + 2

    def fisher_information(mu, s):
        return {"mu": s**-2.0 / 3.0}
