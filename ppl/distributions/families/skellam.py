from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import integer, positive
from ppl.distributions.formulas.probability import log_of
from ppl.distributions.formulas.summation import falling_terms, log_tails
from ppl.tensor import abs, bessel_remainder, cast, deviance, round, sqrt, switch


class Skellam(Distribution):
    r"""The difference X₁ - X₂ of Poisson numbers with means μ₁ and μ₂.

    .. math:: f(x) = e^{-μ_1 - μ_2} (μ_1/μ_2)^{x/2} I_{|x|}(2\sqrt{μ_1 μ_2})

    It is most likely that X₁ ≈ a and X₂ ≈ b with a - b = x and ab = μ₁μ₂; about these the Bessel function is expanded.
    """

    mu1, mu2 = param(positive), param(positive)
    support = integer

    def logp(x, mu1, mu2):
        product = mu1 * mu2
        total = sqrt(x**2.0 + 4 * product)
        more = (total + abs(x)) / 2
        less = product / more
        a, b = switch(x > 0, more, less), switch(x > 0, less, more)
        return bessel_remainder(abs(x), total) - deviance(a, mu1, log_of(mu1)) - deviance(b, mu2, log_of(mu2))

    def logcdf(x, mu1, mu2):
        return _log_tails(x, mu1, mu2)[0]

    def logccdf(x, mu1, mu2):
        return _log_tails(x, mu1, mu2)[1]

    def sample(key, shape, mu1, mu2):
        return key.poisson(mu1, shape) - key.poisson(mu2, shape)

    def mean(mu1, mu2):
        return mu1 - mu2

    def variance(mu1, mu2):
        return mu1 + mu2

    def support_point(mu1, mu2):
        return cast(round(mu1 - mu2), "int64")


def _log_tails(x, mu1, mu2):
    terms = falling_terms(Skellam, x, mu1 - mu2, mu1 + mu2, mu1, mu2)
    return log_tails(Skellam, x, mu1 - mu2, terms, terms, mu1, mu2)
