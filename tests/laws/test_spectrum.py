"""Covariances that are sums of known matrices: the density is that of the matrix, and blocks with one are turned."""

import numpy as np
import pytest
from scipy import stats

import ppl as pm
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites import strict

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

N = 12
TIMES = np.arange(N) / 3.0
KERNEL = np.exp(-0.5 * (TIMES[:, None] - TIMES) ** 2)  # without digits for a Cholesky factor of its own
BROWNIAN = 0.1 + np.minimum(TIMES[:, None], TIMES) + 0.01 * np.eye(N)
ROWS = np.random.default_rng(5).normal(size=N) + 2.0
EYE = np.eye(N)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


SUMS = {
    "noise": (lambda t, s: t**2 * KERNEL + s**2 * EYE, lambda t, s: t**2 * KERNEL + s**2 * EYE),
    "noise and a known part": (
        lambda t, s: pm.math.exp(t) * KERNEL + 1e-6 * EYE + s * 2.0 * EYE,
        lambda t, s: np.exp(t) * KERNEL + (1e-6 + 2 * s) * EYE,
    ),
    "equal correlations": (lambda t, s: s**2 * EYE + t, lambda t, s: s**2 * EYE + t),
    "one matrix": (lambda t, s: BROWNIAN * t / s, lambda t, s: BROWNIAN * t / s),
    "two full matrices": (lambda t, s: t * BROWNIAN + KERNEL * s, lambda t, s: t * BROWNIAN + KERNEL * s),
    "a difference": (
        lambda t, s: (2 + t) * BROWNIAN - 0.001 * s * KERNEL,
        lambda t, s: (2 + t) * BROWNIAN - 0.001 * s * KERNEL,
    ),
}


@pytest.mark.parametrize("which", SUMS)
def test_the_density_is_that_of_the_matrix(which):
    written, known = SUMS[which]
    with pm.Model() as model:
        t, s, b = pm.Gamma("t", 2, 1), pm.Gamma("s", 2, 1), pm.StudentT("b", 4)
        pm.MvNormal("y", b * TIMES, written(t, s), observed=ROWS)
    plan = pm.explain(model)
    assert any("by the eigendecomposition of their covariance" in step.why for step in plan.steps)
    short, long = model.compile_logp(rewrite=True), model.compile_logp()
    for at in ((0.3, -0.5, 0.2), (-1.0, 0.7, -3.0)):
        point = dict(zip(("t_log__", "s_log__", "b"), map(np.asarray, at), strict=True))
        np.testing.assert_allclose(short(point), long(point), rtol=1e-9)
        covariance = known(*np.exp(at[:2]))
        expected = stats.multivariate_normal(at[2] * TIMES, covariance, allow_singular=True).logpdf(ROWS)
        if which != "two full matrices":
            prior = sum(stats.gamma(2).logpdf(np.exp(x)) + x for x in at[:2]) + stats.t(4).logpdf(at[2])
            np.testing.assert_allclose(short(point), expected + prior, rtol=1e-8)


def test_a_matrix_that_is_not_positive_definite_has_no_density():
    with pm.Model() as model:
        t = pm.Normal("t")
        pm.MvNormal("y", np.zeros(N), t * KERNEL + 0.5 * EYE, observed=ROWS)
    density = model.compile_logp(rewrite=True)
    assert density({"t": np.asarray(-1.0)}) == -np.inf and np.isfinite(density({"t": np.asarray(1.0)}))


def test_a_latent_process_of_one_amplitude_is_turned_once():
    """The block has no matrix left to factorize, and the marginal of a textbook."""
    with pm.Model() as model:
        t, s = pm.HalfNormal("t"), pm.HalfNormal("s")
        f = pm.MvNormal("f", np.zeros(N), t**2 * BROWNIAN)
        pm.Normal("y", f, s, observed=ROWS)
    plan = pm.explain(model)
    assert plan.free == ("t", "s") and "decorrelated" in plan.steps[0].why
    density = model.compile_logp(rewrite=True)
    for t, s in ((0.5, 1.2), (2.0, 0.1)):
        values = {v.name: np.log([t, s][i]) for i, v in enumerate(model.value_vars[:2])}
        expected = stats.multivariate_normal(np.zeros(N), t**2 * BROWNIAN + s**2 * EYE).logpdf(ROWS)
        expected += sum(stats.halfnorm.logpdf(x) + np.log(x) for x in (t, s))
        np.testing.assert_allclose(density(values), expected, rtol=1e-10)


@pytest.mark.parametrize("alpha", ["known", "random"])
def test_areas_that_center_on_their_neighbors_go_in_a_block(alpha):
    borders = (np.abs(np.arange(N)[:, None] - np.arange(N)) == 1).astype(int)
    with pm.Model() as model:
        tau, s = pm.HalfNormal("tau"), pm.HalfNormal("s")
        strength = pm.Uniform("strength", 0, 0.95) if alpha == "random" else 0.7
        f = pm.CAR("f", np.zeros(N), borders, strength, tau)
        pm.Normal("y", 2.0 * f, s, observed=ROWS)
    plan = pm.explain(model, eliminate=["f"])
    assert set(plan.free) == {"tau", "s"} | ({"strength"} if alpha == "random" else set())
    posterior = rewritten(model, eliminate=["f"], moved=False)
    density = model.compile_fn(posterior.logp(), inputs=posterior.values)
    point = {"tau_log__": np.log(0.6), "s_log__": np.log(1.3), "strength_interval__": np.log(0.7 / 0.25)}
    found = density({v.name: np.asarray(point[v.name]) for v in posterior.values})
    inverse = np.linalg.inv(0.6 * (np.diag(borders.sum(axis=0)) - 0.7 * borders))
    expected = stats.multivariate_normal(np.zeros(N), 4.0 * inverse + 1.3**2 * EYE).logpdf(ROWS)
    expected += sum(stats.halfnorm.logpdf(x) + np.log(x) for x in (0.6, 1.3))
    expected += np.log(0.7 * 0.25 / 0.95**2) if alpha == "random" else 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-10)


SIDES = BROWNIAN[:3, :3], BROWNIAN[3:7, 3:7]


KRONECKER = {
    "vector": (lambda: pm.KroneckerNormal("f", mu=TIMES, covs=SIDES, shape=N), 0.0),
    "vector with noise": (lambda: pm.KroneckerNormal("f", mu=TIMES, covs=SIDES, sigma=0.4, shape=N), 0.4),
    "matrix": (
        lambda: pm.MatrixNormal("f", mu=TIMES.reshape(3, 4), rowcov=SIDES[0], colcov=SIDES[1]).reshape((N,)),
        0.0,
    ),
}


@pytest.mark.parametrize("which", KRONECKER)
def test_kronecker_products_go_in_a_block(which):
    write, noise = KRONECKER[which]
    with pm.Model() as model:
        f, s = write(), pm.HalfNormal("s")
        pm.Normal("y", f, s, observed=ROWS)
    assert pm.explain(model).free == ("s",)
    covariance = np.kron(*SIDES) + (1.3**2 + noise**2) * EYE
    expected = stats.multivariate_normal(TIMES, covariance).logpdf(ROWS) + stats.halfnorm.logpdf(1.3) + np.log(1.3)
    np.testing.assert_allclose(model.compile_logp(rewrite=True)({"s_log__": np.log(1.3)}), expected, rtol=1e-10)


def test_rows_whose_scales_are_multiples_of_one_are_summed_once():
    """Noise with known weights: no evaluation goes over the rows of a block."""
    weights, group = np.linspace(0.5, 2.0, 600), np.arange(600) % 5
    data = np.random.default_rng(1).normal(size=600)
    with pm.Model() as model:
        tau, s = pm.HalfNormal("tau"), pm.HalfNormal("s")
        theta = pm.Normal("theta", 0, tau, shape=5)
        pm.Normal("y", theta[group], s * weights, observed=data)
    plan = pm.explain(model)
    assert plan.free == ("tau", "s") and plan.gain > 5
    covariance = 0.7**2 * (group[:, None] == group) + np.diag((1.3 * weights) ** 2)
    expected = stats.multivariate_normal(np.zeros(600), covariance).logpdf(data)
    expected += sum(stats.halfnorm.logpdf(x) + np.log(x) for x in (0.7, 1.3))
    density = model.compile_logp(rewrite=True)
    inputs = {v.name: np.log(x) for v, x in zip(model.value_vars[:2], (0.7, 1.3), strict=True)}
    np.testing.assert_allclose(density(inputs), expected, rtol=1e-10)


@pytest.mark.parametrize("size", [3, 12])
def test_what_is_no_sum_of_two_known_matrices_stays(size):
    kernel = KERNEL[:size, :size]
    with pm.Model() as model:
        length = pm.HalfNormal("length")
        pm.MvNormal("y", np.zeros(size), pm.math.exp(-length) ** kernel + np.eye(size), observed=ROWS[:size])
    assert not pm.explain(model).steps
