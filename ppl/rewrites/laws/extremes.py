"""Laws of extremes, of logistic, uniform and beta variables, and of heavy tails."""

from __future__ import annotations

from ppl.distributions import (
    Beta,
    BetaPrime,
    Cauchy,
    Exponential,
    Gamma,
    Gumbel,
    HalfCauchy,
    Kumaraswamy,
    Laplace,
    Logistic,
    StudentT,
    Triangular,
    Uniform,
)
from ppl.rewrites.laws.proofs import is_equal, is_nonzero
from ppl.rewrites.laws.rule import equal_in_law
from ppl.tensor import abs, exp, log, logaddexp, maximum, minimum, sigmoid


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
def product_of_uniforms():
    """U(0, 1) U(0, 1) = exp(-Gamma(2, 1))."""
    return Uniform.dist(0.0, 1.0) * Uniform.dist(0.0, 1.0), exp(-Gamma.dist(2.0, 1.0))


@equal_in_law
def further_product_of_uniforms(a):
    """exp(-Gamma(α, 1)) U(0, 1) = exp(-Gamma(α + 1, 1))."""
    return exp(-Gamma.dist(a, 1.0)) * Uniform.dist(0.0, 1.0), exp(-Gamma.dist(a + 1.0, 1.0))


@equal_in_law
def shifted_gumbel(m, s, c):
    """Gumbel(μ, β) + c = Gumbel(μ + c, β)."""
    return Gumbel.dist(m, s) + c, Gumbel.dist(m + c, s)


@equal_in_law
def squashed_standard_logistic():
    """σ(Logistic(0, 1)) = U(0, 1)."""
    return sigmoid(Logistic.dist(0.0, 1.0)), Uniform.dist(0.0, 1.0)


@equal_in_law
def sum_of_cauchys(m1, s1, m2, s2):
    """Cauchy(x₁, γ₁) + Cauchy(x₂, γ₂) = Cauchy(x₁ + x₂, γ₁ + γ₂)."""
    return Cauchy.dist(m1, s1) + Cauchy.dist(m2, s2), Cauchy.dist(m1 + m2, s1 + s2)


@equal_in_law
def difference_of_cauchys(m1, s1, m2, s2):
    """Cauchy(x₁, γ₁) - Cauchy(x₂, γ₂) = Cauchy(x₁ - x₂, γ₁ + γ₂)."""
    return Cauchy.dist(m1, s1) - Cauchy.dist(m2, s2), Cauchy.dist(m1 - m2, s1 + s2)


@equal_in_law(when=lambda m, s, c: is_nonzero(c))
def scaled_cauchy(m, s, c):
    """c Cauchy(x, γ) = Cauchy(c x, |c| γ)."""
    return c * Cauchy.dist(m, s), Cauchy.dist(c * m, abs(c) * s)


@equal_in_law(when=lambda a, b, c, d: is_equal(b - a, d - c), examples={"a": 0.5, "b": 2.0, "c": -1.0, "d": 0.5})
def sum_of_uniforms(a, b, c, d):
    """U(a, b) + U(c, d) = Triangular(a + c, (a + b + c + d)/2, b + d) for intervals of the same length."""
    left = Uniform.dist(a, b) + Uniform.dist(c, d)
    return left, Triangular.dist(lower=a + c, c=0.5 * (a + b + c + d), upper=b + d)


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


@equal_in_law
def odds_of_beta(a, b):
    """The odds p/(1 - p) of p = Beta(α, β) are BetaPrime(α, β)."""
    p = Beta.dist(a, b)
    return p / (1.0 - p), BetaPrime.dist(a, b)


@equal_in_law(when=lambda a, b, c, d: is_equal(c, a + b), examples={"a": 1.5, "b": 0.7, "c": 2.2, "d": 1.1})
def product_of_betas(a, b, c, d):
    """Beta(α, β) Beta(α + β, γ) = Beta(α, β + γ)."""
    return Beta.dist(a, b) * Beta.dist(c, d), Beta.dist(a, b + d)


@equal_in_law(examples={"a": 2.0, "b": 3.0})
def largest_of_power_laws(a, b):
    """max(Beta(α₁, 1), Beta(α₂, 1)) = Beta(α₁ + α₂, 1)."""
    return maximum(Beta.dist(a, 1.0), Beta.dist(b, 1.0)), Beta.dist(a + b, 1.0)


@equal_in_law
def largest_of_uniforms():
    """max(U(0, 1), U(0, 1)) = Beta(2, 1)."""
    return maximum(Uniform.dist(0.0, 1.0), Uniform.dist(0.0, 1.0)), Beta.dist(2.0, 1.0)


@equal_in_law(examples={"a": 2.0, "b": 3.0, "c": 1.3})
def least_of_kumaraswamys(a, b, c):
    """min(Kumaraswamy(a, b₁), Kumaraswamy(a, b₂)) = Kumaraswamy(a, b₁ + b₂)."""
    return minimum(Kumaraswamy.dist(a, b), Kumaraswamy.dist(a, c)), Kumaraswamy.dist(a, b + c)


@equal_in_law(examples={"a": 2.0, "b": 3.0, "rate": 1.3})
def share_of_gammas(a, b, rate):
    """X / (X + Y) = Beta(α₁, α₂) for X ~ Gamma(α₁, β), Y ~ Gamma(α₂, β)."""
    x = Gamma.dist(a, rate)
    return x / (x + Gamma.dist(b, rate)), Beta.dist(a, b)


@equal_in_law(examples={"nu": 4.0, "m": 0.5, "s": 1.2, "c": -0.7})
def shifted_student(nu, m, s, c):
    """T(ν, μ, σ) + c = T(ν, μ + c, σ)."""
    return StudentT.dist(nu, m, sigma=s) + c, StudentT.dist(nu, m + c, sigma=s)
