from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive, real
from ppl.distributions.families.exponential import Exponential
from ppl.tensor import abs, exp, log, log1p, switch


class Laplace(Distribution):
    r"""X = μ + b(E₁ - E₂) with E₁ and E₂ standard exponential.

    .. math:: \log f(x) = -|x - μ|/b - \log 2b
    """

    mu, b = param(real), param(positive)
    support = real
    location_scale = mu, b

    def logp(x, mu, b):
        return -abs(x - mu) / b - log(b) - LOG_2

    def logcdf(x, mu, b):
        return _log_tail((x - mu) / b)

    def logccdf(x, mu, b):
        return _log_tail((mu - x) / b)

    def icdf(q, mu, b):
        return mu + b * switch(q < 0.5, log(2 * q), -log(2 * (1 - q)))

    def sample(key, shape, mu, b):
        return mu + b * key.laplace(shape)

    def mean(mu, b):
        return mu

    def variance(mu, b):
        return 2 * b**2

    def mode(mu, b):
        return mu

    def entropy(mu, b):
        return 1 + LOG_2 + log(b)

    def fisher_information(mu, b):
        return {"mu": b**-2.0}

    @change_to(Exponential, "the distance of {} from its center", data=("mu",), increasing=False)
    def change_of_variables(y, mu, b):
        return abs(y - mu), (1.0 / b,), -LOG_2

    def logp_of_distances(below, above, n, mu, b):
        return -(below + above) / b - n * log(2.0 * b)


def _log_tail(z):
    return switch(z < 0, z - LOG_2, log1p(-0.5 * exp(-switch(z < 0, 0.0, z))))
