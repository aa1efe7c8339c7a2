import numpy as np

from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import positive
from ppl.distributions.families.gamma import Gamma
from ppl.distributions.formulas.power_terms import log_poisson_term
from ppl.tensor import digamma, gammainccinv, gammaln, log, log_gammainc, log_gammaincc, polygamma, sign, switch


class InverseGamma(Distribution):
    r"""X = 1/G with G ~ Gamma(α, β).

    .. math:: \log f(x) = α\log β - \log Γ(α) - (α + 1)\log x - β/x, \qquad x > 0
    """

    alpha, beta = param(positive), param(positive, 1.0)
    support = positive
    scale_parameter = beta
    from_moments = alternative(
        lambda mu, sigma: {"alpha": sign(sigma) * (2 + (mu / sigma) ** 2), "beta": mu * (1 + (mu / sigma) ** 2)},
        mu=positive,
        sigma=positive,
    )
    in_pytensor = InPyTensor("invgamma", kind="InvGammaRV")

    def logp(x, alpha, beta):
        return log_poisson_term(alpha, beta / x, log(beta) - log(x)) + log(alpha) - log(x)

    def logcdf(x, alpha, beta):
        return log_gammaincc(alpha, beta / x)

    def logccdf(x, alpha, beta):
        return log_gammainc(alpha, beta / x)

    def icdf(q, alpha, beta):
        return beta / gammainccinv(alpha, q)

    def sample(key, shape, alpha, beta):
        return beta / key.gamma(alpha, shape)

    def mean(alpha, beta):
        return switch(alpha > 1, beta / (alpha - 1), np.inf)

    def variance(alpha, beta):
        return switch(alpha > 2, beta**2 / ((alpha - 1) ** 2 * (alpha - 2)), np.inf)

    def mode(alpha, beta):
        return beta / (alpha + 1)

    def entropy(alpha, beta):
        return alpha + log(beta) + gammaln(alpha) - (1 + alpha) * digamma(alpha)

    def support_point(alpha, beta):
        return switch(alpha > 1, beta / (alpha - 1), beta / (alpha + 1))

    def natural(alpha, beta):
        return -alpha - 1, -beta

    def statistics(x):
        return log(x), 1 / x

    def log_normalizer(alpha, beta):
        return gammaln(alpha) - alpha * log(beta)

    def log_variance(alpha):
        return polygamma(1, alpha)

    @change_to(Gamma, "1/{}", increasing=False)
    def change_of_variables(y, alpha, beta):
        return 1.0 / y, (alpha, beta), -2.0 * log(y)
