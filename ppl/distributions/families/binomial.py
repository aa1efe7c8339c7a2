import numpy as np

from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import integers_between, natural, unit
from ppl.distributions.formulas.probability import (
    complement,
    log_beta_above,
    log_beta_below,
    log_complement,
    log_complement_for,
    log_for,
    log_of,
)
from ppl.tensor import cast, deviance, floor, log, maximum, minimum, round, sigmoid, stirling, switch


class Binomial(Distribution):
    r"""The number of successes in n independent trials of probability p.

    .. math:: \log f(x) = \log\binom{n}{x} + x \log p + (n - x) \log(1 - p)
    """

    n, p = param(natural), param(unit)
    from_logit = alternative(lambda logit_p: {"p": sigmoid(logit_p)})
    inverse_link = p, "sigmoid"

    def support(n, p):
        return integers_between(0, n)

    def logp(x, n, p):
        ways = stirling(n) - stirling(x) - stirling(n - x)
        q, log_n = complement(p), log(n)
        log_p, log_q = log_for(x, p), log_complement_for(n - x, p)
        return ways - deviance(x, n * p, log_n + log_p) - deviance(n - x, n * q, log_n + log_q)

    def logcdf(x, n, p):
        return log_beta_above(x + 1, left(n, x), p)

    def logccdf(x, n, p):
        return log_beta_below(x + 1, left(n, x), p)

    def sample(key, shape, n, p):
        return key.binomial(n, p, shape)

    def mean(n, p):
        return n * p

    def variance(n, p):
        return n * p * complement(p)

    def mode(n, p):
        return cast(minimum(floor((n + 1) * p), n), "int64")

    def support_point(n, p):
        return near(n, n * p)

    fixed = ("n",)

    def natural(n, p):
        return (log_of(p) - log_complement(p),)

    def statistics(x):
        return (x,)

    def log_normalizer(n, p):
        return -n * log_complement(p)

    def fisher_information(n, p):
        return {"p": n / (p * complement(p))}

    def estimates(y, n):
        """The frequency of each row, drawn towards that in all of them."""
        return {"n": n, "p": (y + np.sum(y) / np.sum(n + 0.0 * y)) / (n + 1.0)}

    def thinned(share, n, p):
        return n, share * p

    def unseen(y, share, n, p):
        missed = p * (1 - share)  # the probability that a trial succeeds and is not seen to
        without = (1 - p) + missed
        return n - y, missed / switch(without > 0, without, 1.0)

    def law_of_sum(along, n, p):
        return Binomial.dist(along.added(n), along.alike(p))


def left(n, x):
    """Trials that are left after x of n; tails are asked for x < n only."""
    return switch(n > x, n - x, 1) if n.dtype[0] == "f" else maximum(n - x, 1)


def near(n, mean):
    """A count next to a mean; where n need not be whole, the nearest one may be above it."""
    return cast(floor(minimum(round(mean), n)) if n.dtype[0] == "f" else round(mean), "int64")
