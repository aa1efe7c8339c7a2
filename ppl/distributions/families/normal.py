from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import log, log_ndtr, ndtri, rsqrt


class Normal(Distribution):
    r"""X = μ + σZ with Z standard normal.

    .. math:: \log f(x) = -\tfrac12 z^2 - \log σ - \tfrac12\log 2π, \qquad z = (x - μ)/σ
    """

    mu, sigma = param(real, 0.0), param(positive, 1.0)
    support = real
    location_scale = mu, sigma
    from_tau = alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)

    def logp(x, mu, sigma):
        return -0.5 * ((x - mu) / sigma) ** 2 - log(sigma) - 0.5 * LOG_2PI

    def logcdf(x, mu, sigma):
        return log_ndtr((x - mu) / sigma)

    def logccdf(x, mu, sigma):
        return log_ndtr((mu - x) / sigma)

    def icdf(q, mu, sigma):
        return mu + sigma * ndtri(q)

    def sample(key, shape, mu, sigma):
        return mu + sigma * key.normal(shape)

    def mean(mu, sigma):
        return mu

    def variance(mu, sigma):
        return sigma**2

    def mode(mu, sigma):
        return mu

    def entropy(mu, sigma):
        return 0.5 + 0.5 * LOG_2PI + log(sigma)

    def natural(mu, sigma):
        return mu / sigma**2, -0.5 / sigma**2

    def statistics(x):
        return x, x**2

    def log_normaliser(mu, sigma):
        return 0.5 * (mu / sigma) ** 2 + log(sigma) + 0.5 * LOG_2PI

    def fisher_information(mu, sigma):
        return {"mu": sigma**-2.0, "sigma": 2.0 * sigma**-2.0}
