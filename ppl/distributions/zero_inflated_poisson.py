from ppl.distributions.distribution import Distribution, param
from ppl.distributions.domains import natural, nonnegative, unit
from ppl.distributions.poisson import Poisson
from ppl.distributions.zero_inflation import zero_inflated


class ZeroInflatedPoisson(Distribution):
    r"""Poisson with probability ψ, else zero.

    .. math:: f(x) = (1 - ψ) [x = 0] + ψ \, \mathrm{Poisson}(x; μ)
    """

    psi, mu = param(unit), param(nonnegative)
    support = natural
    logp, logcdf, logccdf, sample, mean, variance, support_point = zero_inflated(Poisson)
