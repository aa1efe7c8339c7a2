from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, real, unit
from ppl.distributions.families.log_normal import LogNormal
from ppl.distributions.formulas.zero_inflation import hurdle, hurdle_in_pytensor, zero_or_positive


class HurdleLogNormal(Distribution):
    r"""With probability ψ a log-normal number, else zero. The density is that of the parts: a probability at zero.

    .. math:: f(0) = 1 - ψ, \qquad f(x) = ψ \, \mathrm{LogNormal}(x; μ, σ)
    """

    psi, mu, sigma = param(unit), param(real, 0.0), param(positive, 1.0)
    support = zero_or_positive
    from_tau = LogNormal.from_tau
    in_pytensor = hurdle_in_pytensor(LogNormal)
    logp, logcdf, logccdf, sample, mean, variance, support_point = hurdle(LogNormal)
