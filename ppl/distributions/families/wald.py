import numpy as np

from ppl.distributions.declaration.constants import LOG_2, LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, alternative, param
from ppl.distributions.declaration.domains import above, nonnegative, positive
from ppl.distributions.declaration.rows import NotSummed
from ppl.tensor import (
    cast,
    erfcx,
    isinf,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    maximum,
    minimum,
    sqrt,
    sum,
    switch,
)


class Wald(Distribution):
    r"""When a Brownian motion of drift 1 and variance μ²/λ first reaches μ, shifted by α: the inverse Gaussian law.
    An infinite μ stands for no drift.

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
        return 0.5 * (log(lam) - LOG_2PI) - 1.5 * log(y) - 0.5 * lam / y * _off(y, mu) ** 2

    def logcdf(x, mu, lam, alpha):
        v, w = _scores(x - alpha, mu, lam)
        return logaddexp(log_ndtr(v), _log_reflected(v, w))

    def logccdf(x, mu, lam, alpha):
        v, w = _scores(x - alpha, mu, lam)
        share = erfcx(w * np.sqrt(0.5)) / erfcx(maximum(v, 0.0) * np.sqrt(0.5))  # of the reflected part, where v > 0
        left = minimum(v, 0.0)
        return log_ndtr(-v) + switch(v > 0, log1p(-share), log1mexp(_log_reflected(left, w) - log_ndtr(-left)))

    def sample(key, shape, mu, lam, alpha):
        rate, s = 1 / mu, 0.5 * key.normal(shape) ** 2 / lam
        root = rate + s + sqrt(s) * sqrt(s + 2 * rate)  # 1/x of the smaller of the two x of this s
        return alpha + switch(key.uniform(shape) * (root + rate) <= root, 1 / root, mu * (mu * root))

    def mean(mu, lam, alpha):
        return mu + alpha

    def variance(mu, lam, alpha):
        return mu**3 / lam

    def mode(mu, lam, alpha):
        r = 1.5 * mu / lam
        return alpha + mu / (r + sqrt(1 + r**2))

    def law_of_sum(along, mu, lam, alpha):
        n = along.count
        return Wald.dist(n * along.alike(mu), n**2 * along.alike(lam), alpha=along.added(alpha))

    fixed = ("alpha",)

    def logp_of_rows(rows, mu, lam, alpha):
        """Σ(x - μ)²/x about the mean m, Σ(x - m)²/x + 2(m - μ)Σ(x - m)/x + (m - μ)²Σ1/x, for x = y - α."""
        n, x = rows.counts, cast(rows.values, "floatX") - rows.each(alpha)
        if np.any(rows.numbers(x) <= 0):
            raise NotSummed("a value lies before the beginning")
        mean = rows.sums(x) / n
        d, off = x - mean[rows.cell], mean - mu
        squares = rows.sums(d**2 / x) + 2.0 * off * rows.sums(d / x) + off**2 * rows.sums(1.0 / x)
        density = sum(0.5 * n * log(lam) - 0.5 * lam * squares / mu**2)
        return density - 1.5 * sum(log(x)) - 0.5 * rows.count * LOG_2PI


def _off(y, mu):
    """y/μ - 1, with all digits where y is near μ; -1 where there is no drift and μ is infinite, as of a Lévy law."""
    return switch(isinf(mu), -1.0, (y - mu) / mu)


def _scores(y, mu, lam):
    root = sqrt(lam / y)
    return root * (y / mu - 1), root * (y / mu + 1)


def _log_reflected(v, w):
    """log of exp(2λ/μ) Φ(-w), where w² = v² + 4λ/μ."""
    return -0.5 * v**2 + log(erfcx(w * np.sqrt(0.5))) - LOG_2
