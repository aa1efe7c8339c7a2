from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import positive, real
from ppl.distributions.declaration.law import law_of
from ppl.distributions.families.normal import Normal
from ppl.tensor import exp, expm1, log, rsqrt, sqrt


class LogNormal(Distribution):
    r"""X = exp(Y) with Y ~ Normal(μ, σ).

    .. math:: \log f(x) = -\tfrac12 z^2 - \log σ - \tfrac12\log 2π - \log x, \qquad z = (\log x - μ)/σ, \quad x > 0
    """

    mu, sigma = param(real, 0.0), param(positive, 1.0)
    support = positive
    from_tau = alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)
    law = law_of(lambda mu, sigma: exp(Normal.dist(mu, sigma)), words="log {}")

    def mean(mu, sigma):
        return exp(mu + sigma**2 / 2)

    def variance(mu, sigma):
        return expm1(sigma**2) * exp(2 * mu + sigma**2)

    def mode(mu, sigma):
        return exp(mu - sigma**2)

    def entropy(mu, sigma):
        return mu + 0.5 + 0.5 * LOG_2PI + log(sigma)

    def natural(mu, sigma):
        return mu / sigma**2 - 1, -0.5 / sigma**2

    def statistics(x):
        return log(x), log(x) ** 2

    def log_normalizer(mu, sigma):
        return 0.5 * (mu / sigma) ** 2 + log(sigma) + 0.5 * LOG_2PI

    def law_of_product(along, mu, sigma):
        return LogNormal.dist(along.added(mu), sqrt(along.added(sigma**2)))


Lognormal = LogNormal
