import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import integers_between, natural, unit
from ppl.distributions.families.binomial import Binomial
from ppl.distributions.formulas.probability import complement, is_opaque
from ppl.distributions.formulas.zero_inflation import zero_inflated, zero_inflated_in_pytensor
from ppl.tensor import equal, switch


def inside(x, n, p):
    """The binomial log-density, and (1 - p)ⁿ: at p = 1 that has the slope 0, or -1 if n is 1, its logarithm -∞."""
    none = equal(x, 0) & equal(p, 1)
    inner = Binomial.log_density(x, n, switch(none, 0.5, p) if is_opaque(p) else p)
    return switch(none, -np.inf, inner), complement(p) ** n


class ZeroInflatedBinomial(Distribution):
    r"""Binomial with probability ψ, else zero.

    .. math:: f(x) = (1 - ψ) [x = 0] + ψ \, \mathrm{Binomial}(x; n, p)
    """

    psi, n, p = param(unit), param(natural), param(unit)
    in_pytensor = zero_inflated_in_pytensor(Binomial)
    logp, logcdf, logccdf, sample, mean, variance, support_point = zero_inflated(Binomial, inside)

    def support(psi, n, p):
        return integers_between(0, n)
