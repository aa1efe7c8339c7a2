"""A Wishart precision integrated out: the candidate's identity at matrices of its own, and the draws that come back."""

import numpy as np
import pytest
from scipy import stats

import ppl as pm
from ppl.rewrites import strict

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
