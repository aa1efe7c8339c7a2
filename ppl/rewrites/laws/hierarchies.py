"""Laws of draws whose parameter is itself drawn: thinned counts, and mixtures by a conjugate law."""

from __future__ import annotations

from ppl.distributions import (
    Bernoulli,
    Beta,
    BetaBinomial,
    Binomial,
    Exponential,
    Gamma,
    InverseGamma,
    LogNormal,
    Lomax,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
)
from ppl.rewrites.laws.rule import equal_in_law
from ppl.tensor import sqrt


@equal_in_law(examples={"mu": 4.0, "p": 0.3})
def thinned_poisson(mu, p):
    """Binomial(Poisson(μ), p) = Poisson(pμ)."""
    return Binomial.dist(Poisson.dist(mu), p), Poisson.dist(p * mu)


@equal_in_law(examples={"n": 7, "q": 0.6, "p": 0.3})
def thinned_binomial(n, q, p):
    """Binomial(Binomial(n, q), p) = Binomial(n, p q)."""
    return Binomial.dist(Binomial.dist(n, q), p), Binomial.dist(n, p * q)


@equal_in_law(examples={"n": 2.5, "q": 0.4, "p": 0.3})
def thinned_negative_binomial(n, q, p):
    """Binomial(NB(n, q), p) = NB(n, q / (q + p(1 - q)))."""
    left = Binomial.dist(NegativeBinomial.dist(n=n, p=q), p)
    return left, NegativeBinomial.dist(n=n, p=q / (q + p * (1.0 - q)))


@equal_in_law
def poisson_of_gamma(a, rate):
    """Poisson(Gamma(α, β)) = NB(α, β / (β + 1))."""
    return Poisson.dist(Gamma.dist(a, rate)), NegativeBinomial.dist(n=a, p=rate / (rate + 1.0))


@equal_in_law(examples={"a": 1.5, "b": 2.5})
def bernoulli_of_beta(a, b):
    """Bernoulli(Beta(a, b)) = Bernoulli(a / (a + b))."""
    return Bernoulli.dist(Beta.dist(a, b)), Bernoulli.dist(a / (a + b))


@equal_in_law(examples={"n": 7, "a": 1.5, "b": 2.5})
def binomial_of_beta(n, a, b):
    """Binomial(n, Beta(a, b)) = BetaBinomial(n, a, b)."""
    return Binomial.dist(n, Beta.dist(a, b)), BetaBinomial.dist(n=n, alpha=a, beta=b)


@equal_in_law
def normal_of_normal(m, s, t):
    """N(N(m, s), t) = N(m, √(s² + t²))."""
    return Normal.dist(Normal.dist(m, s), t), Normal.dist(m, sqrt(s**2 + t**2))


@equal_in_law
def log_normal_of_normal(m, s, t):
    """LN(N(m, s), t) = LN(m, √(s² + t²))."""
    return LogNormal.dist(Normal.dist(m, s), t), LogNormal.dist(m, sqrt(s**2 + t**2))


@equal_in_law
def normal_of_variance(m, a, b):
    """N(m, √IG(α, β)) = StudentT(2α, m, √(β/α))."""
    left = Normal.dist(m, sqrt(InverseGamma.dist(a, b)))
    return left, StudentT.dist(nu=2.0 * a, mu=m, sigma=sqrt(b / a))


@equal_in_law
def normal_of_precision(m, a, b):
    """N(m, 1/√Gamma(α, β)) = StudentT(2α, m, √(β/α))."""
    return Normal.dist(m, tau=Gamma.dist(a, b)), StudentT.dist(nu=2.0 * a, mu=m, sigma=sqrt(b / a))


@equal_in_law
def exponential_of_gamma(a, b):
    """Exp(Gamma(α, β)) = Lomax(α, β)."""
    return Exponential.dist(Gamma.dist(a, b)), Lomax.dist(alpha=a, m=b)
