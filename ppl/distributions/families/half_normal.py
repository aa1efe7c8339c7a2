import numpy as np

from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.constants import LOG_2, LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.families.normal import Normal
from ppl.tensor import abs, erf, erfinv, log, log_ndtr, rsqrt
from ppl.tensor.tensor import as_tensor, is_constant, value_of


def _at_zero(loc, sigma):
    if not is_constant(as_tensor(loc)) or np.any(value_of(as_tensor(loc))):
        raise NotImplementedError(f"HalfNormal begins at 0, got loc={loc!r}: subtract it from the value")
    return (sigma,)


class HalfNormal(Distribution):
    r"""X = σ|Z| with Z standard normal.

    .. math:: \log f(x) = -\tfrac12 (x/σ)^2 - \log σ + \log 2 - \tfrac12\log 2π
    """

    sigma = param(positive, 1.0)
    support = nonnegative
    scale_parameter = sigma
    from_tau = alternative(lambda tau: {"sigma": rsqrt(tau)}, tau=positive)
    in_pytensor = InPyTensor(parameters=lambda sigma: (0.0, sigma), given=lambda loc, sigma: _at_zero(loc, sigma))

    def logp(x, sigma):
        return -0.5 * (x / sigma) ** 2 - log(sigma) + LOG_2 - 0.5 * LOG_2PI

    def logcdf(x, sigma):
        return log(erf(x / sigma * np.sqrt(0.5)))

    def logccdf(x, sigma):
        return LOG_2 + log_ndtr(-x / sigma)

    def icdf(q, sigma):
        return sigma * np.sqrt(2.0) * erfinv(q)

    def sample(key, shape, sigma):
        return sigma * abs(key.normal(shape))

    def mean(sigma):
        return sigma * np.sqrt(2 / np.pi)

    def variance(sigma):
        return sigma**2 * (1 - 2 / np.pi)

    def mode(sigma):
        return 0.0 * sigma

    def entropy(sigma):
        return 0.5 * log(0.5 * np.pi * sigma**2) + 0.5

    def support_point(sigma):
        return sigma

    def natural(sigma):
        return (-0.5 / sigma**2,)

    def statistics(x):
        return (x**2,)

    def log_normalizer(sigma):
        return log(sigma) - LOG_2 + 0.5 * LOG_2PI

    def log_variance():
        return np.pi**2 / 8

    def typical_size(sigma):
        return sigma

    @change_to(Normal, "{} with either sign")
    def change_of_variables(y, sigma):
        return y, (0.0, sigma), LOG_2
