"""Laws of normal and log-normal variables: sums, multiples, ratios, roots, and normal variables of a random scale."""

from __future__ import annotations

from ppl.distributions import (
    Cauchy,
    ExGaussian,
    Exponential,
    Gamma,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Laplace,
    LogNormal,
    Normal,
    Rice,
    SkewNormal,
    StudentT,
)
from ppl.rewrites.laws.proofs import is_nonzero, is_positive
from ppl.rewrites.laws.rule import equal_in_law
from ppl.tensor import abs, exp, log, sqrt

# What marginalization asks for as well (`compounds`), where an expression of draws is not written down.


def exponential_added(m, s, rate):
    """The law of N(m, s) + Exp(λ)."""
    return ExGaussian.dist(mu=m, sigma=s, nu=1 / rate)


def half_normal_added(m, s1, s2):
    """The law of N(m, s₁) + s₂|Z| with Z standard normal; s₂ may be negative."""
    return SkewNormal.dist(mu=m, sigma=sqrt(s1**2 + s2**2), alpha=s2 / s1)


def exponential_variance(m, s, rate):
    """The law of m + N(0, s) √Exp(λ)."""
    return Laplace.dist(m, s / sqrt(2.0 * rate))


@equal_in_law
def sum_of_normals(m1, s1, m2, s2):
    """N(m₁, s₁) + N(m₂, s₂) = N(m₁ + m₂, √(s₁² + s₂²)) for independent draws."""
    return Normal.dist(m1, s1) + Normal.dist(m2, s2), Normal.dist(m1 + m2, sqrt(s1**2 + s2**2))


@equal_in_law
def difference_of_normals(m1, s1, m2, s2):
    """N(m₁, s₁) - N(m₂, s₂) = N(m₁ - m₂, √(s₁² + s₂²))."""
    return Normal.dist(m1, s1) - Normal.dist(m2, s2), Normal.dist(m1 - m2, sqrt(s1**2 + s2**2))


@equal_in_law
def shifted_normal(m, s, c):
    """N(m, s) + c = N(m + c, s)."""
    return Normal.dist(m, s) + c, Normal.dist(m + c, s)


@equal_in_law(when=lambda m, s, c: is_nonzero(c))
def scaled_normal(m, s, c):
    """c N(m, s) = N(c m, |c| s)."""
    return c * Normal.dist(m, s), Normal.dist(c * m, abs(c) * s)


@equal_in_law
def exponential_of_normal(m, s):
    """exp N(m, s) = LogNormal(m, s)."""
    return exp(Normal.dist(m, s)), LogNormal.dist(m, s)


@equal_in_law
def logarithm_of_log_normal(m, s):
    """log LogNormal(m, s) = N(m, s)."""
    return log(LogNormal.dist(m, s)), Normal.dist(m, s)


@equal_in_law
def product_of_log_normals(m1, s1, m2, s2):
    """LogNormal(m₁, s₁) LogNormal(m₂, s₂) = LogNormal(m₁ + m₂, √(s₁² + s₂²))."""
    return LogNormal.dist(m1, s1) * LogNormal.dist(m2, s2), LogNormal.dist(m1 + m2, sqrt(s1**2 + s2**2))


@equal_in_law(when=lambda m, s, c: is_nonzero(c))
def power_of_log_normal(m, s, c):
    """LogNormal(m, s)^c = LogNormal(c m, |c| s)."""
    return LogNormal.dist(m, s) ** c, LogNormal.dist(c * m, abs(c) * s)


@equal_in_law(when=lambda m, s, c: is_positive(c))
def scaled_log_normal(m, s, c):
    """c LogNormal(m, s) = LogNormal(m + log c, s) for c > 0."""
    return c * LogNormal.dist(m, s), LogNormal.dist(m + log(c), s)


@equal_in_law
def absolute_normal(s):
    """|N(0, s)| = HalfNormal(s)."""
    return abs(Normal.dist(0.0, s)), HalfNormal.dist(s)


@equal_in_law
def normal_and_exponential(m, s, rate):
    """N(m, s) + Exp(λ) = ExGaussian(m, s, 1/λ)."""
    return Normal.dist(m, s) + Exponential.dist(rate), exponential_added(m, s, rate)


@equal_in_law
def normal_and_half_normal(m, s1, s2):
    """N(m, s₁) + HalfNormal(s₂) = SkewNormal(m, √(s₁² + s₂²), s₂/s₁), the stochastic frontier."""
    return Normal.dist(m, s1) + HalfNormal.dist(s2), half_normal_added(m, s1, s2)


@equal_in_law
def normal_less_half_normal(m, s1, s2):
    """N(m, s₁) - HalfNormal(s₂) = SkewNormal(m, √(s₁² + s₂²), -s₂/s₁)."""
    return Normal.dist(m, s1) - HalfNormal.dist(s2), half_normal_added(m, s1, -s2)


@equal_in_law
def ratio_of_centered_normals(s1, s2):
    """N(0, s₁) / N(0, s₂) = Cauchy(0, s₁/s₂)."""
    return Normal.dist(0.0, s1) / Normal.dist(0.0, s2), Cauchy.dist(0.0, s1 / s2)


@equal_in_law
def square_of_normal(s):
    """N(0, s)² = Gamma(1/2, 1/(2s²))."""
    return Normal.dist(0.0, s) ** 2.0, Gamma.dist(0.5, 0.5 / s**2)


@equal_in_law
def lesser_of_normals(m1, s1, m2, s2):
    """N(m₁, s₁) < N(m₂, s₂) as N(m₁ - m₂, √(s₁² + s₂²)) < 0."""
    return Normal.dist(m1, s1) < Normal.dist(m2, s2), Normal.dist(m1 - m2, sqrt(s1**2 + s2**2)) < 0.0


@equal_in_law
def greater_of_normals(m1, s1, m2, s2):
    """N(m₁, s₁) > N(m₂, s₂) as N(m₁ - m₂, √(s₁² + s₂²)) > 0."""
    return Normal.dist(m1, s1) > Normal.dist(m2, s2), Normal.dist(m1 - m2, sqrt(s1**2 + s2**2)) > 0.0


@equal_in_law
def ratio_of_log_normals(m1, s1, m2, s2):
    """LogNormal(m₁, s₁) / LogNormal(m₂, s₂) = LogNormal(m₁ - m₂, √(s₁² + s₂²))."""
    return LogNormal.dist(m1, s1) / LogNormal.dist(m2, s2), LogNormal.dist(m1 - m2, sqrt(s1**2 + s2**2))


@equal_in_law
def normal_by_root_of_gamma(s, a, b):
    """N(0, s) / √Gamma(α, β) = T(2α, 0, s√(β/α))."""
    return Normal.dist(0.0, s) / sqrt(Gamma.dist(a, b)), StudentT.dist(2.0 * a, 0.0, sigma=s * sqrt(b / a))


@equal_in_law
def normal_times_root_of_inverse_gamma(s, a, b):
    """N(0, s) √InverseGamma(α, β) = T(2α, 0, s√(β/α))."""
    left = Normal.dist(0.0, s) * sqrt(InverseGamma.dist(alpha=a, beta=b))
    return left, StudentT.dist(2.0 * a, 0.0, sigma=s * sqrt(b / a))


@equal_in_law
def normal_times_root_of_exponential(s, rate):
    """N(0, s) √Exp(λ) = Laplace(0, s/√(2λ))."""
    return Normal.dist(0.0, s) * sqrt(Exponential.dist(rate)), exponential_variance(0.0, s, rate)


@equal_in_law
def normal_by_root_of_exponential(s, rate):
    """N(0, s) / √Exp(λ) = T(2, 0, s√λ)."""
    return Normal.dist(0.0, s) / sqrt(Exponential.dist(rate)), StudentT.dist(2.0, 0.0, sigma=s * sqrt(rate))


@equal_in_law
def length_of_normals(m, s):
    """√(N(ν, σ)² + N(0, σ)²) = Rice(ν, σ)."""
    return sqrt(Normal.dist(m, s) ** 2.0 + Normal.dist(0.0, s) ** 2.0), Rice.dist(nu=abs(m), sigma=s)


@equal_in_law
def length_of_shifted_normal(m, s, c):
    """√((c + N(m, σ))² + N(0, σ)²) = Rice(|c + m|, σ)."""
    left = sqrt((c + Normal.dist(m, s)) ** 2.0 + Normal.dist(0.0, s) ** 2.0)
    return left, Rice.dist(nu=abs(c + m), sigma=s)


@equal_in_law
def root_of_inverse_gammas(b):
    """√InverseGamma(1/2, 1/X) = HalfCauchy(1/√b) for X ~ InverseGamma(1/2, b)."""
    inner = InverseGamma.dist(alpha=0.5, beta=b)
    return sqrt(InverseGamma.dist(alpha=0.5, beta=1.0 / inner)), HalfCauchy.dist(b**-0.5)
