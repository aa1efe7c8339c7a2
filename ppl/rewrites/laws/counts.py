"""Laws of counts: sums, products, the least of several."""

from __future__ import annotations

from ppl.distributions import (
    Bernoulli,
    Binomial,
    Geometric,
    NegativeBinomial,
    Poisson,
    Skellam,
    ZeroInflatedBinomial,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from ppl.rewrites.laws.rule import equal_in_law
from ppl.tensor import maximum, minimum, neq


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


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def either_of_bernoullis(p, q):
    """max(Bernoulli(p), Bernoulli(q)) = Bernoulli(1 - (1 - p)(1 - q))."""
    return maximum(Bernoulli.dist(p), Bernoulli.dist(q)), Bernoulli.dist(p + q - p * q)


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def both_of_bernoullis(p, q):
    """min(Bernoulli(p), Bernoulli(q)) = Bernoulli(p q)."""
    return minimum(Bernoulli.dist(p), Bernoulli.dist(q)), Bernoulli.dist(p * q)


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def either_of_bits(p, q):
    """Bernoulli(p) | Bernoulli(q) = Bernoulli(1 - (1 - p)(1 - q))."""
    return Bernoulli.dist(p) | Bernoulli.dist(q), Bernoulli.dist(p + q - p * q)


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def both_of_bits(p, q):
    """Bernoulli(p) & Bernoulli(q) = Bernoulli(p q)."""
    return Bernoulli.dist(p) & Bernoulli.dist(q), Bernoulli.dist(p * q)


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def one_of_bits(p, q):
    """Bernoulli(p) ^ Bernoulli(q) = Bernoulli(p + q - 2 p q)."""
    return Bernoulli.dist(p) ^ Bernoulli.dist(q), Bernoulli.dist(p + q - 2.0 * p * q)


@equal_in_law(examples={"p": 0.3, "q": 0.6})
def one_of_bernoullis(p, q):
    """Bernoulli(p) ≠ Bernoulli(q) as Bernoulli(p(1 - q) + q(1 - p)) > 0."""
    return neq(Bernoulli.dist(p), Bernoulli.dist(q)), Bernoulli.dist(p * (1.0 - q) + q * (1.0 - p)) > 0


@equal_in_law(examples={"p": 0.3})
def sum_of_bernoullis(p):
    """Bernoulli(p) + Bernoulli(p) = Binomial(2, p) with the same p."""
    return Bernoulli.dist(p) + Bernoulli.dist(p), Binomial.dist(2, p)


@equal_in_law(examples={"n": 4, "p": 0.3})
def sum_of_binomial_and_bernoulli(n, p):
    """Binomial(n, p) + Bernoulli(p) = Binomial(n + 1, p) with the same p."""
    return Binomial.dist(n, p) + Bernoulli.dist(p), Binomial.dist(n + 1, p)


@equal_in_law(examples={"p": 0.3})
def sum_of_geometrics(p):
    """Geometric(p) + Geometric(p) = NB(2, p) + 2 with the same p."""
    return Geometric.dist(p) + Geometric.dist(p), NegativeBinomial.dist(n=2, p=p) + 2


@equal_in_law(examples={"p": 0.3, "q": 0.2})
def least_of_geometrics(p, q):
    """min(Geometric(p), Geometric(q)) = Geometric(1 - (1 - p)(1 - q))."""
    return minimum(Geometric.dist(p), Geometric.dist(q)), Geometric.dist(1.0 - (1.0 - p) * (1.0 - q))


@equal_in_law(examples={"psi": 0.6, "mu": 2.5})
def poisson_or_zero(psi, mu):
    """Bernoulli(ψ) Poisson(μ) = ZeroInflatedPoisson(ψ, μ)."""
    return Bernoulli.dist(psi) * Poisson.dist(mu), ZeroInflatedPoisson.dist(psi=psi, mu=mu)


@equal_in_law(examples={"psi": 0.6, "n": 5, "p": 0.3})
def binomial_or_zero(psi, n, p):
    """Bernoulli(ψ) Binomial(n, p) = ZeroInflatedBinomial(ψ, n, p)."""
    return Bernoulli.dist(psi) * Binomial.dist(n, p), ZeroInflatedBinomial.dist(psi=psi, n=n, p=p)


@equal_in_law(examples={"psi": 0.6, "n": 2.5, "p": 0.3})
def negative_binomial_or_zero(psi, n, p):
    """Bernoulli(ψ) NB(n, p) = ZeroInflatedNegativeBinomial(ψ, n, p)."""
    left = Bernoulli.dist(psi) * NegativeBinomial.dist(n=n, p=p)
    return left, ZeroInflatedNegativeBinomial.dist(psi=psi, n=n, p=p)
