"""Compiled functions of points: what they take, what they refuse, and how little stands between a call and XLA."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ppl as pm
from ppl.model.posterior.point_functions import Joined, PointFunction


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=(2, 3))
        count = pm.Poisson("count", 3, shape=2)
        pm.Normal("y", theta * count.sum(), pm.Data("scale", np.ones((2, 3))), observed=np.arange(6.0).reshape(2, 3))
    return model


@pytest.fixture(scope="module")
def logp(model):
    return model.compile_logp()


@pytest.fixture
def point():
    return {"mu": np.array(0.5), "tau_log__": np.array(0.1), "theta": np.arange(6.0).reshape(2, 3),
            "count": np.array([1, 2])}  # fmt: skip


def test_values_go_to_the_program_as_one_vector_of_each_dtype(logp, point):
    assert [x.type.shape for x in logp._run.inputs] == [(8,), (2,)]
    assert float(logp(point)) == pytest.approx(float(logp.f(*[point[x.name] for x in logp.f.inputs])))


@pytest.mark.parametrize(
    "change",
    [
        {"mu": 0.5}, {"mu": np.float64(0.5)}, {"mu": np.float32(0.5)}, {"count": [1, 2]},
        {"count": np.array([1.0, 2.0])}, {"theta": np.arange(6).reshape(2, 3).tolist()},
        {"theta": np.arange(6, dtype=int).reshape(2, 3)}, {"more": 1},
    ],
)  # fmt: skip
def test_values_are_converted_where_no_number_is_lost(logp, point, change):
    assert float(logp({**point, **change})) == float(logp(point))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"theta": np.zeros((3, 2))}, ValueError, r"theta.* of shape \(2, 3\), got an array of shape \(3, 2\)"),
        ({"theta": np.zeros(6)}, ValueError, r"theta.* of shape \(2, 3\), got an array of shape \(6,\)"),
        ({"count": np.array([1.0, 2.5])}, TypeError, "count.*int64.*dtype float64"),
        ({"mu": "zero"}, TypeError, "mu.*no array of numbers"),
        ({"mu": 1j}, TypeError, "mu.*complex128"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(logp, point, change, error, text):
    with pytest.raises(error, match=text):
        logp({**point, **change})


def test_a_point_that_lacks_values_is_refused_by_name(logp, point):
    with pytest.raises(KeyError, match="the point has no value for mu, count; it has tau_log__, theta"):
        logp({name: point[name] for name in ("tau_log__", "theta")})


def test_several_outputs_keep_their_form(model, point):
    f = model.compile_fn({"both": [model.logp(), model.dlogp()], "mu": model.value_vars[0]})
    found = f(point)
    assert float(found["both"][0]) == float(model.compile_logp()(point)) and float(found["mu"]) == 0.5
    np.testing.assert_allclose(found["both"][1], model.compile_dlogp()(point))


def test_a_function_is_the_same_from_a_pickle(point):
    with pm.Model() as model:
        x, y = pm.Normal("x"), pm.Normal("y", 0, 1, shape=2)
        pm.Potential("p", (x * y).sum())
    f = model.compile_logp()
    at = {"x": 0.3, "y": np.ones(2)}
    assert float(pickle.loads(pickle.dumps(f))(at)) == float(f(at))


def test_a_mode_that_tells_of_values_has_them_one_by_one(model, point):
    watched = model.compile_logp(mode="NanGuardMode")
    assert len(watched._run.inputs) == 4
    with pytest.raises(FloatingPointError, match="not finite"):
        watched({**point, "mu": np.nan})


def test_lengths_that_may_change_stay_alone():
    with pm.Model() as model:
        x = pm.Data("x", [1.0, 2.0])
        pm.Normal("a"), pm.Normal("b")
        pm.Normal("z", x, 1)
    f = model.compile_logp()
    assert isinstance(f, PointFunction)
    assert sorted(x.type.shape for x in f._run.inputs if None not in x.type.shape) == [(2,)]
    before = float(f({"a": 0.0, "b": 0.0, "z": np.zeros(2)}))
    with model:
        pm.set_data({"x": np.zeros(3)})
    assert float(f({"a": 0.0, "b": 0.0, "z": np.zeros(3)})) == pytest.approx(before + 2.5 - 0.5 * np.log(2 * np.pi))
    with pytest.raises(ValueError, match="shape"):
        f({"a": 0.0, "b": 0.0, "z": np.zeros((3, 1))})


def test_parts_and_vectors_belong_together():
    x, y, n = pm.tensor.dscalar("x"), pm.tensor.TensorType("float64", (2, 2))("y"), pm.tensor.lscalar("n")
    joined = Joined([x, n, y])
    vector, number = joined([1.0, 7, np.arange(4.0).reshape(2, 2)])
    np.testing.assert_array_equal(vector, [1.0, 0.0, 1.0, 2.0, 3.0])
    assert number == 7 and joined.inputs[1] is n
    np.testing.assert_array_equal(joined.parts[y].eval({joined.inputs[0]: vector}), [[0.0, 1.0], [2.0, 3.0]])


# --- log-density and gradient ---------------------------------------------------------------------------------------
def test_the_raw_form_is_the_same_function(model, point):
    f = model.logp_dlogp_function(initial_point={**model.initial_point(), "count": point["count"]})
    names = [v.name for v in model.continuous_value_vars]
    flat = np.concatenate([point[name] for name in names], axis=None)
    value, gradient = f.raw(flat)
    assert type(value) is float and value == pytest.approx(float(model.compile_logp()(point)))
    np.testing.assert_allclose(gradient, model.compile_dlogp()(point))
    gradient[:] = 0.0  # an array of its own
    for given in (point, {name: point[name] for name in names}, flat, pm.DictToArrayBijection.map(
            {name: point[name] for name in names})):  # fmt: skip
        again = f(given)
        assert float(again[0]) == value
        np.testing.assert_array_equal(again[1], f.raw(flat)[1])


def test_values_without_a_derivative_may_change(model, point):
    f = model.logp_dlogp_function()
    names = [v.name for v in model.continuous_value_vars]
    flat = np.concatenate([point[name] for name in names], axis=None)
    for count in ([1, 2], [0, 5]):
        f.set_extra_values({"count": np.array(count)})
        assert f.raw(flat)[0] == pytest.approx(float(model.compile_logp()({**point, "count": np.array(count)})))
    with pytest.raises(KeyError, match="no further variables are called zeta"):
        f.set_extra_values({"zeta": 1})


@pytest.mark.parametrize("wrong", [np.zeros(7), np.zeros((8, 1)), np.zeros(8, complex)])
def test_a_vector_of_another_length_is_refused(model, wrong):
    with pytest.raises(ValueError, match=r"a vector of 8 numbers, mu, tau_log__, theta\[2, 3\], got an array of shape"):
        model.logp_dlogp_function().raw(wrong)
