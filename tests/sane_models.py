"""Models of the textbooks, written as they should be: a report has nothing grave to say of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ppl as pm
import ppl.tensor as tt

RNG = np.random.default_rng(11)
N, J = 60, 6
X, Z = RNG.normal(size=N), RNG.normal(size=N)
GROUP = RNG.integers(0, J, N)
EFFECTS = RNG.normal(size=J)
Y = 1.0 + 0.8 * X - 0.5 * Z + 0.6 * EFFECTS[GROUP] + 0.7 * RNG.normal(size=N)
P = 1 / (1 + np.exp(-(0.3 + 0.9 * X)))
BINARY, TRIALS = (RNG.random(N) < P).astype(int), RNG.integers(5, 30, N)
SUCCESSES, COUNTS = RNG.binomial(TRIALS, P), RNG.poisson(np.exp(0.6 + 0.5 * X))
TIMES = RNG.exponential(2.0, N)
SERIES = np.cumsum(RNG.normal(size=N))
CLASSES = RNG.integers(0, 3, N)
SANE: dict[str, Callable[[], Any]] = {}


def sane(build: Callable[[], Any]) -> Callable[[], Any]:
    def made() -> Any:
        with pm.Model() as model, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return build() or model

    SANE[build.__name__] = made
    return build


@sane
def linear_regression():
    a, b, c, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 2), pm.Normal("c", 0, 2), pm.Exponential("s", 1)
    mu = pm.Deterministic("mu", a + b * X + c * Z)
    pm.Normal("y", mu, s, observed=Y)


@sane
def regression_with_named_data():
    model = pm.Model(coords={"row": np.arange(N), "term": ["x", "z"]})
    with model:
        design = pm.Data("design", np.column_stack([X, Z]), dims=("row", "term"))
        a, beta, s = pm.Normal("a", 0, 5), pm.Normal("beta", 0, 1, dims="term"), pm.HalfNormal("s", 2)
        pm.Normal("y", a + design @ beta, s, observed=Y, dims="row")
    return model


@sane
def regression_with_flat_priors():
    a, b, s = pm.Flat("a"), pm.Flat("b"), pm.HalfFlat("s")
    pm.Normal("y", a + b * X, s, observed=Y)


@sane
def heights():
    mu, s = pm.Normal("mu", 178, 20), pm.Uniform("s", 0, 50)
    pm.Normal("height", mu, s, observed=154 + 8 * RNG.normal(size=N))


@sane
def heights_by_weight():
    weight = 45 + 6 * X
    a, b, s = pm.Normal("a", 178, 20), pm.LogNormal("b", 0, 1), pm.Uniform("s", 0, 50)
    pm.Normal("height", a + b * (weight - weight.mean()), s, observed=154 + 5 * X + 5 * RNG.normal(size=N))


@sane
def logistic_regression():
    a, b = pm.Normal("a", 0, 1.5), pm.Normal("b", 0, 1)
    pm.Bernoulli("y", logit_p=a + b * X, observed=BINARY)


@sane
def logistic_regression_by_probability():
    a, b = pm.Normal("a", 0, 10), pm.Normal("b", 0, 10)
    pm.Bernoulli("y", p=pm.math.sigmoid(a + b * X), observed=BINARY)


@sane
def binomial_regression():
    a, b = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2)
    pm.Binomial("y", n=TRIALS, logit_p=a + b * X, observed=SUCCESSES)


@sane
def poisson_regression():
    a, b = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1)
    pm.Poisson("y", pm.math.exp(a + b * X), observed=COUNTS)


@sane
def negative_binomial_regression():
    a, b, alpha = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1), pm.Exponential("alpha", 0.5)
    pm.NegativeBinomial("y", mu=pm.math.exp(a + b * X), alpha=alpha, observed=COUNTS)


@sane
def robust_regression():
    a, b, s, nu = pm.Normal("a", 0, 5), pm.Normal("b", 0, 2), pm.HalfNormal("s", 2), pm.Gamma("nu", 2, 0.1)
    pm.StudentT("y", nu, a + b * X, s, observed=Y)


@sane
def two_groups():
    mu, s = pm.Normal("mu", 1, 4, shape=2), pm.Uniform("s", 0.1, 10, shape=2)
    nu = pm.Exponential("nu_minus_one", 1 / 29.0) + 1
    which = (X > 0).astype(int)
    pm.StudentT("y", nu, mu[which], s[which], observed=Y)
    pm.Deterministic("difference", mu[0] - mu[1])


@sane
def varying_intercepts_not_centered():
    mu, tau, s = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 1), pm.HalfNormal("s", 1)
    z = pm.Normal("z", 0, 1, shape=J)
    u = pm.Deterministic("u", mu + tau * z)
    pm.Normal("y", u[GROUP], s, observed=Y)


@sane
def varying_intercepts_and_slopes():
    mu, tau = pm.Normal("mu", 0, 2, shape=2), pm.HalfNormal("tau", 1, shape=2)
    a, b = pm.Normal("a", mu[0], tau[0], shape=J), pm.Normal("b", mu[1], tau[1], shape=J)
    pm.Bernoulli("y", logit_p=a[GROUP] + b[GROUP] * X, observed=BINARY)


@sane
def an_intercept_and_effects_about_zero():
    mu, tau, s = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 2), pm.HalfNormal("s", 1)
    u = pm.Normal("u", 0, tau, shape=J)
    pm.Normal("y", mu + u[GROUP], s, observed=Y)


@sane
def correlated_effects():
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0))
    mu, s = pm.Normal("mu", 0, 2, shape=2), pm.HalfNormal("s", 1)
    u = pm.MvNormal("u", mu, chol=chol, shape=(J, 2))
    pm.Normal("y", u[GROUP, 0] + u[GROUP, 1] * X, s, observed=Y)


@sane
def horseshoe():
    tau, lam = pm.HalfCauchy("tau", 0.1), pm.HalfCauchy("lam", 1, shape=5)
    z, s = pm.Normal("z", 0, 1, shape=5), pm.HalfNormal("s", 2)
    beta = pm.Deterministic("beta", z * lam * tau)
    pm.Normal("y", pm.math.dot(RNG.normal(size=(N, 5)), beta), s, observed=Y - Y.mean())


@sane
def an_ordered_mixture():
    ordered = pm.distributions.transforms.ordered
    w = pm.Dirichlet("w", np.ones(2))
    mu = pm.Normal("mu", 0, 5, shape=2, transform=ordered, initval=[-1.0, 1.0])
    pm.NormalMixture("y", w, mu, pm.HalfNormal("s", 1, shape=2), observed=np.where(X > 0, 2, -2) + Z)


@sane
def a_mixture_with_priors_that_differ():
    w, mu = pm.Dirichlet("w", np.ones(2)), pm.Normal("mu", [-2, 2], 1, shape=2)
    pm.NormalMixture("y", w, mu, 1.0, observed=np.where(X > 0, 2, -2) + Z)


@sane
def zero_inflated_counts():
    psi, mu = pm.Beta("psi", 2, 2), pm.Gamma("mu", 2, 0.5)
    pm.ZeroInflatedPoisson("y", psi, mu, observed=np.where(RNG.random(N) < 0.3, 0, COUNTS))


@sane
def a_change_point():
    tau = pm.DiscreteUniform("tau", 0, N - 1)
    early, late = pm.Exponential("early", 0.5), pm.Exponential("late", 0.5)
    pm.Poisson("y", pm.math.switch(tau >= np.arange(N), early, late), observed=COUNTS)


@sane
def an_autoregression():
    rho, s = pm.Uniform("rho", -1, 1), pm.HalfNormal("s", 2)
    pm.AR("y", [rho], sigma=s, init_dist=pm.Normal.dist(0, 2), observed=SERIES)


@sane
def a_local_level():
    walk, noise = pm.HalfNormal("walk", 1), pm.HalfNormal("noise", 1)
    level = pm.GaussianRandomWalk("level", sigma=walk, init_dist=pm.Normal.dist(0, 5), shape=N)
    pm.Normal("y", level, noise, observed=SERIES)


@sane
def stochastic_volatility():
    step = pm.Exponential("step", 10)
    volatility = pm.GaussianRandomWalk("volatility", sigma=step, init_dist=pm.Normal.dist(0, 1), shape=N)
    nu = pm.Exponential("nu", 0.1)
    pm.StudentT("returns", nu, 0, lam=pm.math.exp(-2 * volatility), observed=X)


@sane
def a_gaussian_process():
    length, eta, s = pm.Gamma("length", 2, 1), pm.HalfNormal("eta", 2), pm.HalfNormal("s", 1)
    place = np.linspace(0, 5, 25)
    covariance = eta**2 * tt.exp(-0.5 * (place[:, None] - place) ** 2 / length**2) + (s**2 + 1e-6) * tt.eye(25)
    pm.MvNormal("y", np.zeros(25), cov=covariance, observed=SERIES[:25])


@sane
def ordered_classes():
    ordered = pm.distributions.transforms.ordered
    cut = pm.Normal("cut", 0, 2, shape=2, transform=ordered, initval=[-0.5, 0.5])
    pm.OrderedLogistic("y", pm.Normal("b", 0, 1) * X, cut, observed=CLASSES)


@sane
def a_softmax_with_a_reference_class():
    a, b = pm.Normal("a", 0, 1, shape=2), pm.Normal("b", 0, 1, shape=2)
    eta = tt.concatenate([tt.zeros((N, 1)), a + X[:, None] * b], axis=1)
    pm.Categorical("y", logit_p=eta, observed=CLASSES)


@sane
def censored_times():
    alpha, beta = pm.Gamma("alpha", 2, 1), pm.HalfNormal("beta", 5)
    pm.Censored("y", pm.Weibull.dist(alpha, beta), lower=None, upper=3.0, observed=np.minimum(TIMES, 3.0))


@sane
def waiting_times():
    rate = pm.Gamma("rate", 2, 2)
    pm.Exponential("y", rate, observed=TIMES)


@sane
def a_test_of_two_pages():
    p = pm.Beta("p", 2, 2, shape=2)
    pm.Binomial("y", n=np.array([400, 420]), p=p, observed=np.array([48, 67]))
    pm.Deterministic("lift", p[1] / p[0] - 1)


@sane
def rates_about_a_common_mean():
    mean, size = pm.Beta("mean", 2, 8), pm.Gamma("size", 2, 0.1)
    theta = pm.Beta("theta", mean * size, (1 - mean) * size, shape=N)
    pm.Binomial("y", TRIALS, theta, observed=SUCCESSES)


@sane
def people_and_items():
    tau = pm.HalfNormal("tau", 1)
    ability, difficulty = pm.Normal("ability", 0, tau, shape=10), pm.Normal("difficulty", 0, 2, shape=J)
    person = np.repeat(np.arange(10), J)
    pm.Bernoulli("y", logit_p=ability[person] - difficulty[np.tile(np.arange(J), 10)], observed=BINARY)


@sane
def shares_between_zero_and_one():
    a, b, size = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1), pm.Gamma("size", 2, 0.1)
    shares = np.clip(RNG.beta(4 * P, 4 * (1 - P)), 0.01, 0.99)
    pm.Beta("y", mu=pm.math.sigmoid(a + b * X), nu=size + 2, observed=shares)


@sane
def positive_amounts():
    a, b, shape = pm.Normal("a", 0, 2), pm.Normal("b", 0, 1), pm.Exponential("shape", 0.5)
    pm.Gamma("y", shape, shape / pm.math.exp(a + b * X), observed=TIMES + 0.01)


@sane
def missing_values():
    mu, s = pm.Normal("mu", 0, 5), pm.HalfNormal("s", 2)
    pm.Normal("y", mu, s, observed=np.where(np.arange(N) % 9, Y, np.nan))


@sane
def predictions_in_the_model():
    a, b, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 2), pm.HalfNormal("s", 2)
    pm.Normal("y", a + b * X, s, observed=Y)
    pm.Normal("y_new", a + b * np.array([0.0, 1.0]), s)


@sane
def a_saturating_curve():
    top, half, s = pm.HalfNormal("top", 5), pm.HalfNormal("half", 2), pm.HalfNormal("s", 1)
    dose = np.linspace(0.1, 8, N)
    pm.Normal("y", top * dose / (half + dose), s, observed=3 * dose / (1.2 + dose) + 0.2 * X)


@sane
def errors_in_covariates():
    mu, tau = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1)
    a, b, s = pm.Normal("a", 0, 2), pm.Normal("b", 0, 2), pm.HalfNormal("s", 1)
    x = pm.Normal("x", mu, tau, shape=N)
    pm.Normal("x_seen", x, 0.3, observed=X)
    pm.Normal("y", a + b * x, s, observed=Y)


@sane
def a_model_with_known_errors():
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    theta = pm.Normal("theta", mu, tau, shape=8)
    pm.Normal("y", theta, RNG.uniform(9, 18, 8), observed=RNG.normal(5, 14, 8))


@sane
def a_factor_of_effects_that_sum_to_zero():
    mu, s = pm.Normal("mu", 0, 5), pm.HalfNormal("s", 1)
    u = pm.ZeroSumNormal("u", sigma=1.0, shape=J)
    pm.Normal("y", mu + u[GROUP], s, observed=Y)


@sane
def mediation():
    am, bm, sm = pm.Normal("am", 0, 2), pm.Normal("bm", 0, 1), pm.HalfNormal("sm", 1)
    ay, by, cy, sy = pm.Normal("ay", 0, 2), pm.Normal("by", 0, 1), pm.Normal("cy", 0, 1), pm.HalfNormal("sy", 1)
    pm.Normal("m", am + bm * X, sm, observed=Z)
    pm.Normal("y", ay + by * X + cy * Z, sy, observed=Y)
    pm.Deterministic("indirect", bm * cy)


@sane
def a_small_network():
    w, v, s = pm.Normal("w", 0, 1, shape=(2, 4)), pm.Normal("v", 0, 1, shape=4), pm.HalfNormal("s", 1)
    pm.Normal("y", pm.math.dot(pm.math.tanh(pm.math.dot(np.column_stack([X, Z]), w)), v), s, observed=Y)


@sane
def votes_in_districts():
    size, middle = pm.HalfNormal("size", 20), pm.Dirichlet("middle", np.ones(3))
    share = pm.Dirichlet("share", size * middle, shape=(12, 3))
    pm.Multinomial("y", 60, share, observed=RNG.multinomial(60, RNG.dirichlet([6.0, 3.0, 1.0], 12)))


@sane
def a_year_that_is_centered():
    year = np.arange(1960, 1960 + N)
    a, b, s = pm.Normal("a", 0, 5), pm.Normal("b", 0, 1), pm.HalfNormal("s", 2)
    pm.Normal("y", a + b * (year - year.mean()) / 10, s, observed=Y)
