from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import chance, natural, positive, unit
from ppl.distributions.families.negative_binomial import NegativeBinomial
from ppl.distributions.formulas.zero_inflation import zero_inflated, zero_inflated_in_pytensor


class ZeroInflatedNegativeBinomial(Distribution):
    r"""Negative binomial with probability ψ, else zero.

    .. math:: f(x) = (1 - ψ) [x = 0] + ψ \, \mathrm{NegativeBinomial}(x; n, p)
    """

    psi, n, p = param(unit), param(positive), param(chance)
    order = ("psi", "mu", "alpha", "p", "n")
    support = natural
    from_mean, from_mean_and_n = NegativeBinomial.from_mean, NegativeBinomial.from_mean_and_n
    from_alpha = NegativeBinomial.from_alpha
    in_pytensor = zero_inflated_in_pytensor(NegativeBinomial)
    logp, logcdf, logccdf, sample, mean, variance, support_point = zero_inflated(NegativeBinomial)
