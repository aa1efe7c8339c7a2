"""Laws of draws whose parameter is itself drawn: thinned counts, and mixtures by a conjugate law."""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import Any

from ppl.distributions import (
    FAMILIES,
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


def _thinned(family: Any) -> None:
    """A count each of which is seen with probability p, by the fact of its family."""
    names = list(family.params)

    def law(share: Any, *given: Any) -> tuple[Any, Any]:
        seen = family.thinned(share, *given)
        count, left = (family.dist(**dict(zip(names, each, strict=True))) for each in (given, seen))
        return Binomial.dist(count, share), left

    words = re.sub(r"(?<!^)(?=[A-Z])", "_", family.__name__).lower()
    law.__name__, law.__doc__ = f"thinned_{words}", f"Binomial({family.__name__}, p) = {family.__name__}."
    law.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in ("share", *names)])  # type: ignore[attr-defined]
    values = [declared.domain.examples[-1] for declared in family.params.values()]
    equal_in_law(examples={"share": 0.3, **dict(zip(names, values, strict=True))})(law)


for _family in FAMILIES.values():
    if _family.thinned:
        _thinned(_family)


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
