"""Data and parameters at the edge: rewriting is exact there, or says clearly what is wrong; never another posterior."""

from __future__ import annotations

import numpy as np
import pytest
from exact_elimination import both_sides

import ppl as pm
import ppl.tensor as tt
from ppl.model.posterior.rewriting import program_of
from ppl.rewrites import strict

RNG = np.random.default_rng(7)
ROWS = 40
COVARIATE = RNG.normal(size=ROWS)
Y = RNG.normal(size=ROWS)


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def varying(groups, group, y=Y, covariate=COVARIATE):
    """Intercepts by group, a slope and two scales."""
    mu, tau, sigma = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
    a, b = pm.Normal("a", mu, tau, shape=groups), pm.Normal("b", 0, 1)
    pm.Normal("y", a[group] + b * covariate, sigma, observed=y)


def empty_groups():
    varying(6, RNG.choice([0, 2, 5], ROWS))


def a_single_group():
    varying(1, np.zeros(ROWS, dtype=int))


def a_group_for_each_row():
    varying(ROWS, np.arange(ROWS))


def data_that_do_not_vary():
    varying(4, RNG.integers(0, 4, ROWS), y=np.full(ROWS, 3.0))


def a_constant_column():
    varying(4, RNG.integers(0, 4, ROWS), covariate=np.ones(ROWS))


def a_column_of_zeros():
    varying(4, RNG.integers(0, 4, ROWS), covariate=np.zeros(ROWS))


def a_column_twice():
    x = np.stack([COVARIATE, COVARIATE], axis=1)
    beta, sigma = pm.Normal("beta", 0, 1, shape=2), pm.HalfNormal("sigma", 1)
    pm.Normal("y", pm.math.dot(x, beta), sigma, observed=Y)


def many_columns_twice():
    x = np.concatenate([RNG.normal(size=(ROWS, 3))] * 2, axis=1)
    tau, sigma = pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
    beta = pm.Normal("beta", 0, tau, shape=6)
    pm.Normal("y", pm.math.dot(x, beta), sigma, observed=Y)


def more_columns_than_rows():
    x = RNG.normal(size=(4, 9))
    beta, sigma = pm.Normal("beta", 0, 1, shape=9), pm.HalfNormal("sigma", 1)
    pm.Normal("y", pm.math.dot(x, beta), sigma, observed=Y[:4])


def one_row():
    mu, sigma = pm.Normal("mu", 0, 5), pm.HalfNormal("sigma", 1)
    pm.Normal("y", mu, sigma, observed=0.3)


def missing_observations():
    seen = Y.copy()
    seen[[3, 17]] = np.nan
    with pytest.warns(UserWarning, match="imputed"):
        varying(4, RNG.integers(0, 4, ROWS), y=seen)


def missing_counts():
    seen = np.array([2.0, np.nan, 0.0, 5.0])
    rate = pm.Gamma("rate", 2.0, 1.0)
    with pytest.warns(UserWarning, match="imputed"):
        pm.Poisson("n", rate, observed=seen)


def a_tight_prior():
    mu = pm.Normal("mu", 2.0, 1e-9)
    pm.Normal("y", mu, pm.HalfNormal("sigma", 1), observed=Y)


EDGES = [
    empty_groups, a_single_group, a_group_for_each_row, data_that_do_not_vary, a_constant_column, a_column_of_zeros,
    a_column_twice, many_columns_twice, more_columns_than_rows, one_row, missing_observations, missing_counts,
]  # fmt: skip


@pytest.mark.parametrize("edge", EDGES, ids=lambda f: f.__name__)
def test_what_is_eliminated_at_the_edge_is_exact(edge):
    with pm.Model() as model:
        edge()
    plan = pm.explain(model)
    assert plan.steps, plan
    sides = both_sides(program_of(model), plan.program, 3)
    assert np.isfinite(sides.joint).all()
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-8, atol=1e-8, err_msg=str(plan))


def test_a_prior_that_decides_all_is_a_constant():
    with pm.Model() as model:
        a_tight_prior()
    with pm.Model() as fixed:
        pm.Normal("y", 2.0, pm.HalfNormal("sigma", 1), observed=Y)
    at = {"sigma_log__": 0.3}
    assert model.compile_logp(rewrite=True)(at) == pytest.approx(fixed.compile_logp()(at), rel=1e-9)


def test_a_covariance_that_is_not_positive_definite_has_no_density():
    """A correlation beyond one: the density as written is 0 there, and so is the rewritten one."""
    with pm.Model() as model:
        rho = pm.Normal("rho", 0, 1)
        cov = pm.math.stack([pm.math.stack([1.0, rho]), pm.math.stack([rho, 1.0])])
        x = pm.MvNormal("x", np.zeros(2), cov=cov)
        pm.Normal("y", x, 1.0, observed=np.array([0.4, -0.2]))
    assert pm.explain(model).free == ("rho",)
    f = model.compile_logp(rewrite=True)
    assert np.isfinite(f({"rho": 0.5}))
    assert f({"rho": 1.5}) == -np.inf


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_scale_outside_its_domain_has_no_density(scale):
    with pm.Model() as model:
        s = pm.Normal("s", 0, 1)
        mu = pm.Normal("mu", 0, 1)
        theta = pm.Normal("theta", mu, s, shape=4)
        pm.Normal("y", theta, 1.0, observed=Y[:4])
    written = model.compile_logp()({"s": np.array(scale), "mu": np.array(0.0), "theta": np.zeros(4)})
    assert written == -np.inf
    assert pm.explain(model).free == ("s",)
    assert model.compile_logp(rewrite=True)({"s": np.array(scale)}) == -np.inf


@pytest.mark.parametrize("value", [-0.5, -3.0])
def test_a_conjugate_prior_outside_its_domain_has_no_density(value):
    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0, 1)
        rate = pm.Gamma("rate", alpha, 1.0)
        pm.Poisson("n", rate, observed=1)
    assert pm.explain(model).free == ("alpha",)
    assert model.compile_logp(rewrite=True)({"alpha": np.array(value)}) == -np.inf


def test_scales_by_group_outside_their_domain_have_no_density():
    """Each row has its own scale: squares alone would not tell its sign."""
    with pm.Model() as model:
        s = pm.Normal("s", 0, 1, shape=2)
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", mu, s[np.array([0, 1, 1])], observed=Y[:3])
    assert pm.explain(model).free == ("s",)
    f = model.compile_logp(rewrite=True)
    assert np.isfinite(f({"s": np.array([0.5, 1.0])}))
    assert f({"s": np.array([0.5, -1.0])}) == -np.inf


def test_new_data_of_another_size_make_another_plan():
    with pm.Model() as model:
        group, y = pm.Data("group", np.array([0, 1, 1])), pm.Data("seen", np.array([0.1, 0.2, 0.9]))
        tau = pm.HalfNormal("tau", 1)
        a = pm.Normal("a", 0, tau, shape=3)
        pm.Normal("y", a[group], 1.0, observed=y)
    before = model.compile_logp(rewrite=True)({"tau_log__": 0.2})
    with model:
        pm.set_data({"group": np.array([2, 0, 1, 1, 0]), "seen": np.array([1.0, -1.0, 0.3, 0.2, 0.5])})
    plan = pm.explain(model)
    assert plan.free == ("tau",)
    with pm.Model() as fresh:
        tau = pm.HalfNormal("tau", 1)
        a = pm.Normal("a", 0, tau, shape=3)
        pm.Normal("y", a[[2, 0, 1, 1, 0]], 1.0, observed=[1.0, -1.0, 0.3, 0.2, 0.5])
    found = model.compile_logp(rewrite=True)({"tau_log__": 0.2})
    assert found == pytest.approx(fresh.compile_logp(rewrite=True)({"tau_log__": 0.2}), rel=1e-10)
    assert found != pytest.approx(before)


def test_new_data_with_an_index_beyond_the_groups_are_an_error():
    with pm.Model():
        group = pm.Data("group", np.array([0, 1, 2]))
        a = pm.Normal("a", 0, pm.HalfNormal("tau", 1), shape=3)
        pm.Normal("y", a[group], 1.0, observed=Y[:3])
        with pytest.raises(IndexError, match='3 at position 2 is out of range, as an index into "a"'):
            pm.set_data({"group": np.array([0, 1, 3])})


def test_names_used_in_another_model_do_not_matter():
    """The same names in two models, with different laws: each has its own plan and its own density."""

    def written(scale):
        with pm.Model() as model:
            mu = pm.Normal("mu", 0, scale)
            pm.Normal("y", mu, pm.HalfNormal("sigma", 1), observed=Y)
        return model

    found = [written(s).compile_logp(rewrite=True)({"sigma_log__": 0.1}) for s in (1.0, 3.0, 1.0)]
    assert found[0] == found[2] != found[1]
    with pm.Model(), pytest.raises(ValueError, match="mu"):
        pm.Normal("mu", 0, 1)
        pm.Normal("mu", 0, 1)


def a_single_row(x, scale):
    pm.StudentT("y", 4, x, scale, observed=0.3)


def rows_all_alike(x, scale):
    pm.Laplace("y", x, scale, observed=[2.0, 2.0])


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("rows", [a_single_row, rows_all_alike], ids=lambda f: f.__name__)
def test_rows_that_do_not_vary_tell_what_their_scale_says(rows, known):
    """Not that they are without noise, as their variance would have it."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, pm.HalfNormal("tau", 1))
        rows(x, 0.5 if known else pm.LogNormal("scale", np.log(0.5) - 0.5, 1))  # it starts at its mean, 1/2
    (chosen,) = [c for rv, c in pm.explain(model).coordinates.items() if rv.name == "x"]
    one_row = (4 + 1) / (4 + 3) / 0.5**2  # the Fisher information of Student's location with four degrees of freedom
    np.testing.assert_allclose(chosen.information, one_row if rows is a_single_row else 2 / 0.5**2)


@pytest.mark.parametrize("lengths", [(1, 3), (3, 1), (3, 3)])
def test_what_is_left_has_the_length_of_what_went(lengths):
    """It was that of the first operand, were it one or not."""
    x, y = tt.dvector("x"), tt.dvector("y")
    finite = pm.assume(y, finite=True)
    f = pm.function([x, y], [x + finite - finite, tt.switch(tt.zeros_like(x) > 1, finite, x), tt.switch(True, x, y)])
    for result in f(*map(np.ones, lengths)):
        assert np.array_equal(result, np.ones(3))


@pytest.mark.parametrize("length", [1, 4])
def test_an_entry_of_what_may_repeat_is_that_entry(length):
    """Of operands whose length was not known the first entry was taken for every one."""
    v, w = tt.dvector("v"), tt.tensor("w", dtype="float64", shape=(4,))
    f = pm.function([v, w], [(w * tt.exp(v) + v)[2], tt.broadcast_to(v, (3, 4))[1:, 2]])
    values = np.arange(1.0, length + 1)
    here = values[-2] if length > 1 else 1.0
    entry, column = f(values, np.full(4, 2.0))
    assert entry == pytest.approx(2 * np.exp(here) + here)
    assert np.array_equal(column, [here, here])
