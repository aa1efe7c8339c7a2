"""`do` in every spelling: on variables, on Data, frozen or not, by values and by expressions, of itself too."""

import warnings

import numpy as np
import pytest
from scipy import stats

import ppl
import ppl.tensor as tt

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")


def effect(pm):
    with pm.Model() as model:
        x = pm.Data("x", 1.0)
        z = pm.Normal("z", x, 1)
        pm.Normal("y", z, 1, observed=2.0)
        pm.Deterministic("d", z + 1)
    return model


def shared(pm, value):
    if pm is ppl:
        return ppl.shared(value)
    import pytensor

    return pytensor.shared(value)


SPELLINGS = {
    "data": lambda pm: pm.do(effect(pm), {"x": 105.0}),
    "frozen data": lambda pm: pm.do(frozen(pm)(effect(pm)), {"x": 105.0}),
    "frozen, and fixed": lambda pm: pm.do(frozen(pm)(effect(pm)), {"x": 105.0}, make_interventions_shared=False),
    "data and itself": lambda pm: with_model(pm, lambda m: {m["x"]: m["x"] + 100}),
    "a variable and itself": lambda pm: with_model(pm, lambda m: {"z": m["z"] * shared(pm, 2.0)}),
    "a deterministic and itself": lambda pm: with_model(pm, lambda m: {"d": m["d"] * 2}),
    "an observed variable and itself": lambda pm: with_model(pm, lambda m: {"y": m["y"] * 2}),
    "a variable and data": lambda pm: with_model(pm, lambda m: {"z": m["x"] * 3}),
}


def frozen(pm):
    if pm is ppl:
        return ppl.freeze_dims_and_data
    from pymc.model.transform.optimization import freeze_dims_and_data

    return freeze_dims_and_data


def with_model(pm, chosen):
    model = effect(pm)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Intervention expression")
        return pm.do(model, chosen(model))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_it_has_the_variables_and_the_density_that_pymc_has(spelling, pymc5):
    found, theirs = (SPELLINGS[spelling](pm) for pm in (ppl, pymc5))
    assert set(found.named_vars) == set(theirs.named_vars)
    for book in ("free_RVs", "observed_RVs"):
        assert [v.name for v in getattr(found, book)] == [v.name for v in getattr(theirs, book)]
    point = {v.name: 0.7 for v in theirs.value_vars}
    np.testing.assert_allclose(found.compile_logp()(point), theirs.compile_logp()(point), rtol=1e-12)
    datalogp = found.datalogp.eval(dict.fromkeys(found.value_vars, 0.7))
    np.testing.assert_allclose(datalogp, theirs.compile_fn(theirs.datalogp)(point), rtol=1e-12)


def test_frozen_data_are_themselves_whatever_has_the_same_value():
    with ppl.Model() as model:
        x, twin = ppl.Data("x", 1.0), ppl.Data("twin", 1.0)
        ppl.Normal("z", x, 1.0)
        ppl.Normal("w", twin, 1.0)
    still = ppl.freeze_dims_and_data(model)
    done = ppl.do(still, {"x": 105.0})
    assert abs(ppl.draw(done["z"], random_seed=1) - 105) < 10 > abs(ppl.draw(done["w"], random_seed=1))
    assert abs(ppl.draw(still["z"], random_seed=1)) < 10
    again = ppl.do(ppl.do(still, {"x": 105.0}, make_interventions_shared=False).copy(), {"x": -105.0})
    assert abs(ppl.draw(again["z"], random_seed=1) + 105) < 10
    with done:
        done.set_data("x", 7.0)
    assert abs(ppl.draw(done["z"], random_seed=1) - 7) < 10


def test_an_expression_of_itself_is_warned_of():
    model = effect(ppl)
    with pytest.warns(UserWarning, match="references the variable that is being intervened: x. It is called do_x"):
        ppl.do(model, {"x": model["x"] + 100})


def test_an_expression_of_later_variables_comes_after_them():
    with ppl.Model() as model:
        x = ppl.Normal("x")
        ppl.Normal("w", x, 1)
        ppl.Normal("z")
    done = ppl.do(model, {"x": model["z"] * 2})
    assert list(done.named_vars) == ["z", "x", "w"]
    np.testing.assert_allclose(done.compile_logp()({"z": 1.0, "w": 2.0}), -np.log(2 * np.pi) - 0.5)
    with pytest.raises(ValueError, match='"x" shall be set to an expression of "w", which depends on "x" itself'):
        ppl.do(model, {"x": model["w"]})
    with pytest.raises(ValueError, match=r'expression of "[xz]", which depends on'):
        ppl.do(model, {"x": model["z"] * 2, "z": model["x"]})


def test_what_does_not_fit_is_refused():
    model = effect(ppl)
    with pytest.raises(ppl.ShapeError, match=r'"z" has shape \(\), and shall be set to an expression of shape \(\?,\)'):
        ppl.do(model, {"z": tt.dvector("v")})
    with pytest.raises(ppl.ShapeError, match=r'"x" has shape \(\), and shall be set to a value of shape \(3,\)'):
        ppl.do(model, {"x": np.zeros(3)})
    with ppl.Model() as counts:
        ppl.Poisson("n", 2.0)
    with pytest.raises(TypeError, match='"n" is int64, and shall be set to an expression of float64'):
        ppl.do(counts, {"n": tt.exp(ppl.shared(1.0))})
    with ppl.Model() as added:
        ppl.Potential("p", ppl.Normal("x"))
    with pytest.raises(ValueError, match="'p' is a potential; intervene on"):
        ppl.do(added, {"p": 1.0})


# --- deterministics that are observed -------------------------------------------------------------------------------
SEEN = [0.5, 2.0, 3.0]


def drawn():
    """A deterministic with a draw of its own, one of that, and one of the model's variables alone."""
    with ppl.Model(coords={"row": range(3)}) as model:
        mu, s = ppl.Normal("mu", 0, 2), ppl.HalfNormal("s", 1)
        x = ppl.Data("x", [1.0, 0.0, -1.0], dims="row")
        y = ppl.Deterministic("y", ppl.math.exp(ppl.Normal.dist(mu + x, s, shape=3)), dims="row")
        ppl.Deterministic("z", 2 * y, dims="row")
        ppl.Deterministic("twice", 2 * mu)
    return model


def test_a_deterministic_with_a_draw_of_its_own_can_be_observed():
    point = {"mu": 0.3, "s_log__": -0.2}
    model = ppl.observe(drawn(), {"y": SEEN})
    assert [rv.name for rv in model.observed_RVs] == ["y"] and [d.name for d in model.deterministics] == ["z", "twice"]
    assert model.named_vars_to_dims["y"] == ("row",)
    with ppl.Model() as plain:
        mu, s = ppl.Normal("mu", 0, 2), ppl.HalfNormal("s", 1)
        ppl.LogNormal("y", mu + np.array([1.0, 0.0, -1.0]), s, observed=SEEN)
    np.testing.assert_allclose(model.compile_logp()(point), plain.compile_logp()(point), rtol=1e-12)
    further = ppl.observe(drawn(), {"z": SEEN})
    with ppl.Model() as plain:
        mu, s = ppl.Normal("mu", 0, 2), ppl.HalfNormal("s", 1)
        ppl.LogNormal("z", mu + np.array([1.0, 0.0, -1.0]) + np.log(2), s, observed=SEEN)
    np.testing.assert_allclose(further.compile_logp()(point), plain.compile_logp()(point), rtol=1e-12)


def test_its_data_can_be_set_and_it_is_predicted():
    model = ppl.observe(drawn(), {"y": SEEN})
    with model:
        ppl.set_data({"x": [0.0, 0.0, 0.0]})
        trace = ppl.sample(50, tune=50, chains=2, random_seed=1, progressbar=False, quiet=True)
        found = ppl.sample_posterior_predictive(trace, random_seed=1, progressbar=False)
    assert found.posterior_predictive["y"].dims == ("chain", "draw", "row")
    assert float(found.posterior_predictive["y"].min()) > 0


def test_a_deterministic_without_a_draw_has_no_density():
    with pytest.raises(ValueError, match="'twice' follows from other variables of the model without a draw of its own"):
        ppl.observe(drawn(), {"twice": 1.0})
    with pytest.raises(ValueError, match="'x' is neither a random variable nor a deterministic"):
        ppl.observe(drawn(), {"x": SEEN})


def test_a_deterministic_with_a_draw_inside_is_observed_and_an_observed_variable_anew():
    with ppl.Model(coords={"i": range(4)}) as model:
        x = ppl.Normal("x")
        ppl.Deterministic("c", ppl.math.clip(ppl.Normal.dist(x, 1, shape=4), -1, 1), dims="i")
        ppl.Deterministic("e", ppl.math.exp(ppl.Normal.dist(x, 2.0)))
        ppl.Deterministic("b", 2 * x)
        ppl.Normal("o", x, 1, observed=1.0)
    seen = ppl.observe(model, {"c": [0.9, 0.5, 0.3, 1.0], "e": 2.5, "o": 3.0})
    assert [v.name for v in seen.observed_RVs] == ["c", "e", "o"] and seen.named_vars_to_dims["c"] == ("i",)
    assert [v.name for v in seen.deterministics] == ["b"]
    v, law = 0.3, stats.norm
    right = law.logpdf(v) + law.logpdf(3.0, v) + law.logpdf([0.9, 0.5, 0.3], v).sum() + law.logsf(1, v)
    right += law.logpdf(np.log(2.5), v, 2) - np.log(2.5)
    np.testing.assert_allclose(seen.compile_logp()({"x": v}), right)
    with pytest.raises(ValueError, match="'b' follows from other variables of the model without a draw of its own"):
        ppl.observe(model, {"b": 1.0})


def test_what_is_set_to_an_expression_of_data_is_no_deterministic():
    with ppl.Model() as model:
        x = ppl.Normal("x")
        y = ppl.Normal("y", x)
        ppl.Normal("z", x + y, 1e-3)
        switch = ppl.Data("switch", 1.0)
    made = ppl.do(model, {"x": 100 * switch, "y": 50 * switch})
    assert not made.deterministics and [v.name for v in made.free_RVs] == ["z"]
    again = ppl.do(made, {"switch": 2.0})  # names that are in no other book are rebuilt with the rest
    assert 299 < ppl.draw(again["z"], random_seed=1) < 301
    assert [v.name for v in ppl.do(model, {"y": x + 100}).deterministics] == ["y"]


def test_only_free_variables_have_transforms_to_change():
    with ppl.Model() as model:
        seen = ppl.Uniform("seen", observed=0.5)
    with pytest.raises(ValueError, match="'seen' is not a free variable of the model"):
        ppl.change_value_transforms(model, {seen: ppl.distributions.transforms.logodds})


def test_expressions_of_draws_are_registered_and_what_was_written_with_them_follows():
    with ppl.Model() as model:
        mu = ppl.Normal("mu", 0, 5)
        y = ppl.math.clip(ppl.Normal.dist(mu), -3, 3)
        model.register_rv(y, "y")
        model.register_rv(ppl.math.clip(ppl.Normal.dist(y, shape=2), -1, 1), "z", observed=[0.0, 1.0])
    assert list(ppl.model_to_networkx(model).edges) == [("mu", "y"), ("y", "z")]
    law = stats.norm.logpdf
    right = law(0.2, 0, 5) + law(0.5, 0.2) + law(0, 0.5) + stats.norm.logsf(1, 0.5)
    np.testing.assert_allclose(model.compile_logp()({"mu": 0.2, "y": 0.5}), right)
    with ppl.Model() as model, pytest.raises(TypeError, match="or an expression of such"):
        model.register_rv(ppl.tensor.constant(1.0), "c")
