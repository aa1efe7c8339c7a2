"""What `distributions.py` draws: each family that PyMC can draw, by arguments that both packages take.

The arguments are a function of the package, whose laws may stand inside others. A case draws 1e6 numbers: whole vectors
of independent ones where a value has axes. Two cases of a family stand for two of its algorithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

N = 1_000_000


class Case(NamedTuple):
    """A family and its arguments; `numbers` of them make up one value; jax.random's own sampler of n values."""

    family: str
    arguments: Callable[[Any], Mapping[str, Any]]
    numbers: int = 1
    jax: Callable[[Any, int], Any] | None = None


def case(family: str, numbers: int = 1, jax: Callable[[Any, int], Any] | None = None, **arguments: Any) -> Case:
    return Case(family, lambda package: arguments, numbers, jax)


R = jax.random
FIVE = np.array([0.3, 0.1, 0.25, 0.15, 0.2])
COV = 0.5 * np.eye(5) + 0.5
CHAIN = np.eye(20, k=1) + np.eye(20, k=-1)
STEPS = 100

CONTINUOUS = [
    case("AsymmetricLaplace", kappa=0.5, mu=0.0, b=1.0),
    case("Beta", alpha=2.0, beta=3.0, jax=lambda k, n: R.beta(k, 2.0, 3.0, (n,))),
    case("Cauchy", alpha=0.0, beta=1.0, jax=lambda k, n: R.cauchy(k, (n,))),
    case("ChiSquared", nu=5.0, jax=lambda k, n: R.chisquare(k, 5.0, shape=(n,))),
    case("ExGaussian", mu=0.0, sigma=1.0, nu=2.0),
    case("Exponential", lam=1.5, jax=lambda k, n: R.exponential(k, (n,)) / 1.5),
    case("Gamma", alpha=2.5, beta=1.0, jax=lambda k, n: R.gamma(k, 2.5, (n,))),
    case("Gumbel", mu=0.0, beta=1.0, jax=lambda k, n: R.gumbel(k, (n,))),
    case("HalfCauchy", beta=1.0),
    case("HalfNormal", sigma=1.0),
    case("HalfStudentT", nu=4.0, sigma=1.0),
    case("HurdleGamma", psi=0.8, alpha=2.0, beta=1.0),
    case("HurdleLogNormal", psi=0.8, mu=0.0, sigma=1.0),
    case("Interpolated", x_points=np.linspace(-3, 3, 50), pdf_points=np.exp(-(np.linspace(-3, 3, 50) ** 2) / 2)),
    case("InverseGamma", alpha=3.0, beta=1.0),
    case("Kumaraswamy", a=2.0, b=3.0),
    case("Laplace", mu=0.0, b=1.0, jax=lambda k, n: R.laplace(k, (n,))),
    case("LogNormal", mu=0.0, sigma=1.0, jax=lambda k, n: jnp.exp(R.normal(k, (n,)))),
    case("Logistic", mu=0.0, s=1.0, jax=lambda k, n: R.logistic(k, (n,))),
    case("LogitNormal", mu=0.0, sigma=1.0),
    case("Moyal", mu=0.0, sigma=1.0),
    case("Normal", mu=0.0, sigma=1.0, jax=lambda k, n: R.normal(k, (n,))),
    case("Pareto", alpha=2.0, m=1.0, jax=lambda k, n: R.pareto(k, 2.0, (n,))),
    case("PolyaGamma", h=1.0, z=0.5),
    case("Rayleigh", sigma=1.0, jax=lambda k, n: R.rayleigh(k, 1.0, (n,))),
    case("Rice", nu=1.0, sigma=1.0),
    case("SkewNormal", alpha=2.0, mu=0.0, sigma=1.0),
    case("SkewStudentT", a=3.0, b=4.0, mu=0.0, sigma=1.0),
    case("StudentT", nu=4.0, mu=0.0, sigma=1.0, jax=lambda k, n: R.t(k, 4.0, (n,))),
    case("Triangular", lower=0.0, c=0.4, upper=1.0, jax=lambda k, n: R.triangular(k, 0.0, 0.4, 1.0, (n,))),
    case("TruncatedNormal", mu=0.0, sigma=1.0, lower=-1.0, upper=2.0,
         jax=lambda k, n: R.truncated_normal(k, -1.0, 2.0, (n,))),
    case("Uniform", lower=0.0, upper=1.0, jax=lambda k, n: R.uniform(k, (n,))),
    case("VonMises", mu=0.0, kappa=2.0),
    case("Wald", mu=1.0, lam=1.0, jax=lambda k, n: R.wald(k, 1.0, (n,))),
    case("Weibull", alpha=2.0, beta=1.0, jax=lambda k, n: R.weibull_min(k, 1.0, 2.0, (n,))),
]  # fmt: skip

DISCRETE = [
    case("Bernoulli", p=0.3, jax=lambda k, n: R.bernoulli(k, 0.3, (n,))),
    case("BetaBinomial", n=20, alpha=2.0, beta=3.0),
    case("Binomial", n=10, p=0.3, jax=lambda k, n: R.binomial(k, 10, 0.3, (n,))),
    case("Binomial", n=1000, p=0.3, jax=lambda k, n: R.binomial(k, 1000, 0.3, (n,))),
    case("Categorical", p=FIVE, jax=lambda k, n: R.categorical(k, jnp.log(FIVE), shape=(n,))),
    case("DiracDelta", c=np.int64(3)),  # PyMC takes 3 for a number of 8 bits, and writes an eighth of the bytes
    case("DiscreteUniform", lower=0, upper=9, jax=lambda k, n: R.randint(k, (n,), 0, 10)),
    case("DiscreteWeibull", q=0.7, beta=1.2),
    case("Geometric", p=0.3, jax=lambda k, n: R.geometric(k, 0.3, (n,))),
    case("HurdleNegativeBinomial", psi=0.8, n=3.0, p=0.4),
    case("HurdlePoisson", psi=0.8, mu=3.0),
    case("HyperGeometric", N=50, k=20, n=10),
    case("HyperGeometric", N=5000, k=2000, n=1000),
    case("NegativeBinomial", n=3.0, p=0.4),
    case("NegativeBinomial", n=50.0, p=0.2),
    case("OrderedLogistic", eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0])),
    case("OrderedProbit", eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0]), sigma=1.0),
    case("Poisson", mu=3.0, jax=lambda k, n: R.poisson(k, 3.0, (n,))),
    case("Poisson", mu=50.0, jax=lambda k, n: R.poisson(k, 50.0, (n,))),
    case("ZeroInflatedBinomial", psi=0.7, n=10, p=0.3),
    case("ZeroInflatedNegativeBinomial", psi=0.7, n=3.0, p=0.4),
    case("ZeroInflatedPoisson", psi=0.7, mu=3.0),
]

MULTIVARIATE = [
    case("CAR", 20, mu=np.zeros(20), W=CHAIN, alpha=0.5, tau=1.0),
    case("Dirichlet", 5, a=np.full(5, 2.0), jax=lambda k, n: R.dirichlet(k, np.full(5, 2.0), (n,))),
    case("DirichletMultinomial", 5, n=20, a=np.full(5, 2.0)),
    case("KroneckerNormal", 15, mu=np.zeros(15), covs=[np.eye(3) + 0.5, np.eye(5) + 0.5]),
    Case("LKJCholeskyCov", lambda pm: {"n": 4, "eta": 2.0, "sd_dist": pm.Exponential.dist(1.0)}, 10),
    case("LKJCorr", 6, n=4, eta=2.0),
    case("MatrixNormal", 12, mu=np.zeros((3, 4)), rowcov=np.eye(3) + 0.5, colcov=np.eye(4) + 0.5),
    case("Multinomial", 5, n=20, p=FIVE, jax=lambda k, n: R.multinomial(k, 20, FIVE, shape=(n, 5))),
    case("Multinomial", 5, n=1000, p=FIVE, jax=lambda k, n: R.multinomial(k, 1000, FIVE, shape=(n, 5))),
    case("MvNormal", 5, mu=np.zeros(5), cov=COV, jax=lambda k, n: R.multivariate_normal(k, np.zeros(5), COV, (n,))),
    case("MvStudentT", 5, nu=5.0, mu=np.zeros(5), scale=COV),
    case("OrderedMultinomial", 4, eta=0.3, cutpoints=np.array([-1.0, 0.5, 2.0]), n=20),
    case("StickBreakingWeights", 6, alpha=2.0, K=5),
    case("Wishart", 25, nu=7, V=COV),
    case("ZeroSumNormal", 5, sigma=1.0, support_shape=(5,)),
]

TIME_SERIES = [
    Case("AR", lambda pm: {"rho": [0.5, 0.2], "sigma": 1.0, "steps": STEPS, "init_dist": pm.Normal.dist(0.0, 1.0)},
         STEPS + 2),
    Case("EulerMaruyama", lambda pm: {"dt": 0.1, "sde_fn": lambda x, a: (-a * x, 1.0), "sde_pars": (0.5,),
         "steps": STEPS, "init_dist": pm.Normal.dist(0.0, 1.0)}, STEPS + 1),
    case("GARCH11", STEPS + 1, omega=0.5, alpha_1=0.2, beta_1=0.5, initial_vol=1.0, steps=STEPS),
    Case("GaussianRandomWalk", lambda pm: {"mu": 0.1, "sigma": 1.0, "steps": STEPS,
         "init_dist": pm.Normal.dist(0.0, 1.0)}, STEPS + 1),
    Case("MvGaussianRandomWalk", lambda pm: {"mu": np.zeros(5), "cov": COV, "steps": STEPS,
         "init_dist": pm.MvNormal.dist(np.zeros(5), COV)}, 5 * (STEPS + 1)),
    Case("MvStudentTRandomWalk", lambda pm: {"nu": 5.0, "mu": np.zeros(5), "scale": COV, "steps": STEPS,
         "init_dist": pm.MvNormal.dist(np.zeros(5), COV)}, 5 * (STEPS + 1)),
    Case("RandomWalk", lambda pm: {"innovation_dist": pm.Laplace.dist(0.0, 1.0), "steps": STEPS,
         "init_dist": pm.Normal.dist(0.0, 1.0)}, STEPS + 1),
]  # fmt: skip

MODIFIERS = [
    Case("Mixture", lambda pm: {"w": [0.3, 0.7], "comp_dists": [pm.Normal.dist(0.0, 1.0), pm.Laplace.dist(1.0, 1.0)]}),
    case("NormalMixture", w=FIVE, mu=np.arange(5.0), sigma=np.ones(5)),
    Case("Censored", lambda pm: {"dist": pm.Normal.dist(0.0, 1.0), "lower": -1.0, "upper": 1.0}),
    Case("Truncated", lambda pm: {"dist": pm.Gamma.dist(2.0, 1.0), "lower": 1.0, "upper": 3.0}),
]

GROUPS = {"continuous": CONTINUOUS, "discrete": DISCRETE, "multivariate": MULTIVARIATE, "series": TIME_SERIES,
          "modifiers": MODIFIERS}  # fmt: skip
