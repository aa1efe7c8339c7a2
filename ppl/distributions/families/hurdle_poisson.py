from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import natural, positive, unit
from ppl.distributions.families.poisson import Poisson
from ppl.distributions.formulas.zero_inflation import hurdle, hurdle_in_pytensor


class HurdlePoisson(Distribution):
    r"""With probability ψ a Poisson number that is not zero, else zero.

    .. math:: f(0) = 1 - ψ, \qquad f(x) = ψ \, \mathrm{Poisson}(x; μ) / (1 - e^{-μ})
    """

    psi, mu = param(unit), param(positive)
    support = natural
    in_pytensor = hurdle_in_pytensor(Poisson)
    logp, logcdf, logccdf, sample, mean, variance, support_point = hurdle(Poisson)
