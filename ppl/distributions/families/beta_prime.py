import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive
from ppl.distributions.formulas.power_terms import log_binomial_term
from ppl.tensor import betaln, digamma, exp, log, log1p, log_beta_cdf, logit_betaincinv, maximum, switch


class BetaPrime(Distribution):
    r"""X = sA/B with A ~ Gamma(α, 1) and B ~ Gamma(β, 1).

    .. math:: \log f(x) = (α - 1)\log(x/s) - (α + β)\log(1 + x/s) - \log B(α, β) - \log s, \qquad x > 0
    """

    alpha, beta, s = param(positive), param(positive), param(positive, 1.0)
    support = positive

    def logp(x, alpha, beta, s):
        term = log_binomial_term(alpha, beta, -log1p(s / x), -log1p(x / s))
        return term + log(alpha) - log1p(alpha / beta) - log(x)

    def logcdf(x, alpha, beta, s):
        return log_beta_cdf(alpha, beta, log(x / s))

    def logccdf(x, alpha, beta, s):
        return log_beta_cdf(beta, alpha, -log(x / s))

    def icdf(q, alpha, beta, s):
        return s * exp(logit_betaincinv(alpha, beta, q))

    def sample(key, shape, alpha, beta, s):
        return s * exp(key.loggamma(alpha, shape) - key.loggamma(beta, shape))

    def mean(alpha, beta, s):
        return s * switch(beta > 1, alpha / (beta - 1), np.inf)

    def variance(alpha, beta, s):
        square = alpha * (alpha + beta - 1) / ((beta - 2) * (beta - 1) ** 2)
        return s**2 * switch(beta > 2, square, np.inf)

    def mode(alpha, beta, s):
        return s * maximum(alpha - 1, 0.0) / (beta + 1)

    def entropy(alpha, beta, s):
        slopes = (1 - alpha) * digamma(alpha) - (1 + beta) * digamma(beta) + (alpha + beta) * digamma(alpha + beta)
        return log(s) + betaln(alpha, beta) + slopes

    def support_point(alpha, beta, s):
        return s * alpha / (beta + 1)
