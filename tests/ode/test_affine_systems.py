"""Systems dy/dt = Ay + b, solved by the matrix exponential."""

import numpy as np
import pytest
from scipy.linalg import expm

import ppl as pm
import ppl.tensor as tt
from ppl.ode import DifferentialEquation, solve

TIMES = np.array([0.0, 0.4, 0.4, 1.7, 5.0])
QUIET = {"random_seed": 1, "quiet": True, "compute_convergence_checks": False}


def oscillator(y, t, p):
    return [y[1], -p[0] * y[0] - p[1] * y[1] + 9.8]


def test_the_solution_is_the_matrix_exponential():
    found = DifferentialEquation(oscillator, TIMES, n_states=2, n_theta=2, method="exact")([0.3, -1.0], [2.0, 0.5])
    generator = np.array([[0, 1, 0], [-2.0, -0.5, 9.8], [0, 0, 0]])
    expected = [(expm(generator * t) @ [0.3, -1.0, 1.0])[:2] for t in TIMES]
    np.testing.assert_allclose(found.eval(), expected, rtol=1e-12, atol=1e-13)


def test_values_and_derivatives_are_those_of_the_solvers():
    def by(method):
        model = DifferentialEquation(oscillator, TIMES, n_states=2, n_theta=2, method=method, rtol=1e-11, atol=1e-11)
        return [x.eval() for x in model([0.3, -1.0], [2.0, 0.5], return_sens=True)]

    for exact, stepped in zip(by("exact"), by("tsit5"), strict=True):
        np.testing.assert_allclose(exact, stepped, rtol=1e-7, atol=1e-8)


def test_states_by_name_and_stiff_systems():
    rate = tt.dscalar("rate")
    slopes = lambda y, t, k: {"drug": -k * y["drug"], "gone": k * y["drug"]}
    found = solve(slopes, {"drug": 2.0, "gone": 0.0}, [0.01, 3.0], args=(rate,), method="exact")
    drug, gone = (x.eval({rate: 1000.0}) for x in (found["drug"], found["gone"]))
    np.testing.assert_allclose(drug, 2 * np.exp(-1000 * np.array([0.01, 3.0])), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(drug + gone, 2.0, rtol=1e-12)


def test_a_normal_start_under_normal_rows_is_integrated_out():
    times = np.linspace(0.2, 3, 12)
    seen = np.random.default_rng(0).normal(np.exp(-0.7 * times), 0.1)
    with pm.Model() as model:
        start = pm.Normal("start", 0, 2)
        y = solve(lambda y, t, k: -k * y, start, times, args=(pm.HalfNormal("rate", 1),), method="exact")
        pm.Normal("seen", y, 0.1, observed=seen)
    assert set(pm.explain(model).free) == {"rate"}
    posterior = pm.sample(500, tune=500, chains=2, model=model, **QUIET).posterior
    rate = np.linspace(0.3, 1.4, 801)
    column = np.exp(-rate[:, None] * times)
    precision = 0.25 + (column**2).sum(axis=1) / 0.01
    mean = (column @ seen) / 0.01 / precision
    weight = np.exp(0.5 * mean**2 * precision - 0.5 * np.log(precision) - 0.5 * rate**2 - 60)
    weight /= weight.sum()
    assert float(posterior["rate"].mean()) == pytest.approx(weight @ rate, abs=0.02)
    assert float(posterior["start"].mean()) == pytest.approx(weight @ mean, abs=0.02)


@pytest.mark.parametrize(
    ("slopes", "words"),
    [
        (lambda y, t, k: -k * y**2, "not of that form"),
        (lambda y, t, k: -k * y + t, "depend on t"),
    ],
)
def test_what_is_not_affine_is_refused(slopes, words):
    with pytest.raises(ValueError, match=words):
        solve(slopes, 1.0, [1.0], args=(2.0,), method="exact")
    with pytest.raises(ValueError, match="at most 32 states"):
        solve(lambda y, t: -y, np.ones(40), [1.0], method="exact")
