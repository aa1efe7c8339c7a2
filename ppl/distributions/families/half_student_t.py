import numpy as np

from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, alternative, param
from ppl.distributions.declaration.domains import nonnegative, positive
from ppl.distributions.families.student_t import StudentT
from ppl.tensor import abs, betaln, exp, log, log_beta_cdf, logit_betaincinv, polygamma, rsqrt, sqrt, switch


class HalfStudentT(Distribution):
    r"""X = σ|T| with T Student's t of ν degrees of freedom.

    .. math:: \log f(x) = \log 2 + \log\frac{Γ((ν+1)/2)}{Γ(ν/2)\sqrt{πν}} - \log σ - \tfrac{ν+1}2\log(1 + (x/σ)^2/ν)
    """

    nu, sigma = param(positive), param(positive, 1.0)
    support = nonnegative
    scale_parameter = sigma
    from_lam = alternative(lambda lam: {"sigma": rsqrt(lam)}, lam=positive)
    in_pytensor = InPyTensor(symbolic=True)

    def logp(x, nu, sigma):
        return LOG_2 + StudentT.stated_logp(x, nu, 0.0, sigma)

    def logcdf(x, nu, sigma):
        return log_beta_cdf(0.5, nu / 2, 2 * log(x / sigma) - log(nu))

    def logccdf(x, nu, sigma):
        return log_beta_cdf(nu / 2, 0.5, log(nu) - 2 * log(x / sigma))

    def icdf(q, nu, sigma):
        return sigma * sqrt(nu) * exp(logit_betaincinv(0.5, nu / 2, q) / 2)

    def sample(key, shape, nu, sigma):
        return sigma * abs(key.student_t(nu, shape))

    def mean(nu, sigma):
        return switch(nu > 1, sigma * 2 * sqrt(nu) * exp(-betaln(nu / 2, 0.5)) / (nu - 1), np.inf)

    def variance(nu, sigma):
        return switch(nu > 2, sigma**2 * nu / (nu - 2) - HalfStudentT.mean(nu, sigma) ** 2, np.inf)

    def mode(nu, sigma):
        return 0.0 * sigma

    def entropy(nu, sigma):
        return StudentT.entropy(nu, 0.0, sigma) - LOG_2

    def support_point(nu, sigma):
        return sigma

    def log_variance(nu):
        return np.pi**2 / 8 + polygamma(1, nu / 2) / 4

    def typical_size(nu, sigma):
        return sigma
