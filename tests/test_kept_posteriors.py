"""What a model keeps from one run to the next: used while nothing has changed, made anew when something has."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import ppl as pm
from ppl.model.inference.strategies import quadrature as by_quadrature
from ppl.model.posterior import rewriting
from ppl.model.posterior.rewriting import rewritten
from ppl.rewrites.values.reads import Reads, note
from ppl.samplers import PROGRAMS
from ppl.samplers.independent.quadrature import quadrature
from ppl.tensor.variables import shared

FEW = {"draws": 20, "tune": 20, "chains": 1, "progressbar": False, "quiet": True, "random_seed": 1}


def hierarchy(data=(1.0, 2.0, 0.5)):
    with pm.Model() as model:
        tau = pm.HalfNormal("tau", 1)
        pm.Normal("y", pm.Normal("x", 0, tau, shape=3), 1.0, observed=np.asarray(data))
    return model


def test_the_same_question_is_answered_once():
    model = hierarchy()
    first = rewritten(model)
    assert rewritten(model) is first and first.logp() is rewritten(model).logp()


def test_the_same_seed_gives_the_same_draws_from_what_was_kept():
    model, other = hierarchy(), hierarchy()
    for _ in range(2):
        again = pm.sample(model=model, **FEW).posterior
    for name, values in pm.sample(model=other, **FEW).posterior.items():
        np.testing.assert_array_equal(again[name].values, values.values)


def test_a_distribution_function_is_found_once_from_each_start(monkeypatch):
    looked = []
    monkeypatch.setattr(by_quadrature, "quadrature", lambda *a, **k: looked.append(a[1]) or quadrature(*a, **k))
    model, other = hierarchy(), hierarchy()
    draw = lambda model, **more: pm.sample(model=model, **FEW, **more).posterior["tau"].values
    first, again = draw(model), draw(model)
    np.testing.assert_array_equal(first, again)
    assert len(looked) == 1
    far = draw(model, initvals={"tau": 3.0})
    assert len(looked) == 2 and looked[1] != looked[0]
    np.testing.assert_array_equal(far, draw(other, initvals={"tau": 3.0}))


CHANGES = {
    "protect": lambda model: {"protect": ["x"]},
    "eliminate": lambda model: {"eliminate": ["x"]},
    "rewrite": lambda model: {"rewrite": False},
    "other coordinates": lambda model: {"moved": False},
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_question_is_asked_anew(change):
    model = hierarchy()
    first = rewritten(model)
    assert rewritten(model, **CHANGES[change](model)) is not first


def test_a_model_that_grows_is_rewritten_anew():
    model = hierarchy()
    assert len(rewritten(model).values) == 1
    with model:
        z = pm.Normal("z", model["x"][0], 1.0)
    assert "z" in rewritten(model).outputs
    with model:
        pm.Potential("p", -(z**4))
    assert "p" in rewritten(model).terms
    with model:
        pm.Deterministic("twice", 2 * z)
    assert "twice" in rewritten(model).outputs


def test_another_transform_is_seen():
    model = hierarchy()
    first = rewritten(model, rewrite=False)
    model.rvs_to_transforms[model["tau"]] = None
    assert rewritten(model, rewrite=False) is not first


# --- data that may change -------------------------------------------------------------------------------------------
def line(rng):
    x = pm.Data("x", rng.normal(size=40))
    mean = pm.Normal("a", 0, 10) + pm.Normal("b", 0, 10) * x
    pm.StudentT("y", 4, mean, pm.HalfNormal("s", 1), observed=pm.Data("seen", rng.normal(size=40)))


def scales(rng):
    """Rows with scales of their own are integrated over if all scales are positive, which is looked up."""
    effects = pm.Normal("effects", pm.Normal("m", 0, 3), pm.HalfNormal("t", 2), shape=8)
    pm.Normal("y", effects, pm.Data("scale", rng.uniform(1, 2, 8)), observed=pm.Data("seen", rng.normal(size=8)))


def groups(rng):
    number = np.concatenate([np.arange(6), rng.integers(0, 6, 34)])
    effects = pm.Normal("effects", 0, pm.HalfNormal("t", 2), shape=6)[pm.Data("group", number)]
    pm.Poisson("y", pm.math.exp(effects), observed=pm.Data("seen", rng.poisson(2, 40)))


def sizes(rng):
    """A size by its value."""
    first = pm.Data("count", np.int64(rng.integers(3, 8)))
    pm.Normal("y", pm.Normal("m", 0, 3), 1, observed=pm.Data("seen", rng.normal(size=8))[:first])


def quadrature_of_data(rng):
    pm.Bernoulli("y", pm.Beta("p", 2, pm.Data("b", rng.uniform(1, 3))), observed=pm.Data("seen", rng.integers(0, 2, 9)))


def built(build, seed):
    with pm.Model() as model:
        build(np.random.default_rng(seed))
    return model


def data_of(model):
    return {v.name: v.get_value() for v in model.data_vars}


@pytest.fixture
def planned(monkeypatch):
    """One entry for each time that a posterior is made."""
    made, whole = [], rewriting._posterior
    monkeypatch.setattr(rewriting, "_posterior", lambda *asked: made.append(asked) or whole(*asked))
    return made


@pytest.mark.parametrize("build", [line, scales, groups, sizes, quadrature_of_data])
def test_a_second_run_plans_and_compiles_nothing(build, planned):
    model = built(build, 0)
    first = pm.sample(model=model, **FEW).posterior
    model.set_data(*next(iter(data_of(model).items())))  # another array of the same numbers
    before = PROGRAMS.compilations
    again = pm.sample(model=model, **FEW).posterior
    assert len(planned) == 1 and PROGRAMS.compilations == before
    for name, values in first.items():
        np.testing.assert_array_equal(again[name].values, values.values)


@pytest.mark.parametrize("build", [line, scales, groups, sizes, quadrature_of_data])
def test_other_data_give_the_draws_of_a_model_with_these_data(build):
    model = built(build, 0)
    pm.sample(model=model, **FEW)
    for seed in (1, 2, 0):
        other = built(build, seed)
        with model:
            pm.set_data(data_of(other))
        before = PROGRAMS.compilations
        again, fresh = pm.sample(model=model, **FEW), pm.sample(model=other, **FEW)
        assert build is sizes or PROGRAMS.compilations == before
        for name, values in fresh.posterior.items():
            np.testing.assert_array_equal(again.posterior[name].values, values.values)


def test_a_plan_serves_other_data_that_it_has_not_looked_at(planned):
    model, other = built(line, 0), built(line, 1)
    first = rewritten(model, rewrite=False)
    with model:
        pm.set_data(data_of(other))
    assert rewritten(model, rewrite=False) is first and len(planned) == 1
    with model:
        pm.set_data({name: np.append(value, 1.0) for name, value in data_of(other).items()})
    assert rewritten(model, rewrite=False) is not first  # of another length


def test_data_that_planning_has_looked_at_are_looked_at_again(planned):
    model = built(scales, 0)
    first = rewritten(model)
    with model:
        pm.set_data({"seen": np.arange(8.0), "scale": np.full(8, 3.0)})
    assert rewritten(model) is not first and len(planned) == 2


def test_an_array_that_the_user_writes_into_is_seen():
    lent = np.zeros(8)
    with pm.Model() as model:
        effects = pm.Normal("effects", pm.Normal("m", 0, 3), pm.HalfNormal("t", 2), shape=8)
        pm.Normal("y", effects, 1.0, observed=pm.Data("seen", lent, borrow=True))
    mean = lambda: float(pm.sample(model=model, **{**FEW, "draws": 400}).posterior.m.mean())
    assert mean() == pytest.approx(0.0, abs=0.5)
    lent += 5.0
    assert mean() > 3.0


def test_what_was_read_holds_until_it_is_another():
    x, y = shared(np.arange(3.0)), shared(np.arange(4.0))
    reads = Reads()
    with reads.noted():
        note([x])
    note([y])  # outside
    assert reads.hold()
    y.set_value(np.zeros(4))
    x.set_value(np.arange(3.0))
    assert reads.hold()
    x.set_value(np.array([0.0, 1.0, 3.0]))
    assert not reads.hold()
    with reads.noted():
        note([x])  # an answer that was read from both is of neither
    assert not reads.hold()
    x.set_value(np.arange(3.0))
    assert not reads.hold()


def test_data_that_may_change_are_looked_at_every_time():
    with pm.Model() as model:
        data, group = pm.Data("data", [1.0, 2.0]), pm.Data("group", [0, 0])
        pm.Normal("y", pm.Normal("x", 0, 1, shape=2)[group], 1.0, observed=data)
        mean = lambda: pm.sample(**{**FEW, "draws": 400}).posterior.x.mean(("chain", "draw")).values
        assert mean()[0] == pytest.approx(1.0, abs=0.2)
        pm.set_data({"group": np.array([1, 1]), "data": np.array([4.0, 5.0])})
        np.testing.assert_allclose(mean(), [0.0, 3.0], atol=0.3)
        model["group"].set_value(np.array([0, 0]))
        np.testing.assert_allclose(mean(), [3.0, 0.0], atol=0.3)


def test_a_kept_posterior_goes_with_its_model():
    model = hierarchy()
    seen = weakref.ref(rewritten(model))
    del model
    gc.collect()
    assert seen() is None


def test_single_precision_is_another_question(monkeypatch):
    model = hierarchy()
    first = rewritten(model)
    monkeypatch.setattr(pm.config, "floatX", "float32")
    assert rewritten(model) is not first
