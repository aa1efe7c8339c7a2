from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import natural, nonnegative, unit
from ppl.distributions.families.poisson import Poisson
from ppl.distributions.formulas.zero_inflation import zero_inflated, zero_inflated_in_pytensor
from ppl.tensor import exp


class ZeroInflatedPoisson(Distribution):
    r"""Poisson with probability ψ, else zero.

    .. math:: f(x) = (1 - ψ) [x = 0] + ψ \, \mathrm{Poisson}(x; μ)
    """

    psi, mu = param(unit), param(nonnegative)
    support = natural
    in_pytensor = zero_inflated_in_pytensor(Poisson)
    logp, logcdf, logccdf, sample, mean, variance, support_point = zero_inflated(Poisson)

    def fisher_information(psi, mu):
        zero = (1 - psi) + psi * exp(-mu)
        return {"mu": psi / mu - psi * (1 - psi) * exp(-mu) / zero}

    def estimates(y):
        """Each count is taken for one of those that are not inflated."""
        return {"psi": 1.0, "mu": y + 0.5}
