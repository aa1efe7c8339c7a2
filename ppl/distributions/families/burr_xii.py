import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import positive
from ppl.tensor import betaln, digamma, exp, expm1, log, log1mexp, log1p, softplus, switch


class BurrXII(Distribution):
    r"""X = s(exp(E/d) - 1)^{1/c} with E standard exponential: a Weibull whose rate is a gamma.

    .. math:: \log f(x) = \log cd - \log x + c\log(x/s) - (d + 1)\log(1 + (x/s)^c), \qquad x > 0
    """

    c, d, s = param(positive), param(positive), param(positive, 1.0)
    support = positive

    def logp(x, c, d, s):
        power = c * log(x / s)
        return log(c) + log(d) - log(x) + power - (d + 1) * softplus(power)

    def logcdf(x, c, d, s):
        return log1mexp(-d * softplus(c * log(x / s)))

    def logccdf(x, c, d, s):
        return -d * softplus(c * log(x / s))

    def icdf(q, c, d, s):
        return s * expm1(-log1p(-q) / d) ** (1 / c)

    def sample(key, shape, c, d, s):
        return s * expm1(key.exponential(shape) / d) ** (1 / c)

    def mean(c, d, s):
        return switch(c * d > 1, s * _moment(1, c, d), np.inf)

    def variance(c, d, s):
        return switch(c * d > 2, s**2 * (_moment(2, c, d) - _moment(1, c, d) ** 2), np.inf)

    def mode(c, d, s):
        inner = c > 1
        return s * switch(inner, (switch(inner, c - 1, 1.0) / (c * d + 1)) ** (1 / c), 0.0)

    def entropy(c, d, s):
        return log(s) - log(c) - log(d) + (c - 1) / c * (digamma(d) - digamma(1.0)) + 1 + 1 / d

    def support_point(c, d, s):
        return s * expm1(np.log(2.0) / d) ** (1 / c)


def _moment(n, c, d):
    short = switch(c * d > n, d - n / c, 1.0)
    return d * exp(betaln(short, 1 + n / c))
