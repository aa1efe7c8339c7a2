"""Twenty models that theorems rewrite, and their calibration by simulation: from parameters of the prior to data, to a
posterior by way of the rewritten model, and to the ranks of the parameters in it.

`pm.sbc` samples models as written. Here all of `pm.sample` is asked, recovery of what was marginalized included: each
data set is a fit of `pm.sample_many`. Beside each quantity stands the same with the sign by which the data lie above or
below their prior mean: unlike the ranks of a quantity of parameters alone, those of this one are not uniform for a
posterior that is the prior (Modrák and others 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ppl as pm
from ppl.model.log import silenced
from ppl.rewrites.marginalization import words
from ppl.samplers.runs.diagnostics import ess_bulk
from ppl.scoring.uniformity import uniform_p

DRAWS, TUNE = 200, 300
GROUP = np.repeat(np.arange(5), 5)
X = np.linspace(-1.0, 1.0, 25)
BASIS = np.sin(np.pi * (X[:, None] + 1.5) / 3.0 * np.arange(1, 7))


def seen(shape: Any, dtype: str = "float64", row: Any = 0) -> Any:
    """Data that each fit replaces; until then equal rows, which must be possible ones."""
    return pm.Data("seen", np.full(shape, row, dtype))


def intercepts() -> None:
    mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1)
    theta = pm.Normal("theta", mu, tau, shape=5)
    pm.Normal("y", theta[GROUP], pm.HalfNormal("sigma", 1), observed=seen(25))


def regression() -> None:
    beta = pm.Normal("beta", 0, pm.HalfNormal("tau", 1), shape=6)
    pm.Normal("y", BASIS @ beta, pm.HalfNormal("sigma", 1), observed=seen(25))


def basis_functions() -> None:
    cov = pm.HalfNormal("eta", 1) ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.LogNormal("ls", 0, 0.5))
    f = pm.gp.HSGP(m=[6], c=1.5, cov_func=cov).prior("f", X[:, None])
    pm.Normal("y", pm.Normal("level", 0, 2) + f, pm.HalfNormal("sigma", 0.5), observed=seen(25))


def walk() -> None:
    level = pm.GaussianRandomWalk("level", sigma=pm.HalfNormal("step", 0.5), init_dist=pm.Normal.dist(0, 1), shape=25)
    pm.Normal("y", level, pm.HalfNormal("sigma", 1), observed=seen(25))


def effects_that_add_up_to_zero() -> None:
    effect = pm.ZeroSumNormal("effect", pm.HalfNormal("tau", 1), shape=5)
    pm.Normal("y", pm.Normal("mu", 0, 2) + effect[GROUP], pm.HalfNormal("sigma", 1), observed=seen(25))


def shared_variance() -> None:
    variance = pm.InverseGamma("variance", 3, 2)
    b = pm.Normal("b", 0, pm.math.sqrt(variance), shape=2)
    pm.Normal("y", b[0] + b[1] * X, pm.math.sqrt(variance), observed=seen(25))


def rates() -> None:
    rate = pm.Gamma("rate", 2, pm.Gamma("scale", 3, 3), shape=5)
    pm.Poisson("y", rate[GROUP], observed=seen(25, "int64"))


def proportions() -> None:
    p = pm.Beta("p", pm.Gamma("a", 4, 2), pm.Gamma("b", 4, 2), shape=5)
    pm.Binomial("y", 6, p[GROUP], observed=seen(25, "int64"))


def shares() -> None:
    p = pm.Dirichlet("p", np.array([1.0, 2.0, 3.0]))
    pm.Multinomial("y", 10, p, shape=(4, 3), observed=seen((4, 3), "int64", [10, 0, 0]))


def lifetimes() -> None:
    pm.Exponential("y", pm.Gamma("rate", 2, 1, shape=5)[GROUP], observed=seen(25))


def thinning() -> None:
    there = pm.Poisson("there", pm.Gamma("mean", 4, 1), shape=8)
    pm.Binomial("y", there, pm.Beta("p", 2, 2), observed=seen(8, "int64"))


def mixture() -> None:
    z = pm.Categorical("z", np.array([0.3, 0.7]), shape=25)
    mu = pm.Normal("mu", np.array([-2.0, 2.0]), 0.5, shape=2)
    pm.Normal("y", mu[z], pm.HalfNormal("sigma", 1), observed=seen(25))


def change_point() -> None:
    at = pm.DiscreteUniform("at", 0, 24)
    early, late = pm.Gamma("early", 3, 1), pm.Gamma("late", 3, 1)
    pm.Poisson("y", pm.math.switch(np.arange(25) < at, early, late), observed=seen(25, "int64"))


def occupancy() -> None:
    there = pm.Bernoulli("there", pm.Beta("share", 2, 2), shape=12)
    pm.Binomial("y", 4, there * pm.Beta("p", 2, 2), observed=seen(12, "int64"))


def dose_and_response() -> None:
    dose = np.repeat(np.array([-1.0, 0.0, 1.0, 2.0]), 15)
    eta = pm.Normal("a", 0, 1.5) + pm.Normal("b", 0, 1.5) * dose
    pm.Bernoulli("y", logit_p=eta, observed=seen(60, "int64"))


def robust_coefficients() -> None:
    beta = pm.Laplace("beta", 0, 1, shape=3)
    pm.Normal("y", np.tile(BASIS[:, :3], (4, 1)) @ beta, pm.HalfNormal("sigma", 1), observed=seen(100))


def overdispersed_counts() -> None:
    pm.NegativeBinomial("y", mu=pm.Gamma("mu", 4, 1), alpha=pm.Gamma("alpha", 4, 1), observed=seen(60, "int64"))


def process() -> None:
    cov = pm.HalfNormal("eta", 1) ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.InverseGamma("ls", 5, 3))
    f = pm.gp.Latent(cov_func=cov).prior("f", X[::2, None])
    pm.Normal("y", f, pm.HalfNormal("sigma", 0.5), observed=seen(13))


def process_in_time() -> None:
    cov = pm.HalfNormal("eta", 1) ** 2 * pm.gp.cov.Matern32(1, ls=pm.InverseGamma("ls", 5, 3))
    gp = pm.gp.Marginal(cov_func=cov + pm.gp.cov.WhiteNoise(1e-4))
    times = np.linspace(-1.0, 1.0, 50)  # of few, a factor of the covariance takes less
    gp.marginal_likelihood("y", X=times[:, None], y=seen(50), sigma=pm.HalfNormal("sigma", 0.5))


def parts() -> None:
    mu, theta = pm.Normal("mu", 0, 2), pm.Gamma("theta", 2, 1, shape=3)
    rows = pm.math.concatenate([pm.math.exp(0.3 * mu) * np.ones(9), theta[np.arange(9) % 3]])
    pm.Poisson("y", rows, observed=seen(18, "int64"))


APART = "dimensions that are independent"

MODELS: dict[str, tuple[Callable[[], None], str]] = {  # with what the plan must name
    "nested intercepts": (intercepts, words.GAUSSIAN),
    "regression, scales unknown": (regression, words.GAUSSIAN),
    "basis functions of a process": (basis_functions, words.GAUSSIAN),
    "a walk seen with noise": (walk, words.GAUSSIAN),
    "effects that add up to zero": (effects_that_add_up_to_zero, words.GAUSSIAN),
    "a variance that all rows share": (shared_variance, words.GAUSSIAN),
    "rates of counts": (rates, words.CONJUGATE),
    "proportions": (proportions, words.CONJUGATE),
    "shares": (shares, words.CONJUGATE),
    "lifetimes": (lifetimes, words.CONJUGATE),
    "counts seen in part": (thinning, words.THINNING),
    "labels of a mixture": (mixture, words.ENUMERATION),
    "a change point": (change_point, words.ENUMERATION),
    "occupancy": (occupancy, words.ENUMERATION),
    "dose and response": (dose_and_response, words.STATISTICS),
    "coefficients that are not normal": (robust_coefficients, words.STATISTICS),
    "overdispersed counts": (overdispersed_counts, words.STATISTICS),
    "a process under noise": (process, words.PROCESS),
    "a process along time": (process_in_time, words.MARKOV),
    "parts that nothing joins": (parts, APART),
}


@dataclass(frozen=True)
class Calibrated:
    """The ranks of one model: p-values of their uniformity, the least of them times their number, and how far
    parameters were marginalized."""

    replications: int
    quantities: int
    least: float
    worst: str
    before: int
    left: str
    rules: tuple[str, ...]


def calibration(name: str, replications: int, seed: int = 1, spoil: Callable[[Any], Any] | None = None) -> Calibrated:
    """Calibrate a model; `spoil` changes what comes back, to see whether that is found."""
    define, rule = MODELS[name]
    with pm.Model() as model:
        define()
    with silenced(True):
        prior = pm.sample_prior_predictive(replications, model, random_seed=seed, return_inferencedata=False)
    data, free = prior["y"], [rv.name for rv in model.free_RVs]
    middle = data.reshape(replications, -1).mean()
    jitter = np.random.default_rng([seed, 2])
    plans = []

    def ranks(result: Any, fitted: Any) -> dict[str, float]:
        number = len(plans)
        plans.append(pm.explain(fitted) if not plans else None)
        draws = {n: np.asarray(result.posterior[n].values).reshape(DRAWS, -1).astype(float) for n in free}
        draws = draws if spoil is None else spoil(draws)
        kept = _independent(np.concatenate(list(draws.values()), axis=1))
        above = np.sign(data[number].mean() - middle) or 1.0
        found = {}
        for n in free:
            true, mine = prior[n][number].reshape(-1).astype(float), draws[n][kept]
            for what, f in {n: lambda v: v.mean(-1), f"{n}[0]": lambda v: v[..., 0]}.items():
                for sign, label in ((1.0, what), (above, f"{what}, by data")):
                    less, same = np.sum(sign * f(mine) < sign * f(true)), np.sum(f(mine) == f(true))
                    found[label] = float((less + jitter.uniform(0, 1 + same)) / (len(kept) + 1))
        return found

    fits = pm.sample_many(
        [{"seen": y} for y in data], model=model, keep=ranks, on_error="raise", random_seed=seed, progressbar=False,
        draws=DRAWS, tune=TUNE, chains=1, compute_convergence_checks=False,
    )  # fmt: skip
    found = list(fits)
    p_values = {label: float(uniform_p(np.array([each[label] for each in found]))) for label in found[0]}
    worst = min(p_values, key=lambda label: p_values[label])
    (plan,) = [p for p in plans if p is not None]
    rules = (*dict.fromkeys(step.rule for step in plan.steps), *((APART,) if plan.apart else ()))
    assert rule in rules, f"{name}: {rule} is not in {rules}"
    return Calibrated(
        replications, len(p_values), min(1.0, p_values[worst] * len(p_values)), worst, plan.ndim_before,
        f"{plan.ndim}" + (f" ({', '.join(plan.free)})" if plan.free else ""), rules,
    )  # fmt: skip


def _independent(draws: np.ndarray) -> np.ndarray:
    """Places of about independent draws of a chain."""
    moving = draws[:, draws.std(axis=0) > 0]
    size = np.min(ess_bulk(moving[None])) if moving.shape[1] else DRAWS
    count = int(np.clip(size if np.isfinite(size) else 10, 10, len(draws)))
    return np.linspace(0, len(draws) - 1, count).round().astype(int)
