"""Families whose conjugate children are no plain pairs: Wishart precisions, and Pareto bounds."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import ppl as pm
from ppl.rewrites import strict

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

SCALE = np.array([[0.5, 0.1], [0.1, 0.3]])
AT = np.array([0.3, -0.2])
ROWS = np.random.default_rng(0).multivariate_normal([1.0, -1.0], [[1.0, 0.5], [0.5, 2.0]], 40)
CHILDREN = {
    "rows": lambda mu, V, y: pm.MvNormal("y", mu, tau=V, observed=y),
    "one row": lambda mu, V, y: pm.MvNormal("y", mu, tau=V, observed=y[0]),
    "by the inverse": lambda mu, V, y: pm.MvNormal("y", mu, cov=pm.math.matrix_inverse(V), observed=y),
    "two children": lambda mu, V, y: [
        pm.MvNormal("x", mu, tau=V, observed=y[:15]),
        pm.MvNormal("y", mu, tau=V, observed=y[15:]),
    ],
    "means of rows": lambda mu, V, y: pm.MvNormal("y", mu * np.ones((40, 1)), tau=V, observed=y),
}


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def density(which, away=0.0):
    with pm.Model() as model:
        V, mu = pm.Wishart("V", nu=4, V=SCALE), pm.StudentT("mu", 4, mu=away, shape=2)
        CHILDREN[which](mu, V, ROWS + away)
    plan = pm.explain(model)
    assert plan.free == ("mu",) and plan.steps[0].rule == "conjugate"
    return model.compile_logp(rewrite=True)({"mu": AT + away})


def updated(rows):
    return stats.wishart(4 + len(rows), np.linalg.inv(np.linalg.inv(SCALE) + rows.T @ rows))


@pytest.mark.parametrize("which", CHILDREN)
def test_the_marginal_is_that_of_the_identity(which):
    """p(V) p(y | V) / p(V | y) at any V, and no digits are lost a million from zero."""
    rows, V = (ROWS[:1] if which == "one row" else ROWS) - AT, np.array([[1.0, 0.2], [0.2, 0.7]])
    expected = stats.wishart(4, SCALE).logpdf(V) - updated(rows).logpdf(V) + stats.t(4).logpdf(AT).sum()
    expected += stats.multivariate_normal([0.0, 0.0], np.linalg.inv(V)).logpdf(rows).sum()
    np.testing.assert_allclose(density(which), expected, rtol=1e-10)
    np.testing.assert_allclose(density(which, 1e6), expected, rtol=1e-8)  # the data have ten digits there


def test_the_matrix_comes_back_by_its_law():
    """Means of 20,000 exact draws, to five standard errors."""
    with pm.Model():
        V = pm.Wishart("V", nu=4, V=SCALE)
        pm.MvNormal("y", AT, tau=V, observed=ROWS)
        drawn = pm.sample(5000, chains=4, random_seed=2, progressbar=False, quiet=True).posterior["V"].values
    law = updated(ROWS - AT)
    errors = np.sqrt(law.var() / 20_000)
    assert np.all(np.abs(drawn.mean(axis=(0, 1)) - law.mean()) < 5 * errors)
    np.testing.assert_allclose(drawn.var(axis=(0, 1)), law.var(), rtol=0.1)


def _in_a_mean(V):
    pm.MvNormal("y", V[0], tau=V, observed=ROWS)


def _as_a_covariance(V):
    pm.MvNormal("y", AT, cov=V, observed=ROWS)


def _in_a_potential(V):
    pm.MvNormal("y", AT, tau=V, observed=ROWS)
    pm.Potential("trace", -V[0, 0])


@pytest.mark.parametrize("write", [_in_a_mean, _as_a_covariance, _in_a_potential], ids=lambda f: f.__name__)
def test_what_is_no_precision_of_rows_alone_stays(write):
    with pm.Model() as model:
        write(pm.Wishart("V", nu=4, V=SCALE))
    assert pm.explain(model).free == ("V",)


GROUP = np.array([0, 0, 3, 1, 0, 3])
BELOW = np.array([0.4, 2.5, 0.7, 1.2, 0.1, 0.3])  # no rows of group 2, and group 3 below the least bound


def _bounds(alpha=1.5):
    theta = pm.Pareto("theta", alpha, 1.0, shape=4)
    pm.Uniform("y", 0, theta[GROUP], observed=BELOW)
    return theta


def test_bounds_of_uniform_rows_go_by_the_largest():
    """Against the integral over each bound, and the mean of what comes back."""
    with pm.Model() as model:
        _bounds(pm.HalfNormal("alpha"))
    assert pm.explain(model).free == ("alpha",)
    density, alpha = model.compile_logp(rewrite=True), 1.5
    expected = stats.halfnorm.logpdf(alpha) + np.log(alpha)
    for j in range(4):
        rows = BELOW[j == GROUP]
        start = max(1.0, rows.max(initial=0.0))
        whole = quad(lambda t, n=rows.size: alpha * t ** (-alpha - 1 - n), start, np.inf, epsabs=0, epsrel=1e-12)[0]
        expected += np.log(whole)
    np.testing.assert_allclose(density({"alpha_log__": np.log(alpha)}), expected, rtol=1e-10)
    with pm.Model():
        _bounds()
        drawn = pm.sample(5000, chains=4, random_seed=2, progressbar=False, quiet=True).posterior["theta"].values
    for j, (count, least) in enumerate(zip(np.bincount(GROUP, minlength=4), (2.5, 1.2, 1.0, 1.0), strict=True)):
        after = stats.pareto(1.5 + count, scale=least)
        assert stats.kstest(drawn[..., j].ravel(), after.cdf).pvalue > 1e-4


@pytest.mark.parametrize("lower", [-1.0, None])
def test_bounds_that_are_not_alone_stay(lower):
    with pm.Model() as model:
        theta = pm.Pareto("theta", 1.5, 1.0)
        pm.Uniform("y", lower or 0.0, 2.0 * theta if lower is None else theta, observed=BELOW)
    assert pm.explain(model).free == ("theta",)


def test_a_normal_mean_does_not_go_first():
    """It would leave the matrix, which no gradient moves; the mean alone has an easy density."""
    with pm.Model() as model:
        V, mu = pm.Wishart("V", nu=4, V=SCALE), pm.Normal("mu", 0, 1, shape=2)
        pm.MvNormal("y", mu, tau=V, observed=ROWS)
        assert pm.explain(model).free == ("mu",)
        drawn = pm.sample(1000, chains=2, random_seed=2, progressbar=False, quiet=True).posterior
    assert abs(drawn["mu"].mean(("chain", "draw")) - ROWS.mean(axis=0)).max() < 0.3
    assert np.linalg.eigvalsh(drawn["V"]).min() > 0
