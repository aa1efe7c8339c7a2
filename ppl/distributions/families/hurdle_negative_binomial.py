from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import natural, open_unit, positive, unit
from ppl.distributions.families.negative_binomial import NegativeBinomial
from ppl.distributions.formulas.probability import share
from ppl.distributions.formulas.zero_inflation import hurdle, hurdle_in_pytensor


class HurdleNegativeBinomial(Distribution):
    r"""With probability ψ a negative binomial number that is not zero, else zero.

    .. math:: f(0) = 1 - ψ, \qquad f(x) = ψ \, \mathrm{NegativeBinomial}(x; n, p) / (1 - p^n)
    """

    psi, n, p = param(unit), param(positive), param(open_unit)
    order = ("psi", "mu", "alpha", "p", "n")
    support = natural
    from_mean = alternative(lambda mu, alpha: {"n": alpha, "p": share(alpha, mu)}, mu=positive, alpha=positive)
    from_mean_and_n = alternative(lambda mu, n: {"n": n, "p": share(n, mu)}, mu=positive)
    from_alpha = NegativeBinomial.from_alpha
    in_pytensor = hurdle_in_pytensor(NegativeBinomial)
    logp, logcdf, logccdf, sample, mean, variance, support_point = hurdle(NegativeBinomial)
