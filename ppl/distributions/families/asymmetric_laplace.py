from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import open_unit, positive, real
from ppl.tensor import exp, log, log1p, maximum, minimum, sqrt, switch


class AsymmetricLaplace(Distribution):
    r"""X = μ + (E₁/κ - κE₂)/b with E₁ and E₂ standard exponential, which is μ + SE/b with S = -κ with probability
    κ²/(1 + κ²) and 1/κ else.

    .. math:: \log f(x) = \log b - \log(κ + 1/κ) - b|x - μ|κ^s, \qquad s = \mathrm{sign}(x - μ)
    """

    kappa, mu, b = param(positive), param(real), param(positive)
    order = ("kappa", "mu", "b", "q")
    support = real
    location_parameter = mu
    from_quantile = alternative(lambda q: {"kappa": sqrt(q / (1 - q))}, q=open_unit)
    in_pytensor = InPyTensor(
        parameters=lambda kappa, mu, b: (b, kappa, mu), given=lambda b, kappa, mu: (kappa, mu, b), symbolic=True
    )

    def logp(x, kappa, mu, b):
        return log(b) - log(kappa + 1 / kappa) - b * _fall(x - mu, kappa)

    def logcdf(x, kappa, mu, b):
        return _log_tail(x - mu, kappa, b)

    def logccdf(x, kappa, mu, b):
        return _log_tail(mu - x, 1 / kappa, b)

    def icdf(q, kappa, mu, b):
        total = 1 + kappa**2
        left = q * total < kappa**2
        share = switch(left, q * total / kappa**2, (1 - q) * total)
        return mu + switch(left, kappa, -1 / kappa) * log(share) / b

    def sample(key, shape, kappa, mu, b):
        side = key.two_sided(kappa**2 / (1 + kappa**2), shape)
        return mu + side * switch(side < 0, kappa, 1 / kappa) / b

    def mean(kappa, mu, b):
        return mu + (1 / kappa - kappa) / b

    def variance(kappa, mu, b):
        return (kappa**2 + kappa**-2.0) / b**2

    def mode(kappa, mu, b):
        return mu

    def entropy(kappa, mu, b):
        return 1 + log(kappa + 1 / kappa) - log(b)

    def logp_of_distances(below, above, n, kappa, mu, b):
        return n * (log(b) - log(kappa + 1 / kappa)) - b * (kappa * above + below / kappa)


def _fall(d, kappa):
    return maximum(d, 0.0) * kappa - minimum(d, 0.0) / kappa


def _log_tail(d, kappa, b):
    """The logarithm of the distribution function at distance d from μ."""
    left = d < 0
    below = b * switch(left, d, 0.0) / kappa - log1p(kappa**-2.0)
    above = log1p(-exp(-b * kappa * switch(left, 0.0, d)) / (1 + kappa**2))
    return switch(left, below, above)
