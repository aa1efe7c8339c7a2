"""Families that are closed under an operation, and families that come out of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions import (
    AsymmetricLaplace,
    Bernoulli,
    Beta,
    Binomial,
    Cauchy,
    ChiSquared,
    ExGaussian,
    Exponential,
    Gamma,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Laplace,
    Logistic,
    LogNormal,
    NegativeBinomial,
    Normal,
    Pareto,
    Poisson,
    Skellam,
    SkewNormal,
    StudentT,
    Uniform,
    Weibull,
)
from ppl.rewrites.laws.rule import equal_in_law
from ppl.tensor import abs, exp, log, logaddexp, maximum, minimum, sigmoid, sqrt
from ppl.tensor.tensor import is_constant, value_of


def _positive(c: Any) -> bool:
    return is_constant(c) and bool(np.all(value_of(c) > 0))


# --- normal
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


@equal_in_law(when=lambda m, s, c: is_constant(c) and bool(np.all(value_of(c) != 0)))
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


@equal_in_law
def absolute_normal(s):
    """|N(0, s)| = HalfNormal(s)."""
    return abs(Normal.dist(0.0, s)), HalfNormal.dist(s)


@equal_in_law
def normal_and_exponential(m, s, rate):
    """N(m, s) + Exp(λ) = ExGaussian(m, s, 1/λ)."""
    return Normal.dist(m, s) + Exponential.dist(rate), ExGaussian.dist(mu=m, sigma=s, nu=1 / rate)


@equal_in_law
def normal_and_half_normal(m, s1, s2):
    """N(m, s₁) + HalfNormal(s₂) = SkewNormal(m, √(s₁² + s₂²), s₂/s₁), the stochastic frontier."""
    left = Normal.dist(m, s1) + HalfNormal.dist(s2)
    return left, SkewNormal.dist(mu=m, sigma=sqrt(s1**2 + s2**2), alpha=s2 / s1)


@equal_in_law
def normal_less_half_normal(m, s1, s2):
    """N(m, s₁) - HalfNormal(s₂) = SkewNormal(m, √(s₁² + s₂²), -s₂/s₁)."""
    left = Normal.dist(m, s1) - HalfNormal.dist(s2)
    return left, SkewNormal.dist(mu=m, sigma=sqrt(s1**2 + s2**2), alpha=-s2 / s1)


@equal_in_law
def ratio_of_centred_normals(s1, s2):
    """N(0, s₁) / N(0, s₂) = Cauchy(0, s₁/s₂)."""
    return Normal.dist(0.0, s1) / Normal.dist(0.0, s2), Cauchy.dist(0.0, s1 / s2)


# --- counts
@equal_in_law
def sum_of_poissons(a, b):
    """Poisson(λ₁) + Poisson(λ₂) = Poisson(λ₁ + λ₂)."""
    return Poisson.dist(a) + Poisson.dist(b), Poisson.dist(a + b)


@equal_in_law
def difference_of_poissons(a, b):
    """Poisson(λ₁) - Poisson(λ₂) = Skellam(λ₁, λ₂)."""
    return Poisson.dist(a) - Poisson.dist(b), Skellam.dist(a, b)


@equal_in_law(examples={"n1": 3, "n2": 5, "p": 0.3})
def sum_of_binomials(n1, n2, p):
    """Binomial(n₁, p) + Binomial(n₂, p) = Binomial(n₁ + n₂, p) with the same p."""
    return Binomial.dist(n1, p) + Binomial.dist(n2, p), Binomial.dist(n1 + n2, p)


@equal_in_law(examples={"n1": 1.5, "n2": 2.5, "p": 0.4})
def sum_of_negative_binomials(n1, n2, p):
    """NB(n₁, p) + NB(n₂, p) = NB(n₁ + n₂, p) with the same p."""
    left = NegativeBinomial.dist(n=n1, p=p) + NegativeBinomial.dist(n=n2, p=p)
    return left, NegativeBinomial.dist(n=n1 + n2, p=p)


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def product_of_bernoullis(p, q):
    """Bernoulli(p) Bernoulli(q) = Bernoulli(p q)."""
    return Bernoulli.dist(p) * Bernoulli.dist(q), Bernoulli.dist(p * q)


# --- waiting times
@equal_in_law
def sum_of_gammas(a1, a2, rate):
    """Gamma(α₁, β) + Gamma(α₂, β) = Gamma(α₁ + α₂, β) with the same β."""
    return Gamma.dist(a1, rate) + Gamma.dist(a2, rate), Gamma.dist(a1 + a2, rate)


@equal_in_law
def sum_of_exponentials(rate):
    """Exp(λ) + Exp(λ) = Gamma(2, λ) with the same λ."""
    return Exponential.dist(rate) + Exponential.dist(rate), Gamma.dist(2.0, rate)


@equal_in_law
def sum_of_gamma_and_exponential(a, rate):
    """Gamma(α, λ) + Exp(λ) = Gamma(α + 1, λ) with the same λ."""
    return Gamma.dist(a, rate) + Exponential.dist(rate), Gamma.dist(a + 1.0, rate)


@equal_in_law(examples={"a": 3.0, "b": 5.0})
def sum_of_chi_squared(a, b):
    """χ²(a) + χ²(b) = χ²(a + b)."""
    return ChiSquared.dist(a) + ChiSquared.dist(b), ChiSquared.dist(a + b)


@equal_in_law
def least_of_exponentials(a, b):
    """min(Exp(λ₁), Exp(λ₂)) = Exp(λ₁ + λ₂)."""
    return minimum(Exponential.dist(a), Exponential.dist(b)), Exponential.dist(a + b)


@equal_in_law
def least_of_weibulls(shape, b1, b2):
    """min(Weibull(α, β₁), Weibull(α, β₂)) = Weibull(α, (β₁^-α + β₂^-α)^(-1/α))."""
    left = minimum(Weibull.dist(shape, b1), Weibull.dist(shape, b2))
    return left, Weibull.dist(shape, (b1**-shape + b2**-shape) ** (-1 / shape))


@equal_in_law
def least_of_paretos(a1, a2, m):
    """min(Pareto(α₁, m), Pareto(α₂, m)) = Pareto(α₁ + α₂, m)."""
    return minimum(Pareto.dist(a1, m), Pareto.dist(a2, m)), Pareto.dist(a1 + a2, m)


@equal_in_law
def difference_of_exponentials(a, b):
    """Exp(λ₁) - Exp(λ₂) = AsymmetricLaplace(κ = √(λ₁/λ₂), b = √(λ₁λ₂), 0)."""
    left = Exponential.dist(a) - Exponential.dist(b)
    return left, AsymmetricLaplace.dist(kappa=sqrt(a / b), mu=0.0, b=sqrt(a * b))


@equal_in_law(when=lambda rate, c: _positive(c))
def scaled_exponential(rate, c):
    """c Exp(λ) = Exp(λ/c) for c > 0."""
    return c * Exponential.dist(rate), Exponential.dist(rate / c)


@equal_in_law(when=lambda a, rate, c: _positive(c))
def scaled_gamma(a, rate, c):
    """c Gamma(α, β) = Gamma(α, β/c) for c > 0."""
    return c * Gamma.dist(a, rate), Gamma.dist(a, rate / c)


@equal_in_law
def reciprocal_of_gamma(a, rate):
    """1 / Gamma(α, β) = InverseGamma(α, β)."""
    return 1.0 / Gamma.dist(a, rate), InverseGamma.dist(alpha=a, beta=rate)


# --- extremes, logistic, uniform, heavy tails
@equal_in_law
def largest_of_gumbels(m1, m2, s):
    """max(Gumbel(μ₁, β), Gumbel(μ₂, β)) = Gumbel(β log(e^(μ₁/β) + e^(μ₂/β)), β)."""
    return maximum(Gumbel.dist(m1, s), Gumbel.dist(m2, s)), Gumbel.dist(s * logaddexp(m1 / s, m2 / s), s)


@equal_in_law
def difference_of_gumbels(m1, m2, s):
    """Gumbel(μ₁, β) - Gumbel(μ₂, β) = Logistic(μ₁ - μ₂, β)."""
    return Gumbel.dist(m1, s) - Gumbel.dist(m2, s), Logistic.dist(m1 - m2, s)


@equal_in_law
def minus_logarithm_of_exponential(rate):
    """-log Exp(λ) = Gumbel(log λ, 1)."""
    return -log(Exponential.dist(rate)), Gumbel.dist(log(rate), 1.0)


@equal_in_law
def minus_logarithm_of_uniform():
    """-log U(0, 1) = Exp(1)."""
    return -log(Uniform.dist(0.0, 1.0)), Exponential.dist(1.0)


@equal_in_law
def squashed_standard_logistic():
    """σ(Logistic(0, 1)) = U(0, 1)."""
    return sigmoid(Logistic.dist(0.0, 1.0)), Uniform.dist(0.0, 1.0)


@equal_in_law
def sum_of_cauchys(m1, s1, m2, s2):
    """Cauchy(x₁, γ₁) + Cauchy(x₂, γ₂) = Cauchy(x₁ + x₂, γ₁ + γ₂)."""
    return Cauchy.dist(m1, s1) + Cauchy.dist(m2, s2), Cauchy.dist(m1 + m2, s1 + s2)


@equal_in_law
def absolute_cauchy(s):
    """|Cauchy(0, γ)| = HalfCauchy(γ)."""
    return abs(Cauchy.dist(0.0, s)), HalfCauchy.dist(s)


@equal_in_law
def absolute_laplace(s):
    """|Laplace(0, b)| = Exp(1/b)."""
    return abs(Laplace.dist(0.0, s)), Exponential.dist(1 / s)


@equal_in_law(examples={"a": 2.0, "b": 3.0})
def reflected_beta(a, b):
    """1 - Beta(α, β) = Beta(β, α)."""
    return 1.0 - Beta.dist(a, b), Beta.dist(b, a)


@equal_in_law(examples={"a": 2.0, "b": 3.0, "rate": 1.3})
def share_of_gammas(a, b, rate):
    """X / (X + Y) = Beta(α₁, α₂) for X ~ Gamma(α₁, β), Y ~ Gamma(α₂, β)."""
    x = Gamma.dist(a, rate)
    return x / (x + Gamma.dist(b, rate)), Beta.dist(a, b)


@equal_in_law(examples={"nu": 4.0, "m": 0.5, "s": 1.2, "c": -0.7})
def shifted_student(nu, m, s, c):
    """T(ν, μ, σ) + c = T(ν, μ + c, σ)."""
    return StudentT.dist(nu, m, sigma=s) + c, StudentT.dist(nu, m + c, sigma=s)
