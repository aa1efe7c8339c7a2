"""What a model keeps from one run to the next: used while nothing has changed, made anew when something has."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import ppl as pm
from ppl.model.inference.strategies import quadrature as by_quadrature
from ppl.model.posterior.rewriting import rewritten
from ppl.samplers.independent.quadrature import quadrature

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
