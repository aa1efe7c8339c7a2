"""`pm.ode` in models: PyMC's meaning and errors, gradients, draws, failures that are named, pickles."""

import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import ppl as pm
import ppl.tensor as pt
from ppl.ode import DifferentialEquation, solve

G = 9.8
FEW = {"draws": 200, "tune": 200, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True,
       "compute_convergence_checks": False}  # fmt: skip


def falling(t, gamma):
    """The speed of a fall with friction, y' = 2 g - γ y from 0."""
    return 2 * G / gamma * (1 - np.exp(-gamma * t))


def free_fall(y, t, p):
    return 2.0 * p[1] - p[0] * y[0]


def lotka_volterra(y, t, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]


# What PyMC documents


def test_shapes_numbers_beside_variables_and_a_first_row_at_t0():
    model = DifferentialEquation(func=free_fall, times=np.arange(0, 5.0), n_states=1, n_theta=2)
    assert (model.n_times, model.n_states, model.n_theta, model.n_p, model.t0) == (5, 1, 2, 3, 0)
    assert model.times == (0.0, 1.0, 2.0, 3.0, 4.0) and model.func is free_fall
    gamma = pt.dscalar("gamma")
    states, sensitivities = model(y0=[0], theta=[gamma, G], return_sens=True)
    assert states.type.shape == (5, 1) and sensitivities.type.shape == (5, 1, 3)
    f = pm.function([gamma], [states, sensitivities, pm.grad((states**2).sum(), gamma)])
    rows, sens, slope = f(0.4)
    t, e = np.arange(5.0), 1e-6
    np.testing.assert_allclose(rows[:, 0], falling(t, 0.4), atol=2e-8)
    np.testing.assert_allclose(sens[:, 0, 0], np.exp(-0.4 * t), atol=2e-8)
    np.testing.assert_allclose(sens[:, 0, 1], (falling(t, 0.4 + e) - falling(t, 0.4 - e)) / (2 * e), atol=1e-6)
    np.testing.assert_allclose(sens[:, 0, 2], falling(t, 0.4) / G, atol=2e-8)
    np.testing.assert_allclose(slope, 2 * np.sum(rows * sens[..., 1]))


def test_years_may_be_times():
    times = np.arange(1901.0, 1911.0)
    theta = np.array([0.55, 0.028, 0.84, 0.026])
    late = DifferentialEquation(lotka_volterra, times, n_states=2, n_theta=4, t0=1900)(y0=[33.0, 6.0], theta=theta)
    early = DifferentialEquation(lotka_volterra, times - 1900, n_states=2, n_theta=4)(y0=[33.0, 6.0], theta=theta)
    np.testing.assert_allclose(late.eval(), early.eval(), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PyTensor could not link")
def test_values_and_sensitivities_are_those_of_pymc(pymc5):
    times, y0, theta = np.arange(0.5, 6, 0.5), [33.0, 6.0], [0.55, 0.028, 0.84, 0.026]
    kinds = [DifferentialEquation, pymc5.ode.DifferentialEquation]
    mine, theirs = ([x.eval() for x in kind(lotka_volterra, times, n_states=2, n_theta=4)(y0, theta, return_sens=True)]
                    for kind in kinds)  # fmt: skip
    for found, wanted in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PyTensor could not link")
def test_the_augmented_system_of_pymc(pymc5):
    utils = pytest.importorskip("pymc.ode.utils")
    given = (np.array([1.0, 2.0]), 0.3, np.array([1.0, 2.0, 0.5, 0.7, 0.1, 0.2]), np.arange(12.0))
    for found, wanted in zip(pm.ode.augment_system(lotka_volterra, 2, 4)(*given),
                             utils.augment_system(lotka_volterra, 2, 4)(*given), strict=True):  # fmt: skip
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_array_equal(pm.ode.make_sens_ic(2, 4, "float64"), utils.make_sens_ic(2, 4, "float64"))


WRONG = [
    ({"func": 1}, ValueError, "Argument func must be callable"),
    ({"n_states": 0}, ValueError, "n_states must be at least 1"),
    ({"n_theta": 0}, ValueError, "n_theta must be positive"),
    ({"func": lambda y, t, p: np.array([1.0])}, TypeError, "Unexpected type, .*ndarray"),
    ({"func": lambda y, t, p: pt.ones((1, 1))}, ValueError, "returned a tensor with 2 axes"),
    ({"func": lambda y, t, p: [y[0], y[0]]}, pm.ShapeError, "func returns 2 slopes, and there are n_states=1 states"),
    ({"times": [1.0, 3.0, 2.0]}, ValueError, r"times\[2\] = 2 comes after times\[1\] = 3. Sort them"),
    ({"times": [1.0, np.nan]}, ValueError, "times must be finite"),
    ({"times": [[1.0]]}, ValueError, "times has 2 axes, 1 is needed"),
    ({"times": np.zeros(0)}, ValueError, "there are no times to solve for"),
    ({"t0": 1.5}, ValueError, r"t0 = 1.5 is later than times\[0\] = 1"),
    ({"t0": np.inf}, ValueError, "t0 must be finite"),
    ({"method": "euler"}, ValueError, "method is one of tsit5, dopri5, rodas5p, exact, got 'euler'"),
    ({"rtol": 0.0}, ValueError, "rtol lies between 0 and 1"),
    ({"rtol": 1e-17}, ValueError, "rtol is below what numbers of 64 bits can tell apart"),
    ({"atol": "small"}, TypeError, "atol is a number"),
    ({"max_steps": 0}, ValueError, "max_steps is a whole number from 1 on"),
    ({"sensitivities": "both"}, ValueError, "sensitivities is one of auto, forward, adjoint"),
    ({"func": lambda y, t, p: y * pm.Normal.dist()}, ValueError, "is drawn inside the step"),
]


@pytest.mark.parametrize(("change", "kind", "text"), WRONG)
def test_what_is_wrong_with_an_equation_is_said(change, kind, text):
    sound = {"func": lambda y, t, p: -p[0] * y, "times": [1.0, 2.0], "n_states": 1, "n_theta": 1}
    with pytest.raises(kind, match=text):
        DifferentialEquation(**(sound | change))


def test_what_is_wrong_with_a_call_is_said():
    model = DifferentialEquation(free_fall, [1.0, 2.0], n_states=1, n_theta=2)
    with pytest.raises(pm.ShapeError, match=r"Length of y0 is wrong. It has 2 entries, and 1 are expected"):
        model(y0=[1, 2], theta=[1.0, 2.0])
    with pytest.raises(pm.ShapeError, match="Length of theta is wrong"):
        model(y0=[1], theta=(1.0,))
    with pytest.raises(pm.ShapeError, match="theta is a list of 2 scalars or a vector of that length"):
        model(y0=[1], theta=np.ones(3))
    with pytest.raises(TypeError, match="DifferentialEquation has no argument solver"):
        model(y0=[1], theta=[1.0, 2.0], solver=1)


# States of any shape


def test_states_by_name_arrays_and_functions_of_jax():
    times, w = np.array([0.5, 2.0]), pt.dscalar("w")
    start = np.array([[1.0, 2.0, 3.0]])
    by_name = solve(lambda y, t, w: {"x": y["v"], "v": -(w**2) * y["x"]}, {"x": start, "v": 0 * start}, times, args=w)
    as_one = solve(lambda y, t, w: jnp.stack([y[1], -(w**2) * y[0]]), np.stack([start, 0 * start]), times, args=(w,))
    assert by_name["x"].type.shape == (2, 1, 3) and as_one.type.shape == (2, 2, 1, 3)
    wanted = np.cos(1.5 * times)[:, None, None] * start
    slope = pm.grad(as_one[:, 0].sum(), w)
    x, both, slope = pm.function([w], [by_name["x"], as_one, slope])(1.5)
    np.testing.assert_allclose(x, wanted, atol=1e-7)
    np.testing.assert_allclose(both[:, 0], wanted, atol=1e-7)
    np.testing.assert_allclose(slope, np.sum(-times * np.sin(1.5 * times)) * start.sum(), rtol=1e-7)
    number = solve(lambda y, t: -y, 1.0, [1.0], method="rosenbrock", name="number")
    assert number.type.shape == (1,) and number.name == "number"
    np.testing.assert_allclose(number.eval(), np.exp(-1.0), rtol=1e-7)


def test_times_that_are_known_later():
    times = pt.dvector("times")
    f = pm.function([times], solve(lambda y, t: -y, [1.0], times))
    np.testing.assert_allclose(f(np.array([1.0, 2.0, 3.0]))[:, 0], np.exp([-1.0, -2.0, -3.0]), rtol=1e-6)
    assert f(np.array([1.0])).shape == (1, 1)


@pytest.mark.parametrize(("change", "kind", "text"), [
    ({"func": 3}, TypeError, "func is a function of y, t and args"),
    ({"y0": {}}, ValueError, "y0 is empty"),
    ({"y0": pt.dvector("z")}, pm.ShapeError, "the shape of y0 must be known"),
    ({"y0": [True]}, TypeError, "y0 is real, got bool"),
    ({"func": lambda y, t: {"x": y}}, TypeError, "func returns slopes in the form of y0, an array; got"),
    ({"func": lambda y, t: pt.ones(2)}, pm.ShapeError, r"slopes of shape \(2,\) for y0 of shape \(1,\)"),
    ({"y0": {"x": 1.0}, "func": lambda y, t: {"z": y["x"]}}, TypeError, "a dictionary with the names x; got"),
    ({"func": lambda y, t: y + "a"}, TypeError, "a tensor holds numbers and booleans"),
])  # fmt: skip
def test_what_is_wrong_with_solve_is_said(change, kind, text):
    with pytest.raises(kind, match=text):
        solve(**({"func": lambda y, t: -y, "y0": [1.0], "times": [1.0, 2.0]} | change))


# In models


@pytest.fixture(scope="module")
def fall():
    times = np.arange(1.0, 10.0)
    rows = falling(times, 0.4) + np.random.default_rng(0).normal(0, 0.5, 9)
    equation = DifferentialEquation(free_fall, times, n_states=1, n_theta=2)
    with pm.Model() as model:
        gamma = pm.LogNormal("gamma", -1.0, 1.0)
        speed = pm.Deterministic("speed", equation(y0=[0], theta=[gamma, G])[:, 0])
        pm.Normal("y", speed, 0.5, observed=rows)
    with pm.Model() as exact:
        gamma = pm.LogNormal("gamma", -1.0, 1.0)
        pm.Normal("y", 2 * G / gamma * (1 - pm.math.exp(-gamma * times)), 0.5, observed=rows)
    return model, exact


def test_densities_and_derivatives_are_those_of_the_closed_form(fall):
    model, exact = fall
    point = {"gamma_log__": np.array(-0.7)}
    for name in ("compile_logp", "compile_dlogp", "compile_d2logp"):
        np.testing.assert_allclose(getattr(model, name)()(point), getattr(exact, name)()(point), rtol=1e-6)
    assert model.point_logps().keys() == exact.point_logps().keys()


def test_draws_predictions_and_the_optimum(fall):
    model, exact = fall
    with model:
        results = pm.sample(**FEW)
        found = pm.find_MAP(progressbar=False)
        predicted = pm.sample_posterior_predictive(results, random_seed=1, progressbar=False)
    with exact:
        wanted = pm.find_MAP(progressbar=False)
        theirs = pm.sample(**FEW)
    np.testing.assert_allclose(found["gamma"], wanted["gamma"], rtol=1e-5)
    gamma, speed = (results.posterior[name].values for name in ("gamma", "speed"))
    np.testing.assert_allclose(speed, falling(np.arange(1.0, 10.0), gamma[..., None]), rtol=1e-6)
    assert predicted.posterior_predictive["y"].shape == (2, 200, 9)
    assert abs(gamma.mean() - theirs.posterior["gamma"].values.mean()) < 0.3 * gamma.std()


def test_a_solver_that_fails_is_a_rejected_proposal_that_is_counted_and_named(caplog):
    """y' = a y² is infinite at t = 1/a: where a is above 1 there is no solution to see."""
    with pm.Model(), caplog.at_level("WARNING", "ppl"):
        a = pm.Normal("a", 0.5, 1.0)
        y = solve(lambda y, t, a: a * y**2, 1.0, [0.5, 1.0], args=(a,), max_steps=100)
        pm.Normal("y", y, 50.0, observed=[1.3, 2.0])
        results = pm.sample(**(FEW | {"quiet": False}))
    assert results.posterior["a"].max() < 1.0
    attributes = results.sample_stats.attrs
    assert attributes["not_finite"] > 0 and 'the term "y" is nan' in attributes["not_finite_at"]
    assert "was to be solved up to t = 1, and tsit5 used up its 100 steps at t = 0." in caplog.text
    assert 'choose method="rodas5p"' in caplog.text and "max_steps=" in caplog.text


def test_equations_are_pickled_and_saved_as_other_operations(tmp_path):
    x = pt.dscalar("x")
    y = DifferentialEquation(free_fall, [1.0, 2.0], n_states=1, n_theta=2)(y0=[0], theta=[x, G])
    again_x, again = pickle.loads(pickle.dumps((x, y)))
    np.testing.assert_allclose(again.eval({again_x: 0.4})[:, 0], falling(np.array([1.0, 2.0]), 0.4), atol=1e-7)
    pm.save(tmp_path / "fall", {"y": y})
    assert pm.load(tmp_path / "fall")["y"].type == y.type


HARES = """30.0 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22.0 25.4 27.1 40.3 57.0 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"""
LYNXES = """4.0 6.1 9.8 35.2 59.4 41.7 19.0 13.0 8.3 9.1 7.4 8.0 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"""
# Means and deviations that B. Carpenter, Predator-Prey Population Dynamics (Stan's case studies, 2018), prints.
PUBLISHED = {
    "theta": ([0.55, 0.028, 0.80, 0.024], [0.06, 0.004, 0.09, 0.004]),
    "sigma": ([0.25, 0.25], [0.04, 0.04]),
    "z_init": ([33.96, 5.95], [2.86, 0.53]),
}


@pytest.mark.slow
def test_hares_and_lynxes_of_the_hudson_bay_company():
    rows = np.array([HARES.split(), LYNXES.split()], float).T
    equation = DifferentialEquation(lotka_volterra, np.arange(1.0, 21.0), n_states=2, n_theta=4, rtol=1e-6, atol=1e-6)
    with pm.Model():
        theta = pm.TruncatedNormal("theta", np.array([1, 0.05, 1, 0.05]), np.array([0.5, 0.05, 0.5, 0.05]), lower=0)
        sigma = pm.LogNormal("sigma", -1, 1, shape=2)
        z_init = pm.LogNormal("z_init", np.log(10), 1, shape=2)
        pm.LogNormal("y_init", pm.math.log(z_init), sigma, observed=rows[0])
        pm.LogNormal("y", pm.math.log(equation(y0=z_init, theta=theta)), sigma, observed=rows[1:])
        near = {"theta": np.array([0.5, 0.02, 0.8, 0.02]), "z_init": np.array([30.0, 6.0])}
        posterior = pm.sample(**(FEW | {"draws": 1000, "tune": 700}), initvals=near).posterior
    for name, (means, deviations) in PUBLISHED.items():
        found = posterior[name].values.reshape(-1, len(means))
        digits = 0.006 if max(means) > 1 else 0.0006  # of what is printed
        assert np.all(np.abs(found.mean(0) - means) < 0.15 * np.array(deviations) + digits), name
