import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import natural, positive
from ppl.distributions.formulas.urn import log_urn
from ppl.tensor import cast, floor, log1p, log_beta_below_beta, maximum, switch


class BetaNegativeBinomial(Distribution):
    r"""The number of failures before the n-th success, where the probability of success is Beta(α, β).

    .. math:: f(x) = \binom{x + n - 1}{x} \frac{B(n + α, x + β)}{B(α, β)}
    """

    alpha, beta, n = param(positive), param(positive), param(positive)
    support = natural

    def logp(x, alpha, beta, n):
        return log_urn(n, x, alpha, beta) - log1p(x / n)

    def logcdf(x, alpha, beta, n):
        return log_beta_below_beta(n, x + 1, alpha, beta)

    def logccdf(x, alpha, beta, n):
        return log_beta_below_beta(alpha, beta, n, x + 1)

    def sample(key, shape, alpha, beta, n):
        odds = key.gamma(beta, shape) / key.gamma(alpha, shape)
        return key.negative_binomial(n, odds, shape)

    def mean(alpha, beta, n):
        return switch(alpha > 1, n * beta / (alpha - 1), np.inf)

    def variance(alpha, beta, n):
        spread = n * (alpha + n - 1) * beta * (alpha + beta - 1) / ((alpha - 2) * (alpha - 1) ** 2)
        return switch(alpha > 2, spread, np.inf)

    def mode(alpha, beta, n):
        return cast(maximum(floor((n * (beta - 1) - alpha - beta) / (alpha + 1)) + 1, 0), "int64")

    def support_point(alpha, beta, n):
        return cast(floor(n * beta / (alpha + 1)), "int64")
