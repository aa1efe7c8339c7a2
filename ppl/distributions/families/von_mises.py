import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import circle, positive, real
from ppl.tensor import arctan2, clip, cos, i0e, i1e, log, log_von_mises_cdf, round, sin
from ppl.tensor.sampling import draws


class VonMises(Distribution):
    r"""An angle around μ, concentrated by κ.

    .. math:: \log f(x) = κ\cos(x - μ) - \log 2π - \log I_0(κ), \qquad -π \le x \le π
    """

    mu, kappa = param(real, 0.0), param(positive, 1.0)
    support = circle

    def logp(x, mu, kappa):
        return -2 * kappa * sin((x - mu) / 2) ** 2 - LOG_2PI - log(i0e(kappa))

    def logcdf(x, mu, kappa):
        return log_von_mises_cdf(x, mu, kappa)

    def logccdf(x, mu, kappa):
        return log_von_mises_cdf(-x, -mu, kappa)

    def sample(key, shape, mu, kappa):
        angle = arctan2(sin(mu), cos(mu)) + draws.von_mises(key.next(), kappa, shape=shape)
        return clip(angle - 2 * np.pi * round(angle / (2 * np.pi)), -np.pi, np.pi)

    def mode(mu, kappa):
        return arctan2(sin(mu), cos(mu))

    def entropy(mu, kappa):
        return LOG_2PI + log(i0e(kappa)) + kappa * (1 - i1e(kappa) / i0e(kappa))

    def support_point(mu, kappa):
        return arctan2(sin(mu), cos(mu))

    def natural(mu, kappa):
        return kappa * cos(mu), kappa * sin(mu)

    def statistics(x):
        return cos(x), sin(x)

    def log_normalizer(mu, kappa):
        return LOG_2PI + log(i0e(kappa)) + kappa
