from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import positive, real
from ppl.tensor import abs, cosh, exp, log1p, switch, tanh
from ppl.tensor.sampling.polya_gamma import log_polya_gamma, log_polya_gamma_ccdf, log_polya_gamma_cdf, polya_gamma


class PolyaGamma(Distribution):
    r"""The mixing law that makes logistic likelihoods normal: an infinite sum of gammas.

    .. math:: f(x) = \cosh^h(z/2)\, e^{-xz^2/2} \sum_{n=0}^\infty (-1)^n \frac{2^{h-1}Γ(n + h)(2n + h)}
              {Γ(h)\,n!\,\sqrt{2πx^3}}\, e^{-(2n+h)^2/8x}, \qquad x > 0
    """

    h, z = param(positive, 1.0), param(real, 0.0)
    support = positive
    in_pytensor = InPyTensor(shown="PG")

    def logp(x, h, z):
        half = abs(z) / 2
        return log_polya_gamma(x, h) - 0.5 * x * z**2 + h * (half + log1p(exp(-2 * half)) - LOG_2)

    def logcdf(x, h, z):
        return log_polya_gamma_cdf(x, h, z)

    def logccdf(x, h, z):
        return log_polya_gamma_ccdf(x, h, z)

    def sample(key, shape, h, z):
        return polya_gamma(key.next(), h, z, shape=shape)

    def mean(h, z):
        half = _away(z) / 2
        return h / 4 * switch(_small(z), 1 - z**2 / 12 + z**4 / 120, tanh(half) / half)

    def variance(h, z):
        far = _away(z)
        ratio = (2 * tanh(far / 2) - far / cosh(far / 2) ** 2) / (4 * far**3)
        return h * switch(_small(z), 1 / 24 - z**2 / 120 + 17 * z**4 / 13440, ratio)


def _small(z):
    return abs(z) < 0.03


def _away(z):
    """z, or 1 where the quotients lose their digits."""
    return switch(_small(z), 1.0, z)
