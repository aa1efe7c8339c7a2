"""The proof models: programs as users write them, and how many dimensions rewriting should leave.

Each is small enough for its plan to be checked at any point against the model as written (`exact_elimination`); where
a textbook gives the marginal, that is the oracle besides.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ppl as pm

RNG = np.random.default_rng(20)
EFFECTS, ERRORS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
FAILURES, HOURS = (
    np.array([5, 1, 5, 14, 3, 19, 1, 1, 4, 22]),
    np.array([94.3, 15.7, 62.9, 126, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5]),
)
TUMOURS, RATS = np.array([0, 1, 2, 5, 4, 1, 9, 4, 2, 16]), np.array([20, 19, 23, 24, 20, 18, 22, 20, 19, 48])
ROWS, COUNTIES = 60, 7
COUNTY, FLOOR = RNG.integers(0, COUNTIES, ROWS), RNG.integers(0, 2, ROWS).astype(float)
RADON = 1.4 + RNG.normal(size=COUNTIES)[COUNTY] - 0.6 * FLOOR + 0.7 * RNG.normal(size=ROWS)
STUDENT, LECTURER, DEPARTMENT = RNG.integers(0, 9, ROWS), RNG.integers(0, 5, ROWS), RNG.integers(0, 3, ROWS)
EXPOSURE, COVARIATE = RNG.uniform(0.5, 2.0, ROWS), RNG.normal(size=ROWS)
COUNTS = RNG.poisson(2.0, ROWS)
DISASTERS = np.array([
    4, 5, 4, 0, 1, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3,
    np.nan, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0,
    1, 1, 0, 2, 3, 3, 1, np.nan, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1,
])  # fmt: skip
YEARS = np.arange(1851, 1962)
SERIES = np.cumsum(RNG.normal(size=40)) + RNG.normal(size=40)
MOVED = np.cumsum(RNG.random(40) < 0.3)  # how often a state went over into the next one
HIDDEN = 2.0 * (MOVED % 3 - 1) + 0.8 * RNG.normal(size=40)


def eight_schools() -> Any:
    """Effects of coaching in eight schools, centered."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, ERRORS, observed=EFFECTS)
    return model


def radon() -> Any:
    """Radon by county, with varying intercepts and slopes."""
    with pm.Model() as model:
        mu_a, mu_b = pm.Normal("mu_a", 0, 10), pm.Normal("mu_b", 0, 10)
        tau_a, tau_b, sigma = pm.HalfNormal("tau_a", 2), pm.HalfNormal("tau_b", 2), pm.HalfNormal("sigma", 2)
        a, b = pm.Normal("a", mu_a, tau_a, shape=COUNTIES), pm.Normal("b", mu_b, tau_b, shape=COUNTIES)
        pm.Normal("y", a[COUNTY] + b[COUNTY] * FLOOR, sigma, observed=RADON)
    return model


def crossed() -> Any:
    """Marks by students, lecturers and departments."""
    with pm.Model() as model:
        scales = [pm.HalfNormal(f"tau_{name}", 1) for name in ("student", "lecturer", "department")]
        mu, sigma = pm.Normal("mu", 3, 2), pm.HalfNormal("sigma", 1)
        effects = [pm.Normal(f"u{i}", 0, s, shape=n) for i, (s, n) in enumerate(zip(scales, (9, 5, 3), strict=True))]
        mean = mu + effects[0][STUDENT] + effects[1][LECTURER] + effects[2][DEPARTMENT]
        pm.Normal("y", mean, sigma, observed=RADON)
    return model


def pumps() -> Any:
    """Failures of pumps."""
    with pm.Model() as model:
        alpha, beta = pm.Exponential("alpha", 1.0), pm.Gamma("beta", 0.1, 1.0)
        theta = pm.Gamma("theta", alpha, beta, shape=10)
        pm.Poisson("y", theta * HOURS, observed=FAILURES)
    return model


def rats() -> Any:
    """Tumours of rats."""
    with pm.Model() as model:
        alpha, beta = pm.Gamma("alpha", 2, 1), pm.Gamma("beta", 2, 0.2)
        theta = pm.Beta("theta", alpha, beta, shape=10)
        pm.Binomial("y", RATS, theta, observed=TUMOURS)
    return model


def frailty() -> Any:
    """A Poisson regression with a frailty for each county."""
    with pm.Model() as model:
        beta, alpha = pm.Normal("beta", 0, 1), pm.Exponential("alpha", 1.0)
        theta = pm.Gamma("theta", alpha, alpha, shape=COUNTIES)
        pm.Poisson("y", EXPOSURE * pm.math.exp(beta * COVARIATE) * theta[COUNTY], observed=COUNTS)
    return model


def coal_mining() -> Any:
    """Disasters in coal mines, with a change of rate and two missing years."""
    with pm.Model() as model:
        switchpoint = pm.DiscreteUniform("switchpoint", lower=YEARS.min(), upper=YEARS.max())
        early, late = pm.Exponential("early_rate", 1.0), pm.Exponential("late_rate", 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rate = pm.math.switch(switchpoint >= YEARS, early, late)
            pm.Poisson("disasters", rate, observed=np.ma.masked_invalid(DISASTERS))
    return model


def hidden_markov() -> Any:
    """Three hidden states with unknown moves."""
    with pm.Model() as model:
        moves = pm.Dirichlet("moves", np.ones((3, 3)))
        level = pm.Normal("level", [-2.0, 0.0, 2.0], 0.5, shape=3)
        z = pm.DiscreteMarkovChain("z", P=moves, init_dist=pm.Categorical.dist(np.ones(3) / 3), shape=40)
        pm.Normal("y", level[z], 0.8, observed=HIDDEN)
    return model


def local_trend() -> Any:
    """A level that walks, with a regression."""
    with pm.Model() as model:
        walk, noise = pm.HalfNormal("walk", 1), pm.HalfNormal("noise", 1)
        beta = pm.Normal("beta", 0, 1)
        level = pm.GaussianRandomWalk("level", 0.0, walk, init_dist=pm.Normal.dist(0, 5), shape=40)
        pm.Normal("y", level + beta * COVARIATE[:40], noise, observed=SERIES)
    return model


def counts_of_three_kinds() -> Any:
    """Counts from three negative binomial laws, with unknown dispersions."""
    with pm.Model() as model:
        mean, spread = pm.Gamma("mean", 2, 0.5, shape=3), pm.Exponential("spread", 1.0, shape=3)
        kind = pm.Categorical("kind", [0.5, 0.3, 0.2], shape=ROWS)
        pm.NegativeBinomial("y", mu=mean[kind], alpha=spread[kind], observed=COUNTS)
    return model


def logistic_cells() -> Any:
    """A logistic regression on categorical covariates, whose rows fall into cells."""
    with pm.Model() as model:
        floor, county = pm.Normal("floor", 0, 1), pm.Normal("county", 0, 1, shape=COUNTIES)
        pm.Bernoulli("y", logit_p=floor * FLOOR + county[COUNTY], observed=(COUNTS > 1).astype(int))
    return model


class Proof(NamedTuple):
    """A model, and what should be left to sample."""

    model: Callable[[], Any]
    left: dict[str, int]

    @property
    def name(self) -> str:
        return self.model.__name__


PROOFS = [
    Proof(eight_schools, {"tau": 1}),
    Proof(radon, {"tau_a": 1, "tau_b": 1, "sigma": 1}),
    Proof(crossed, {"tau_student": 1, "tau_lecturer": 1, "tau_department": 1, "sigma": 1}),
    Proof(pumps, {"alpha": 1, "beta": 1}),
    Proof(rats, {"alpha": 1, "beta": 1}),
    Proof(frailty, {"beta": 1, "alpha": 1}),
    Proof(coal_mining, {}),
    Proof(hidden_markov, {"moves": 9, "level": 3}),
    Proof(local_trend, {"walk": 1, "noise": 1}),
    Proof(counts_of_three_kinds, {"mean": 3, "spread": 3}),
    Proof(logistic_cells, {"floor": 1, "county": 7}),
]
