from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, unit
from ppl.distributions.families.gamma import Gamma
from ppl.distributions.formulas.zero_inflation import hurdle, hurdle_in_pytensor, zero_or_positive


class HurdleGamma(Distribution):
    r"""With probability ψ a gamma number, else zero. The density is that of the parts: a probability at zero.

    .. math:: f(0) = 1 - ψ, \qquad f(x) = ψ \, \mathrm{Gamma}(x; α, β)
    """

    psi, alpha, beta = param(unit), param(positive), param(positive)
    support = zero_or_positive
    from_moments = Gamma.from_moments
    in_pytensor = hurdle_in_pytensor(Gamma)
    logp, logcdf, logccdf, sample, mean, variance, support_point = hurdle(Gamma)
