"""Laws of waiting times: gamma, exponential, Weibull, Pareto and Wald variables."""

from __future__ import annotations

from ppl.distributions import (
    AsymmetricLaplace,
    BetaPrime,
    ChiSquared,
    Exponential,
    Gamma,
    InverseGamma,
    Pareto,
    Wald,
    Weibull,
)
from ppl.rewrites.laws.proofs import is_equal, is_positive
from ppl.rewrites.laws.rule import equal_in_law
from ppl.tensor import minimum, sqrt


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
    left, power = minimum(Weibull.dist(shape, b1), Weibull.dist(shape, b2)), -1.0 * shape
    return left, Weibull.dist(shape, ((1.0 * b1) ** power + (1.0 * b2) ** power) ** (1 / power))


@equal_in_law
def least_of_paretos(a1, a2, m):
    """min(Pareto(α₁, m), Pareto(α₂, m)) = Pareto(α₁ + α₂, m)."""
    return minimum(Pareto.dist(a1, m), Pareto.dist(a2, m)), Pareto.dist(a1 + a2, m)


@equal_in_law
def difference_of_exponentials(a, b):
    """Exp(λ₁) - Exp(λ₂) = AsymmetricLaplace(κ = √(λ₁/λ₂), b = √(λ₁λ₂), 0)."""
    left = Exponential.dist(a) - Exponential.dist(b)
    return left, AsymmetricLaplace.dist(kappa=sqrt(a / b), mu=0.0, b=sqrt(a * b))


@equal_in_law(when=lambda rate, c: is_positive(c))
def scaled_exponential(rate, c):
    """c Exp(λ) = Exp(λ/c) for c > 0."""
    return c * Exponential.dist(rate), Exponential.dist(rate / c)


@equal_in_law(when=lambda a, rate, c: is_positive(c))
def scaled_gamma(a, rate, c):
    """c Gamma(α, β) = Gamma(α, β/c) for c > 0."""
    return c * Gamma.dist(a, rate), Gamma.dist(a, rate / c)


@equal_in_law(when=lambda nu, c: is_positive(c), examples={"nu": 3.0, "c": 0.4})
def scaled_chi_squared(nu, c):
    """c χ²(ν) = Gamma(ν/2, 1/(2c)) for c > 0."""
    return c * ChiSquared.dist(nu), Gamma.dist(0.5 * nu, 0.5 / c)


@equal_in_law(when=lambda nu, c: is_positive(c), examples={"nu": 3.0, "c": 2.5})
def divided_chi_squared(nu, c):
    """χ²(ν) / c = Gamma(ν/2, c/2) for c > 0."""
    return ChiSquared.dist(nu) / c, Gamma.dist(0.5 * nu, 0.5 * c)


@equal_in_law
def reciprocal_of_gamma(a, rate):
    """1 / Gamma(α, β) = InverseGamma(α, β)."""
    return 1.0 / Gamma.dist(a, rate), InverseGamma.dist(alpha=a, beta=rate)


@equal_in_law
def ratio_of_gammas(a, b, r1, r2):
    """Gamma(α₁, β₁) / Gamma(α₂, β₂) = BetaPrime(α₁, α₂, β₂/β₁)."""
    return Gamma.dist(a, r1) / Gamma.dist(b, r2), BetaPrime.dist(a, b, r2 / r1)


@equal_in_law(examples={"a": 3.0, "b": 5.0})
def ratio_of_chi_squared(a, b):
    """χ²(ν₁) / χ²(ν₂) = BetaPrime(ν₁/2, ν₂/2)."""
    return ChiSquared.dist(a) / ChiSquared.dist(b), BetaPrime.dist(0.5 * a, 0.5 * b, 1.0)


@equal_in_law
def lesser_of_exponentials(a, b):
    """Exp(λ₁) < Exp(λ₂) as AsymmetricLaplace(κ = √(λ₁/λ₂), b = √(λ₁λ₂), 0) < 0."""
    left = Exponential.dist(a) < Exponential.dist(b)
    return left, AsymmetricLaplace.dist(kappa=sqrt(a / b), mu=0.0, b=sqrt(a * b)) < 0.0


@equal_in_law(
    when=lambda m1, r1, m2, r2: is_equal(r1 / m1**2, r2 / m2**2), examples={"m1": 1.0, "r1": 2.0, "m2": 1.5, "r2": 4.5}
)
def sum_of_walds(m1, r1, m2, r2):
    """Wald(μ₁, λ₁) + Wald(μ₂, λ₂) = Wald(μ₁ + μ₂, (μ₁ + μ₂)² λ₁/μ₁²) for λ₁/μ₁² = λ₂/μ₂²."""
    return Wald.dist(m1, r1) + Wald.dist(m2, r2), Wald.dist(m1 + m2, (m1 + m2) ** 2 * (r1 / m1**2))
