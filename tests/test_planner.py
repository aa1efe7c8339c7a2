"""The planner never harms a model: what fails is left out and said, and every family passes through it."""

import numpy as np
import pytest

import ppl as pm
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites import strict
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.planning import planner
from ppl.rewrites.marginalization.program import Recovery
from ppl.rewrites.marginalization.theorem import Match, Theorem


def test_a_theorem_that_fails_is_reported_and_left_out(monkeypatch):
    def broken(program, variable):
        raise RuntimeError("planted")

    monkeypatch.setattr(planner, "THEOREMS", (Theorem("conjugate", broken, lambda rv: True),))
    monkeypatch.setattr(planner, "_reported", set())
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("count", rate, observed=[1, 2])
    with pytest.raises(RuntimeError, match="planted"):
        pm.explain(model)
    monkeypatch.setattr(strict, "on", False)
    with pytest.warns(UserWarning, match=r"'conjugate' failed \(RuntimeError: planted\) and is left out"):
        assert pm.explain(model).free == ("rate",)


def test_a_theorem_that_loses_a_variable_is_reported_and_undone(monkeypatch):
    def forgetful(program, variable):
        return Match((variable,), ())

    monkeypatch.setattr(planner, "THEOREMS", (Theorem("conjugate", forgetful, lambda rv: True),))
    monkeypatch.setattr(planner, "_reported", set())
    monkeypatch.setattr(strict, "on", False)
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("count", rate, observed=[1, 2])
    with pytest.warns(UserWarning, match="neither keeps nor brings back rate"):
        assert pm.explain(model).free == ("rate",)


def test_a_theorem_that_leaves_what_it_needs_is_reported_and_undone(monkeypatch):
    def half(program, variable):
        return Match((variable,), (), recoveries=(Recovery(variable, variable),))

    monkeypatch.setattr(planner, "THEOREMS", (Theorem("conjugate", half, lambda rv: True),))
    monkeypatch.setattr(planner, "_reported", set())
    monkeypatch.setattr(strict, "on", False)
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1)
        pm.Poisson("count", rate, observed=[1, 2])
    with pytest.warns(UserWarning, match="what is left still depends on rate, marginalized"):
        assert pm.explain(model).free == ("rate",)


def test_a_variable_that_decides_whether_another_law_exists_stays():
    """The density as written is 0 where the scale of z is negative, though nothing observed depends on z."""
    with pm.Model() as model:
        s = pm.Normal("s", 1, 1)
        pm.Normal("z", 0, s)
        pm.Normal("y", 0, 1, observed=1.0)
    assert pm.explain(model).free == ("s",)
    assert pm.sample(100, tune=100, chains=1, model=model, progressbar=False, quiet=True).posterior["s"].min() >= 0


def test_entries_of_known_numbers_lie_where_all_of_these_do():
    with pm.Model() as model:
        state = pm.DiscreteMarkovChain(
            "state", P=[[0.6, 0.4], [0.3, 0.7]], init_dist=pm.Categorical.dist([0.5, 0.5]), shape=3
        )
        pm.Bernoulli("seen", pm.math.constant([0.1, 0.2])[state], shape=3)
        pm.Normal("y", pm.Normal("m", 0, 1), 1, observed=1.0)
    assert pm.explain(model).free == ()


def test_labels_of_a_label_that_stays_stay_too():
    with pm.Model() as model:
        first = pm.Categorical("first", [0.8, 0.2])
        second = pm.Categorical("second", pm.math.constant([[0.9, 0.1], [0.4, 0.6]])[first])
        level = pm.HalfNormal("level", pm.math.switch(pm.math.eq(second, 1), 2.0, 0.5))
        pm.Normal("y", level, 1, observed=0.3)
    assert set(pm.explain(model, protect=["level"]).free) == {"first", "second", "level"}
    assert pm.explain(model).free == ()


@pytest.mark.parametrize("rows", [5, 400])
def test_a_censored_law_is_no_exponential_family_and_passes_through(rows):
    with pm.Model() as model:
        shape = pm.HalfNormal("shape", 3)
        pm.Censored("y", pm.Weibull.dist(shape, 2.0), lower=None, upper=4.0, observed=np.full(rows, 4.0))
    assert pm.explain(model).free == ("shape",)
    written, rewritten = model.compile_logp(), model.compile_logp(rewrite=True)
    points = [{"shape_log__": value} for value in (-1.0, 0.0, 1.0)]
    np.testing.assert_allclose([rewritten(p) for p in points], [written(p) for p in points], rtol=1e-12)


def test_what_depends_on_a_partly_observed_covariate_depends_on_its_values():
    x = np.array([0.5, np.nan, -1.0, 2.0, np.nan, 1.5])
    y = np.array([1.0, 0.2, -2.1, 4.2, 1.1, 2.9])
    with pm.Model() as model:
        with pytest.warns(UserWarning, match="imputed"):
            covariate = pm.Normal("x", pm.Normal("center", 0, 1), 1, observed=x)
        pm.Normal("y", pm.Normal("slope", 0, 5) * covariate, 1, observed=y)
        result = pm.sample(100, tune=100, chains=2, random_seed=5, progressbar=False, quiet=True)
    assert {model.free_RVs[i].name for i in range(3)} == {"center", "x_unobserved", "slope"}
    known = ~np.isnan(x)
    np.testing.assert_array_equal(result.posterior["x"].values[..., known], np.broadcast_to(x[known], (2, 100, 4)))
    assert 1.2 < float(result.posterior["slope"].mean()) < 2.8


def test_the_coefficients_of_a_horseshoe_go_with_their_intercept_whatever_the_number_of_rows():
    """Their scales stay; sums over the rows are taken once. Where they are kept, the intercept still goes."""
    rng = np.random.default_rng(0)
    rows, X = rng.normal(size=5000), rng.normal(size=(5000, 20))
    with pm.Model() as model:
        scales = pm.HalfStudentT("tau", 3) * pm.HalfStudentT("lam", 3, shape=20)
        slopes, intercept = scales * pm.Normal("z", shape=20), pm.Normal("intercept", 0, 2)
        pm.Normal("y", intercept + X @ slopes, pm.HalfNormal("sigma", 1), observed=rows)
    assert pm.explain(model).free == ("tau", "lam", "sigma")
    kept = pm.explain(model, protect=["z"])
    assert kept.free == ("tau", "lam", "z", "sigma") and kept.gain > 20
    assert next(s.rule for s in pm.explain(model, protect=["z", "intercept"]).steps) == "sufficient statistics"


def test_coefficients_with_scales_of_their_own_stay_where_their_block_costs_more_than_statistics():
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, pm.HalfStudentT("lam", 3, shape=60), shape=60)
        pm.Normal("y", rng.normal(size=(1000, 60)) @ beta, pm.HalfNormal("sigma", 1), observed=rng.normal(size=1000))
    why = {k.name: k.why for k in pm.explain(model).kept}
    assert why["beta"] == "its children are cheaper by their sufficient statistics"
    point = {name: rng.normal(size=value.shape) for name, value in model.initial_point().items()}
    short = model.compile_fn(model.logp(rewrite=True), inputs=model.value_vars)
    np.testing.assert_allclose(short(point), model.compile_logp()(point), rtol=1e-10)


@pytest.mark.parametrize("floatX", ["float64", "float32"])
def test_whole_numbers_and_vectors_share_a_linear_predictor(floatX):
    """A variable that is protected, a count in double precision; an index; and scales of the rows that are data."""
    rng = np.random.default_rng(1)
    x, group = rng.normal(size=(400, 2)).astype(floatX), rng.integers(0, 3, 400)
    with pm.config.change_flags(floatX=floatX), pm.Model() as model:
        count = pm.Poisson("count", 3.0) if floatX == "float64" else pm.StudentT("count", 4)
        level = pm.StudentT("level", 4, shape=3)
        mean = count * x[:, 0] + x[:, 1] * level[group] - 0.25 * level[1]
        pm.Normal("y", mean, np.exp(0.1 * x[:, 0]), observed=rng.normal(size=400))
        assert [s.rule for s in pm.explain(model, protect=["count"]).steps] == ["sufficient statistics"]
        posterior = rewritten(model, protect=["count"])
        short = model.compile_fn(posterior.logp(), inputs=posterior.values)
        tolerance = 1e-10 if floatX == "float64" else 1e-4
        for n in (0, 2, 7):
            point = {"count": np.asarray(n, count.dtype), "level": rng.normal(size=3).astype(floatX)}
            np.testing.assert_allclose(short(point), model.compile_logp()(point), rtol=tolerance)


def test_families_with_parameters_of_their_own_kind_are_planned_around():
    """A mixture, and a density by hand that asks for another one's: neither names its parameters as families do."""
    with pm.Model() as model:
        mu, scale = pm.Normal("mu", 0, pm.HalfNormal("tau"), shape=2), pm.HalfNormal("scale")
        pm.NormalMixture("y", [0.3, 0.7], mu, scale, observed=np.linspace(-1, 1, 5))
        own = lambda value, mu, scale: pm.logp(pm.LogNormal.dist(mu, scale), value)
        pm.CustomDist("z", mu[0], scale, logp=own, observed=[0.5, 2.0])
    assert pm.explain(model).ndim == 4


def test_a_flat_prior_that_nothing_bounds_stays():
    """As a level of a group without rows."""
    with pm.Model() as model:
        level = pm.Flat("level", shape=4)
        pm.Normal("y", level[np.array([0, 0, 1, 3])], 0.5, observed=np.arange(4.0))
    plan = pm.explain(model)
    assert plan.free == ("level",) and "entry 2" in plan.kept[0].why


@pytest.mark.parametrize(("second", "free"), [("ones", ("b",)), ("dates", ()), ("groups", ("b", "level"))])
def test_flat_priors_that_rows_do_not_tell_apart_stay(second, free):
    """Two equal columns, or a level beside one of each group: nothing bounds the difference. Dates are two columns."""
    group = np.arange(12) % 3
    columns = {"ones": np.ones(12), "dates": 1.7e9 + np.arange(12.0) ** 2, "groups": np.arange(12.0)}
    with pm.Model() as model:
        b = pm.Flat("b", shape=2)
        mean = pm.math.dot(np.column_stack([np.ones(12), columns[second]]), b)
        mean = mean + pm.Flat("level", shape=3)[group] if second == "groups" else mean
        pm.Normal("y", mean, 0.5, observed=np.arange(12.0))
    plan = pm.explain(model)
    assert plan.free == free and all("in some direction" in kept.why for kept in plan.kept)


def test_plans_list_few_of_many_names():
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        labels = [pm.Bernoulli(f"z{i}", p) for i in range(20)]
        pm.Normal("y", pm.math.stack(labels), 1, observed=np.zeros(20))
    plan = pm.explain(model)
    (step,) = plan.steps
    assert len(step.eliminated) == 20
    for text in (str(plan), plan._repr_html_()):
        assert "z0, z1, z2" in text and "17 more" in text and "z5" not in text


def test_labels_in_operations_of_several_results_are_summed_out():
    """log|A| comes with its sign; the chance of z follows by hand."""
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.3)
        rows = [[2.0 + z, 0.5 * z], [0.5 * z, 1.0 + z]]
        pm.Potential("size", -pm.math.logdet(pm.math.stack([pm.math.stack(row) for row in rows])))
        pm.Normal("y", z, 1, observed=0.3)
    assert pm.explain(model).free == ()
    weights = [0.7 * np.exp(-0.5 * 0.3**2) / 2.0, 0.3 * np.exp(-0.5 * 0.7**2) / 5.75]
    expected = np.log(sum(weights) / np.sqrt(2 * np.pi))
    np.testing.assert_allclose(model.compile_logp(rewrite=True)({}), expected, rtol=1e-12)


def test_designs_too_large_to_be_written_out_stay_as_they_are(monkeypatch):
    x = np.random.default_rng(0).normal(size=(1000, 2))
    with pm.Model() as model:
        beta, sigma = pm.Normal("beta", 0, 1, shape=2), pm.HalfNormal("sigma", 1)
        pm.Normal("y", pm.math.dot(x, beta), sigma, observed=x[:, 0])
    assert [step.rule for step in pm.explain(model, protect=["beta"]).steps] == ["sufficient statistics"]
    monkeypatch.setattr(LIMITS, "entries_of_a_design", 1999)
    plan = pm.explain(model, protect=["beta", "sigma"])
    assert not plan.steps
    assert [(kept.name, kept.why) for kept in plan.rows] == [
        ("y", "1000 rows with 2 columns are more than 1999 numbers to write out")
    ]


def _logistic(x, y):
    pm.Bernoulli("y", logit_p=pm.math.dot(x, pm.Normal("b", shape=3)), observed=y > 0)


def _robust_tables(x, y):
    pm.StudentT("y", 4, pm.StudentT("b", 3, shape=3), 1, observed=x)


def _own_scales(x, y):
    log_scale = pm.math.dot(x, pm.Normal("c", shape=3))
    pm.Normal("y", pm.math.dot(x, pm.StudentT("b", 3, shape=3)), pm.math.exp(log_scale), observed=y)


def _own_levels(x, y):
    pm.StudentT("y", 4, pm.StudentT("level", 3, shape=200), 1, observed=y)


def _ratings(x, y):
    pm.StudentT("y", 4, pm.StudentT("b", 3), 1, observed=np.r_[np.repeat([1.0, 2.0], 45), y[:110]])


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (_logistic, "200 of 200 rows differ"),
        (_robust_tables, "600 of 600 rows differ"),
        (_own_scales, "rows have scales of their own that are not data"),
        (_own_levels, 'each row has an entry of "level" of its own'),
        (_ratings, "112 of 200 rows differ"),
    ],
)
def test_rows_that_each_evaluation_goes_over_have_their_reason(write, why):
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        write(rng.normal(size=(200, 3)), rng.normal(size=200))
    plan = pm.explain(model)
    assert [(kept.name, kept.why) for kept in plan.rows] == [("y", why)]
    assert f"observations that each evaluation goes over row by row:\n    y: {why}" in str(plan)
    assert f"<td>rows</td><td>y</td><td>{why.replace(chr(34), '&quot;')}</td>" in plan._repr_html_()


def test_few_rows_need_no_reason():
    with pm.Model() as model:
        pm.StudentT("y", 4, pm.StudentT("b", 3), 1, observed=np.arange(31.0))
    assert not pm.explain(model).rows and "goes over" not in str(pm.explain(model))


def test_a_slow_machine_has_the_same_plan(monkeypatch):
    """Planning counts its work: however long it takes by the clock, no theorem is left out."""
    clock = iter(np.arange(0.0, 1e9, 1e3))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, pm.HalfNormal("tau"), shape=3)
        pm.Normal("y", theta, 1.0, observed=[1.0, 2.0, 0.5])
    plan = pm.explain(model)
    assert plan.milliseconds >= 1e6 and plan.free == ("tau",) and not plan.stopped


def test_planning_has_a_budget(monkeypatch):
    """Without any time labels are summed out, since nothing else moves them, and the density stays what it was."""

    def groups_and_a_label():
        with pm.Model() as model:
            theta, z = pm.Normal("theta", 0, pm.HalfNormal("tau"), shape=3), pm.Bernoulli("z", 0.3)
            pm.Normal("y", theta, 1.0, observed=[1.0, 2.0, 0.5])
            pm.Poisson("k", 1.0 + 2.0 * z, observed=3)
        return model

    plan = pm.explain(groups_and_a_label())
    assert set(plan.free) == {"tau"} and "not tried" not in str(plan)
    monkeypatch.setattr(LIMITS, "nodes_gone_through", 0)
    model = groups_and_a_label()
    plan = pm.explain(model)
    assert set(plan.free) == {"tau", "theta"} and plan.stopped
    for text in (str(plan), plan._repr_html_()):
        assert "further theorems were not tried: planning may go through 0 factors" in text
    point = {"theta": np.ones(3), "tau_log__": np.asarray(0.2)}
    labels = [model.compile_logp()({**point, "z": np.asarray(k)}) for k in (0, 1)]
    np.testing.assert_allclose(model.compile_logp(rewrite=True)(point), np.logaddexp(*labels), rtol=1e-12)
