import numpy as np

from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import erfcx, log, log1mexp, log1p, log_ndtr, logaddexp, maximum, switch


class ExGaussian(Distribution):
    r"""X = μ + σZ + νE with Z standard normal and E standard exponential.

    .. math:: \log f(x) = \tfrac12 r^2 - rz + \log Φ(z - r) - \log ν, \qquad z = (x - μ)/σ,\; r = σ/ν
    """

    mu, sigma, nu = param(real, 0.0), param(positive, 1.0), param(positive)
    support = real
    in_pytensor = InPyTensor(symbolic=True)

    def logp(x, mu, sigma, nu):
        return _log_weight((x - mu) / sigma, sigma / nu) - log(nu)

    def logcdf(x, mu, sigma, nu):
        z = (x - mu) / sigma
        below = log_ndtr(z)
        left = maximum(-z, 0.0) * np.sqrt(0.5)
        share = erfcx(left + sigma / nu * np.sqrt(0.5)) / erfcx(left)  # of the weight in Φ(z), where z < 0
        right = log1mexp(_log_weight(maximum(z, 0.0), sigma / nu) - log_ndtr(maximum(z, 0.0)))
        return below + switch(z < 0, log1p(-share), right)

    def logccdf(x, mu, sigma, nu):
        z = (x - mu) / sigma
        return logaddexp(log_ndtr(-z), _log_weight(z, sigma / nu))

    def sample(key, shape, mu, sigma, nu):
        return mu + sigma * key.normal(shape) + nu * key.exponential(shape)

    def mean(mu, sigma, nu):
        return mu + nu

    def variance(mu, sigma, nu):
        return sigma**2 + nu**2


def _log_weight(z, r):
    """log of exp(r²/2 - rz) Φ(z - r); where z < r by the scaled error function, so that nothing cancels."""
    far = -0.5 * z**2 + log(erfcx(maximum(r - z, 0.0) * np.sqrt(0.5))) - LOG_2
    near = 0.5 * r * (r - 2 * z) + log_ndtr(z - r)
    return switch(z < r, far, near)
