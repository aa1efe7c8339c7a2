import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.tensor import arctan, log, log1p_square, switch, tan


class HalfCauchy(Distribution):
    r"""X = β|C| with C standard Cauchy.

    .. math:: \log f(x) = \log 2 - \log π - \log β - \log(1 + (x/β)^2)
    """

    beta = param(positive)
    support = nonnegative
    scale_parameter = beta
    in_pytensor = InPyTensor(symbolic=True)

    def logp(x, beta):
        return np.log(2 / np.pi) - log(beta) - log1p_square(x / beta)

    def logcdf(x, beta):
        return log(2 / np.pi * arctan(x / beta))

    def logccdf(x, beta):
        return log(2 / np.pi * arctan(beta / x))

    def icdf(q, beta):
        return beta * switch(q < 0.5, tan(np.pi / 2 * q), 1 / tan(np.pi / 2 * (1 - q)))

    def sample(key, shape, beta):
        return beta * abs(key.cauchy(shape))

    def mode(beta):
        return 0.0 * beta

    def entropy(beta):
        return np.log(2 * np.pi) + log(beta)

    def support_point(beta):
        return beta

    def log_variance():
        return np.pi**2 / 4

    def typical_size(beta):
        return beta
