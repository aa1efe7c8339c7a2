import numpy as np

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.tensor import hypot, i0e, i1e, log, log_i0e, log_rice_ccdf, log_rice_cdf


class Rice(Distribution):
    r"""The length of a plane vector of normals around a point at distance ν from the origin.

    .. math:: \log f(x) = \log x - 2\log σ - \frac{x^2 + ν^2}{2σ^2} + \log I_0(xν/σ^2), \qquad x > 0
    """

    nu, sigma = param(nonnegative), param(positive, 1.0)
    support = positive
    from_ratio = alternative(lambda b: {"nu": b}, b=nonnegative)
    from_ratio_and_scale = alternative(lambda b, sigma: {"nu": b * sigma, "sigma": sigma}, b=nonnegative)
    in_pytensor = InPyTensor(
        parameters=lambda nu, sigma: (nu / sigma, sigma), given=lambda b, sigma: (b * sigma, sigma)
    )

    def logp(x, nu, sigma):
        return log(x) - 2 * log(sigma) - 0.5 * ((x - nu) / sigma) ** 2 + log_i0e(x / sigma * (nu / sigma))

    def logcdf(x, nu, sigma):
        return log_rice_cdf(x / sigma, nu / sigma)

    def logccdf(x, nu, sigma):
        return log_rice_ccdf(x / sigma, nu / sigma)

    def sample(key, shape, nu, sigma):
        return hypot(nu + sigma * key.normal(shape), sigma * key.normal(shape))

    def mean(nu, sigma):
        y = 0.5 * (nu / sigma) ** 2
        return sigma * np.sqrt(np.pi / 2) * ((1 + y) * i0e(y / 2) + y * i1e(y / 2))

    def variance(nu, sigma):
        return 2 * sigma**2 + nu**2 - Rice.mean(nu, sigma) ** 2
