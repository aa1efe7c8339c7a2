import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.families.gamma import Gamma
from ppl.tensor import log, log1mexp, log1p, reciprocal


class Exponential(Distribution):
    r"""Waiting time at rate λ.

    .. math:: \log f(x) = \log λ - λx, \qquad x \ge 0
    """

    lam = param(positive, 1.0)
    support = nonnegative
    rate_parameter = lam
    from_scale = alternative(lambda scale: {"lam": reciprocal(scale)}, scale=positive)
    in_pytensor = InPyTensor(parameters=lambda lam: (reciprocal(lam),), given=lambda mu: (reciprocal(mu),))

    def logp(x, lam):
        return log(lam) - lam * x

    def logcdf(x, lam):
        return log1mexp(-lam * x)

    def logccdf(x, lam):
        return -lam * x

    def icdf(q, lam):
        return -log1p(-q) / lam

    def sample(key, shape, lam):
        return key.exponential(shape) / lam

    def mean(lam):
        return 1 / lam

    def variance(lam):
        return lam**-2.0

    def mode(lam):
        return 0.0 * lam

    def entropy(lam):
        return 1 - log(lam)

    def natural(lam):
        return (-lam,)

    def statistics(x):
        return (x,)

    def log_normalizer(lam):
        return -log(lam)

    def log_variance():
        return np.pi**2 / 6

    def fisher_information(lam):
        return {"lam": lam**-2.0}

    def typical_size(lam):
        return 1.0 / lam

    def law_of_sum(along, lam):
        return Gamma.dist(float(along.count), along.alike(lam))
