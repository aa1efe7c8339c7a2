import numpy as np

from ppl.distributions.constants import LOG_2, LOG_2PI
from ppl.distributions.distribution import Distribution, alternative, param
from ppl.distributions.domains import above, nonnegative, positive
from ppl.tensor import erfcx, log, log1mexp, log1p, log_ndtr, logaddexp, maximum, minimum, sqrt, switch


class Wald(Distribution):
    r"""When a Brownian motion of drift 1 and variance μ²/λ first reaches μ, shifted by α: the inverse Gaussian law.

    .. math:: \log f(x) = \tfrac12\log\frac{λ}{2π} - \tfrac32\log y - \frac{λ(y - μ)^2}{2μ^2 y}, \qquad y = x - α > 0
    """

    mu, lam, alpha = param(positive), param(positive, 1.0), param(nonnegative, 0.0)
    order = ("mu", "lam", "phi", "alpha")
    from_mu_and_phi = alternative(lambda mu, phi: {"mu": mu, "lam": mu * phi}, phi=positive)
    from_lam_and_phi = alternative(lambda lam, phi: {"mu": lam / phi, "lam": lam}, phi=positive)

    def support(mu, lam, alpha):
        return above(alpha)

    def logp(x, mu, lam, alpha):
        y = x - alpha
        return 0.5 * (log(lam) - LOG_2PI) - 1.5 * log(y) - 0.5 * lam / y * ((y - mu) / mu) ** 2

    def logcdf(x, mu, lam, alpha):
        v, w = _scores(x - alpha, mu, lam)
        return logaddexp(log_ndtr(v), _log_reflected(v, w))

    def logccdf(x, mu, lam, alpha):
        v, w = _scores(x - alpha, mu, lam)
        share = erfcx(w * np.sqrt(0.5)) / erfcx(maximum(v, 0.0) * np.sqrt(0.5))  # of the reflected part, where v > 0
        left = minimum(v, 0.0)
        return log_ndtr(-v) + switch(v > 0, log1p(-share), log1mexp(_log_reflected(left, w) - log_ndtr(-left)))

    def sample(key, shape, mu, lam, alpha):
        r = 0.5 * mu / lam * key.normal(shape) ** 2
        smaller = mu / (1 + r + sqrt(r * (r + 2)))
        return alpha + switch(key.uniform(shape) * (mu + smaller) <= mu, smaller, mu * (mu / smaller))

    def mean(mu, lam, alpha):
        return mu + alpha

    def variance(mu, lam, alpha):
        return mu**3 / lam

    def mode(mu, lam, alpha):
        r = 1.5 * mu / lam
        return alpha + mu / (r + sqrt(1 + r**2))


def _scores(y, mu, lam):
    root = sqrt(lam / y)
    return root * (y / mu - 1), root * (y / mu + 1)


def _log_reflected(v, w):
    """log of exp(2λ/μ) Φ(-w), where w² = v² + 4λ/μ."""
    return -0.5 * v**2 + log(erfcx(w * np.sqrt(0.5))) - LOG_2
