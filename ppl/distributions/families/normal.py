from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import cast, log, log_ndtr, ndtri, rsqrt, sqrt, sum


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

    def log_normalizer(mu, sigma):
        return 0.5 * (mu / sigma) ** 2 + log(sigma) + 0.5 * LOG_2PI

    def fisher_information(mu, sigma):
        return {"mu": sigma**-2.0, "sigma": 2.0 * sigma**-2.0}

    def law_of_sum(along, mu, sigma):
        return Normal.dist(along.added(mu), sqrt(along.added(sigma**2)))

    def logp_of_rows(rows, mu, sigma):
        """By n, the mean and the sum of squares about it; all are measured from one value of the cell, since a mean far
        from zero has not the digits of its distance from mu."""
        n, y = rows.counts, cast(rows.values, "floatX")
        nearby = y[rows.first]
        d = y - nearby[rows.cell]
        mean = rows.sums(d) / n
        squares = rows.sums((d - mean[rows.cell]) ** 2)
        off = nearby - mu
        squares = squares + n * mean**2 + n * off**2 + (2.0 * n * mean) * off
        return sum(-n * log(sigma) - 0.5 * squares / sigma**2) - 0.5 * rows.count * LOG_2PI

    def residuals(x, mu, sigma):
        yield mu - x, sigma
