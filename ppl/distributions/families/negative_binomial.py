import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, limit_of, param
from ppl.distributions.declaration.domains import chance, natural, nonnegative, positive
from ppl.distributions.families.poisson import Poisson
from ppl.distributions.formulas.probability import (
    complement,
    log_beta_above,
    log_beta_below,
    log_complement,
    log_complement_for,
    log_of,
    share,
)
from ppl.tensor import cast, deviance, floor, log, log1p, maximum, stirling, switch


class NegativeBinomial(Distribution):
    r"""The number of failures before the n-th success of probability p; n need not be whole.

    With μ and α it is a Poisson number whose mean is Gamma distributed with mean μ and shape α: n = α, p = α/(α + μ).

    .. math:: \log f(x) = \log\binom{x + n - 1}{x} + n \log p + x \log(1 - p)
    """

    n, p = param(positive), param(chance)
    order = ("mu", "alpha", "p", "n")
    support = natural
    from_mean = alternative(lambda mu, alpha: {"n": alpha, "p": share(alpha, mu)}, mu=nonnegative, alpha=positive)
    from_mean_and_n = alternative(lambda mu, n: {"n": n, "p": share(n, mu)}, mu=nonnegative)
    from_alpha = alternative(lambda alpha, p: {"n": alpha, "p": p}, alpha=positive)
    limit = limit_of(lambda mu: Poisson.dist(mu), alpha="the dispersion")
    in_pytensor = InPyTensor("negative_binomial", kind="NegBinomialRV")

    def logp(x, n, p):
        both = x + n
        ways = stirling(both) - stirling(n) - stirling(x) - log1p(x / n)
        q, log_both = complement(p), log(both)
        log_p, log_q = log_of(p), log_complement_for(x, p)
        return ways - deviance(n, both * p, log_both + log_p) - deviance(x, both * q, log_both + log_q)

    def logcdf(x, n, p):
        return log_beta_below(n, x + 1, p)

    def logccdf(x, n, p):
        return log_beta_above(n, x + 1, p)

    def sample(key, shape, n, p):
        return key.negative_binomial(n, complement(p) / p, shape)

    def mean(n, p):
        return n * complement(p) / p

    def variance(n, p):
        return n * complement(p) / p**2

    def mode(n, p):
        return cast(switch(n > 1, maximum(floor((n - 1) * complement(p) / p), 0), 0), "int64")

    def support_point(n, p):
        return cast(floor(n * complement(p) / p), "int64")

    fixed = ("n",)

    def natural(n, p):
        return (log_complement(p),)

    def statistics(x):
        return (x,)

    def log_normalizer(n, p):
        return -n * log_of(p)

    def fisher_information(n, p):
        return {"p": n / (p**2 * complement(p))}

    def estimates(y, n=None):
        """By the mean of each count, which is itself a gamma variable of shape n: by moments where n is not known."""
        mean, variance = np.mean(y) + 0.5, np.var(y)
        shape = mean**2 / max(variance - mean, 1e-3 * mean) if n is None else n
        return {"n": shape, "p": shape / (y + 0.5 + shape)}

    def thinned(share, n, p):
        return n, p / (p + share * (1 - p))

    def unseen(y, share, n, p):
        return n + y, 1 - (1 - share) * (1 - p)

    def law_of_sum(along, n, p):
        return NegativeBinomial.dist(n=along.added(n), p=along.alike(p))
