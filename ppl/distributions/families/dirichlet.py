import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import positive_vector, simplex
from ppl.distributions.families.beta import Beta
from ppl.tensor import all, broadcast_to, digamma, gammaln, log, sum, switch, xlogy


class Dirichlet(Distribution):
    r"""Shares of independent Gamma(a_k, 1) variables in their sum.

    .. math:: \log f(x) = \sum_k (a_k - 1)\log x_k + \log Γ\Big(\sum_k a_k\Big) - \sum_k \log Γ(a_k)
    """

    a = param(positive_vector)
    support = simplex
    in_pytensor = InPyTensor(signature="(a)->(a)")

    def logp(x, a):
        return sum(xlogy(a - 1, x) - gammaln(a), axis=-1) + gammaln(sum(a, axis=-1))

    def sample(key, shape, a):
        return key.dirichlet(a, shape)

    def mean(a):
        return a / sum(a, axis=-1, keepdims=True)

    def variance(a):
        total = sum(a, axis=-1, keepdims=True)
        return a / total * (1 - a / total) / (total + 1)

    def mode(a):
        inner = all(a > 1, axis=-1, keepdims=True)
        return switch(inner, (a - 1) / switch(inner, sum(a - 1, axis=-1, keepdims=True), 1.0), np.nan)

    def entropy(a):
        total = sum(a, axis=-1)
        beta = sum(gammaln(a), axis=-1) - gammaln(total)
        return beta + (total - a.shape[-1]) * digamma(total) - sum((a - 1) * digamma(a), axis=-1)

    def natural(a):
        return (a - 1,)

    def statistics(x):
        return (log(x),)

    def log_normalizer(a):
        return sum(gammaln(a), axis=-1) - gammaln(sum(a, axis=-1))

    def law_of_entry(k, a):
        return Beta, (a[..., k], sum(a, axis=-1) - a[..., k])

    def merged(groups, a):
        return (groups @ broadcast_to(a, groups.type.shape[1:]),)
