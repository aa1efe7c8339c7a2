from ppl.distributions.binomial import Binomial
from ppl.distributions.distribution import Distribution, param
from ppl.distributions.domains import integers_between, natural, unit
from ppl.distributions.zero_inflation import zero_inflated


class ZeroInflatedBinomial(Distribution):
    r"""Binomial with probability ψ, else zero.

    .. math:: f(x) = (1 - ψ) [x = 0] + ψ \, \mathrm{Binomial}(x; n, p)
    """

    psi, n, p = param(unit), param(natural), param(unit)
    logp, logcdf, logccdf, sample, mean, variance, support_point = zero_inflated(Binomial)

    def support(psi, n, p):
        return integers_between(0, n)
