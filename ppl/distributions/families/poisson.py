from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import natural, nonnegative
from ppl.distributions.formulas.probability import log_for, log_of
from ppl.tensor import cast, deviance, floor, log_gammainc, log_gammaincc, stirling


class Poisson(Distribution):
    r"""The number of events where μ are expected and none influences another.

    .. math:: \log f(x) = x \log μ - μ - \log x!
    """

    mu = param(nonnegative)
    support = natural
    inverse_link = mu, "exp"

    def logp(x, mu):
        return -stirling(x) - deviance(x, mu, log_for(x, mu))

    def logcdf(x, mu):
        return log_gammaincc(x + 1, mu)

    def logccdf(x, mu):
        return log_gammainc(x + 1, mu)

    def sample(key, shape, mu):
        return key.poisson(mu, shape)

    def mean(mu):
        return mu

    def variance(mu):
        return mu

    def mode(mu):
        return cast(floor(mu), "int64")

    def support_point(mu):
        return cast(floor(mu), "int64")

    def natural(mu):
        return (log_of(mu),)

    def statistics(x):
        return (x,)

    def log_normalizer(mu):
        return mu

    def fisher_information(mu):
        return {"mu": 1 / mu}

    def estimates(y):
        return {"mu": y + 0.5}

    def thinned(share, mu):
        return (share * mu,)

    def unseen(y, share, mu):
        return ((1 - share) * mu,)

    def law_of_sum(along, mu):
        return Poisson.dist(along.added(mu))
