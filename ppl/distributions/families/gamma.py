from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.formulas.power_terms import log_density_at_end, log_poisson_term
from ppl.tensor import (
    digamma,
    gammaincinv,
    gammaln,
    log,
    log_gammainc,
    log_gammaincc,
    maximum,
    polygamma,
    reciprocal,
    sign,
    switch,
)


class Gamma(Distribution):
    r"""The sum of α waiting times at rate β.

    .. math:: \log f(x) = α\log β - \log Γ(α) + (α - 1)\log x - βx, \qquad x \ge 0
    """

    alpha, beta = param(positive), param(positive)
    support = nonnegative
    rate_parameter = beta
    from_moments = alternative(
        lambda mu, sigma: {"alpha": sign(sigma) * (mu / sigma) ** 2, "beta": mu / sigma**2}, mu=positive, sigma=positive
    )
    in_pytensor = InPyTensor(
        parameters=lambda alpha, beta: (alpha, reciprocal(beta)), given=lambda alpha, scale: (alpha, reciprocal(scale))
    )

    def logp(x, alpha, beta):
        inside = switch(x > 0, x, 1.0)
        term = log_poisson_term(alpha, beta * inside, log(beta) + log(inside))
        return switch(x > 0, term + log(alpha) - log(inside), log_density_at_end(alpha, log(beta)))

    def logcdf(x, alpha, beta):
        return log_gammainc(alpha, beta * x)

    def logccdf(x, alpha, beta):
        return log_gammaincc(alpha, beta * x)

    def icdf(q, alpha, beta):
        return gammaincinv(alpha, q) / beta

    def sample(key, shape, alpha, beta):
        return key.gamma(alpha, shape) / beta

    def mean(alpha, beta):
        return alpha / beta

    def variance(alpha, beta):
        return alpha / beta**2

    def mode(alpha, beta):
        return maximum(alpha - 1, 0.0) / beta

    def entropy(alpha, beta):
        return alpha - log(beta) + gammaln(alpha) + (1 - alpha) * digamma(alpha)

    def natural(alpha, beta):
        return alpha - 1, -beta

    def statistics(x):
        return log(x), x

    def log_normalizer(alpha, beta):
        return gammaln(alpha) - alpha * log(beta)

    def log_variance(alpha):
        return polygamma(1, alpha)

    def typical_size(alpha, beta):
        return maximum(alpha, 1.0) / beta

    def law_of_sum(along, alpha, beta):
        return Gamma.dist(along.added(alpha), along.alike(beta))
