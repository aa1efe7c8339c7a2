import numpy as np

from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import open_unit, positive, unit
from ppl.distributions.formulas.power_terms import log_binomial_term, log_density_at_end
from ppl.tensor import betaincinv, betaln, digamma, log, log1p, log_beta_cdf, logit, switch


class Beta(Distribution):
    r"""X = A/(A + B) with A ~ Gamma(α, 1) and B ~ Gamma(β, 1).

    .. math:: \log f(x) = (α - 1)\log x + (β - 1)\log(1 - x) - \log B(α, β), \qquad 0 \le x \le 1
    """

    alpha, beta = param(positive), param(positive)
    support = unit
    from_sigma = alternative(
        lambda mu, sigma: _from_size(mu, mu * (1 - mu) / sigma**2 - 1), mu=open_unit, sigma=positive
    )
    from_nu = alternative(lambda mu, nu: _from_size(mu, nu), mu=open_unit, nu=positive)

    def logp(x, alpha, beta):
        within = (x > 0) & (x < 1)
        log_p, log_q = log(switch(within, x, 0.5)), log1p(-switch(within, x, 0.5))
        term = log_binomial_term(alpha, beta, log_p, log_q) - log_p - log_q
        ends = switch(x > 0, log_density_at_end(beta, log(alpha)), log_density_at_end(alpha, log(beta)))
        return switch(within, term + log(alpha) - log1p(alpha / beta), ends)

    def logcdf(x, alpha, beta):
        return log_beta_cdf(alpha, beta, logit(x))

    def logccdf(x, alpha, beta):
        return log_beta_cdf(beta, alpha, -logit(x))

    def icdf(q, alpha, beta):
        return betaincinv(alpha, beta, q)

    def sample(key, shape, alpha, beta):
        return key.beta(alpha, beta, shape)

    def mean(alpha, beta):
        return alpha / (alpha + beta)

    def variance(alpha, beta):
        return alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1))

    def mode(alpha, beta):
        return switch((alpha > 1) & (beta > 1), (alpha - 1) / (alpha + beta - 2), np.nan)

    def entropy(alpha, beta):
        return (
            betaln(alpha, beta) - (alpha - 1) * digamma(alpha) - (beta - 1) * digamma(beta)
            + (alpha + beta - 2) * digamma(alpha + beta)
        )  # fmt: skip

    def natural(alpha, beta):
        return alpha - 1, beta - 1

    def statistics(x):
        return log(x), log1p(-x)

    def log_normalizer(alpha, beta):
        return betaln(alpha, beta)


def _from_size(mean, size):
    return {"alpha": mean * size, "beta": (1 - mean) * size}
