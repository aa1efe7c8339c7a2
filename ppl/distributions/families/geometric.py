from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import chance, counting
from ppl.distributions.families.negative_binomial import NegativeBinomial
from ppl.distributions.formulas.probability import complement, log_complement, log_complement_for, log_of
from ppl.tensor import cast, ceil, equal, expm1, log1mexp, log1p, maximum, ones_like, round, switch


class Geometric(Distribution):
    r"""The number of trials of probability p up to the first success.

    .. math:: \log f(x) = \log p + (x - 1) \log(1 - p)
    """

    p = param(chance)
    support = counting

    def logp(x, p):
        return log_of(p) + switch(equal(x, 1), 0.0, (x - 1) * log_complement_for(x - 1, p))

    def logcdf(x, p):
        return switch(equal(x, 1), log_of(p), switch(p < 1, log1mexp(x * log_complement_for(p < 1, p)), 0.0))

    def logccdf(x, p):
        return x * log_complement(p)

    def icdf(q, p):
        x = maximum(ceil(log1p(-q) / log_complement(p)), 1)
        before = -expm1((x - 1) * log_complement(p))
        return cast(switch((before >= q) & (x > 1), x - 1, x), "int64")

    def sample(key, shape, p):
        return cast(maximum(ceil(-key.exponential(shape) / log_complement(p)), 1), "int64")

    def mean(p):
        return 1 / p

    def variance(p):
        return complement(p) / p**2

    def mode(p):
        return cast(ones_like(p), "int64")

    def entropy(p):
        q = complement(p)
        return -log_of(p) - switch(equal(p, 1), 0.0, q / p * log_complement(p))

    def support_point(p):
        return cast(round(1 / p), "int64")

    def natural(p):
        return (log_complement(p),)

    def statistics(x):
        return (x,)

    def log_normalizer(p):
        return log_complement(p) - log_of(p)

    def law_of_sum(along, p):
        return NegativeBinomial.dist(n=along.count, p=along.alike(p)) + along.count
