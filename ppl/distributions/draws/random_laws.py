"""The laws of `ppl.tensor.random` that are families: draws of these have a density, as they have in PyTensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.distributions.families.bernoulli import Bernoulli
from ppl.distributions.families.beta import Beta
from ppl.distributions.families.beta_binomial import BetaBinomial
from ppl.distributions.families.binomial import Binomial
from ppl.distributions.families.categorical import Categorical
from ppl.distributions.families.cauchy import Cauchy
from ppl.distributions.families.chi_squared import ChiSquared
from ppl.distributions.families.dirichlet import Dirichlet
from ppl.distributions.families.discrete_uniform import DiscreteUniform
from ppl.distributions.families.exponential import Exponential
from ppl.distributions.families.gamma import Gamma
from ppl.distributions.families.geometric import Geometric
from ppl.distributions.families.gumbel import Gumbel
from ppl.distributions.families.half_cauchy import HalfCauchy
from ppl.distributions.families.half_normal import HalfNormal
from ppl.distributions.families.hyper_geometric import HyperGeometric
from ppl.distributions.families.inverse_gamma import InverseGamma
from ppl.distributions.families.laplace import Laplace
from ppl.distributions.families.log_normal import LogNormal
from ppl.distributions.families.logistic import Logistic
from ppl.distributions.families.multinomial import Multinomial
from ppl.distributions.families.mv_normal import MvNormal
from ppl.distributions.families.negative_binomial import NegativeBinomial
from ppl.distributions.families.normal import Normal
from ppl.distributions.families.pareto import Pareto
from ppl.distributions.families.poisson import Poisson
from ppl.distributions.families.student_t import StudentT
from ppl.distributions.families.triangular import Triangular
from ppl.distributions.families.uniform import Uniform
from ppl.distributions.families.von_mises import VonMises
from ppl.distributions.families.wald import Wald
from ppl.distributions.families.weibull import Weibull
from ppl.tensor.sampling import random_laws
from ppl.tensor.tensor import as_tensor


def _law(name: str, family: Any, parameters: Callable[..., dict[str, Any] | None]) -> None:
    """Enter a law: the family's parameters from those of the function, by the names that `LAWS` has; None where the
    family has no such member."""

    def draw(how: dict[str, Any], **given: Any) -> Any:
        own = parameters(**given)
        return None if own is None else family.dist(**own, **how)

    random_laws.WITH_DENSITY[name] = draw


def _unmoved(parameter: str) -> Callable[..., dict[str, Any] | None]:
    """The scale of a law on the half line, where that begins at 0."""
    return lambda loc, scale: {parameter: scale} if np.array_equal(loc, 0) else None


def _below(high: Any, low: Any = 0) -> dict[str, Any]:
    return {"lower": low, "upper": as_tensor(high) - 1}


_law("normal", Normal, lambda loc, scale: {"mu": loc, "sigma": scale})
_law("lognormal", LogNormal, lambda mean, sigma: {"mu": mean, "sigma": sigma})
_law("uniform", Uniform, lambda low, high: {"lower": low, "upper": high})
_law("halfnormal", HalfNormal, _unmoved("sigma"))
_law("halfcauchy", HalfCauchy, _unmoved("beta"))
_law("cauchy", Cauchy, lambda loc, scale: {"alpha": loc, "beta": scale})
_law("laplace", Laplace, lambda loc, scale: {"mu": loc, "b": scale})
_law("logistic", Logistic, lambda loc, scale: {"mu": loc, "s": scale})
_law("gumbel", Gumbel, lambda loc, scale: {"mu": loc, "beta": scale})
_law("t", StudentT, lambda df, loc, scale: {"nu": df, "mu": loc, "sigma": scale})
_law("exponential", Exponential, lambda scale: {"scale": scale})
_law(
    "gamma", Gamma, lambda shape, rate, scale: {"alpha": shape, "beta": rate if scale is None else 1 / as_tensor(scale)}
)
_law("chisquare", ChiSquared, lambda df: {"nu": df})
_law("invgamma", InverseGamma, lambda shape, scale: {"alpha": shape, "beta": scale})
_law("beta", Beta, lambda a, b: {"alpha": a, "beta": b})
_law("pareto", Pareto, lambda b, scale: {"alpha": b, "m": scale})
_law("weibull", Weibull, lambda shape: {"alpha": shape, "beta": 1.0})
_law("triangular", Triangular, lambda left, mode, right: {"lower": left, "c": mode, "upper": right})
_law("wald", Wald, lambda mean, scale: {"mu": mean, "lam": scale})
_law("vonmises", VonMises, lambda mu, kappa: {"mu": mu, "kappa": kappa})
_law("bernoulli", Bernoulli, lambda p: {"p": p})
_law("binomial", Binomial, lambda n, p: {"n": n, "p": p})
_law("negative_binomial", NegativeBinomial, lambda n, p: {"n": n, "p": p})
_law("beta_binomial", BetaBinomial, lambda n, a, b: {"n": n, "alpha": a, "beta": b})
_law("geometric", Geometric, lambda p: {"p": p})
_law(
    "hypergeometric",
    HyperGeometric,
    lambda ngood, nbad, nsample: {"N": ngood + as_tensor(nbad), "k": ngood, "n": nsample},
)
_law("poisson", Poisson, lambda lam: {"mu": lam})
_law("integers", DiscreteUniform, lambda low, high: _below(low) if high is None else _below(high, low))
_law("categorical", Categorical, lambda p: {"p": p})
_law("dirichlet", Dirichlet, lambda alphas: {"a": alphas})
_law("multinomial", Multinomial, lambda n, p: {"n": n, "p": p})
_law(
    "multivariate_normal",
    MvNormal,
    lambda mean, cov, method: {"mu": mean, "cov": cov, "method": method or "cholesky"},
)
