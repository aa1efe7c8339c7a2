import numpy as np

from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import boolean, unit
from ppl.distributions.families.binomial import Binomial
from ppl.distributions.formulas.probability import complement, log_complement, log_complement_for, log_for, log_of
from ppl.tensor import cast, entr, equal, sigmoid, switch


class Bernoulli(Distribution):
    r"""One with probability p, else zero.

    .. math:: f(1) = p, \qquad f(0) = 1 - p
    """

    p = param(unit)
    support = boolean
    inverse_link = p, "sigmoid"
    from_logit = alternative(lambda logit_p: {"p": sigmoid(logit_p)})

    def logp(x, p):
        return switch(equal(x, 1), log_for(x, p), log_complement_for(1 - x, p))

    def logcdf(x, p):
        return switch(x < 1, log_complement_for(1 - x, p), 0.0)

    def logccdf(x, p):
        return switch(x < 1, log_of(p), -np.inf)

    def icdf(q, p):
        return cast(q > complement(p), "int64")

    def sample(key, shape, p):
        return cast(key.uniform(shape) < p, "int64")

    def mean(p):
        return p

    def variance(p):
        return p * complement(p)

    def mode(p):
        return cast(p > 0.5, "int64")

    def entropy(p):
        return entr(p) + entr(complement(p))

    def support_point(p):
        return cast(p >= 0.5, "int64")

    def natural(p):
        return (log_of(p) - log_complement(p),)

    def statistics(x):
        return (x,)

    def log_normalizer(p):
        return -log_complement(p)

    def fisher_information(p):
        return {"p": 1 / (p * complement(p))}

    def estimates(y):
        """Drawn towards the frequency in all rows, since single rows say 0 or 1."""
        return {"p": (y + np.mean(y)) / 2}

    def law_of_sum(along, p):
        return Binomial.dist(along.count, along.alike(p))

    def law_of_product(along, p):
        return Bernoulli.dist(along.multiplied(p))
