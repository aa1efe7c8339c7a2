import numpy as np

from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import positive, real
from ppl.distributions.families.normal import Normal
from ppl.tensor import abs, log_ndtr, log_skew_ndtr, rsqrt, sqrt


class SkewNormal(Distribution):
    r"""X = μ + σ(δ|Z₁| + √(1 - δ²) Z₂) with δ = α/√(1 + α²) and Z₁, Z₂ standard normal.

    .. math:: \log f(x) = \log 2 - \tfrac12 z^2 - \log σ - \tfrac12\log 2π + \log Φ(αz), \qquad z = (x - μ)/σ
    """

    alpha, mu, sigma = param(real, 1.0), param(real, 0.0), param(positive, 1.0)
    support = real
    location_scale = mu, sigma
    from_tau = alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)
    in_pytensor = InPyTensor(
        parameters=lambda alpha, mu, sigma: (mu, sigma, alpha), given=lambda mu, sigma, alpha: (alpha, mu, sigma)
    )

    def logp(x, alpha, mu, sigma):
        return LOG_2 + Normal.stated_logp(x, mu, sigma) + log_ndtr(alpha * (x - mu) / sigma)

    def logcdf(x, alpha, mu, sigma):
        return log_skew_ndtr(alpha, (x - mu) / sigma)

    def logccdf(x, alpha, mu, sigma):
        return log_skew_ndtr(-alpha, (mu - x) / sigma)

    def sample(key, shape, alpha, mu, sigma):
        return mu + sigma * (alpha * abs(key.normal(shape)) + key.normal(shape)) / sqrt(1 + alpha**2)

    def mean(alpha, mu, sigma):
        return mu + sigma * np.sqrt(2 / np.pi) * alpha / sqrt(1 + alpha**2)

    def variance(alpha, mu, sigma):
        return sigma**2 * (1 - 2 / np.pi * alpha**2 / (1 + alpha**2))
