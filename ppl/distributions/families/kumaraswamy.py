import numpy as np

from ppl.distributions.declaration.change_of_variables import change_to
from ppl.distributions.declaration.constants import EULER_GAMMA
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import positive, unit
from ppl.distributions.families.exponential import Exponential
from ppl.distributions.formulas.power_terms import log_density_at_end
from ppl.tensor import betaln, digamma, exp, log, log1mexp, log1p, switch


class Kumaraswamy(Distribution):
    r"""X = (1 - U^{1/b})^{1/a} with U uniform.

    .. math:: \log f(x) = \log a + \log b + (a - 1)\log x + (b - 1)\log(1 - x^a), \qquad 0 \le x \le 1
    """

    a, b = param(positive), param(positive)
    support = unit
    in_pytensor = InPyTensor(symbolic=True)

    def logp(x, a, b):
        within = (x > 0) & (x < 1)
        log_x = log(switch(within, x, 0.5))
        ends = switch(x > 0, log_density_at_end(b, log(a)), log_density_at_end(a, log(b)))
        return switch(within, log(a) + log(b) + (a - 1) * log_x + (b - 1) * log1mexp(a * log_x), ends)

    def logcdf(x, a, b):
        return log1mexp(b * log1mexp(a * log(x)))

    def logccdf(x, a, b):
        return b * log1mexp(a * log(x))

    def icdf(q, a, b):
        return exp(log1mexp(log1p(-q) / b) / a)

    def sample(key, shape, a, b):
        return exp(log1mexp(-key.exponential(shape) / b) / a)

    def mean(a, b):
        return _moment(1, a, b)

    def variance(a, b):
        return _moment(2, a, b) - _moment(1, a, b) ** 2

    def mode(a, b):
        inner = (a > 1) & (b > 1)
        return switch(inner, (switch(inner, a - 1, 0.5) / (a * b - 1)) ** (1 / a), np.nan)

    def entropy(a, b):
        return 1 - 1 / b + (1 - 1 / a) * (digamma(b + 1) + EULER_GAMMA) - log(a * b)

    @change_to(Exponential, "-log(1 - {}^a)", data=("a",))
    def change_of_variables(y, a, b):
        return -log1p(-(y**a)), (b,), log(a) + (a - 1.0) * log(y) - log1p(-(y**a))


def _moment(n, a, b):
    return exp(log(b) + betaln(1 + n / a, b))
