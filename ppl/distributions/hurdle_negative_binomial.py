from ppl.distributions.distribution import Distribution, param
from ppl.distributions.domains import chance, natural, positive, unit
from ppl.distributions.negative_binomial import NegativeBinomial
from ppl.distributions.zero_inflation import hurdle


class HurdleNegativeBinomial(Distribution):
    r"""With probability ψ a negative binomial number that is not zero, else zero.

    .. math:: f(0) = 1 - ψ, \qquad f(x) = ψ \, \mathrm{NegativeBinomial}(x; n, p) / (1 - p^n)
    """

    psi, n, p = param(unit), param(positive), param(chance)
    order = ("psi", "mu", "alpha", "p", "n")
    support = natural
    from_mean, from_mean_and_n = NegativeBinomial.from_mean, NegativeBinomial.from_mean_and_n
    from_alpha = NegativeBinomial.from_alpha
    logp, logcdf, logccdf, sample, mean, variance, support_point = hurdle(NegativeBinomial)
