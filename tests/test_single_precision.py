"""`floatX = "float32"`: values, gradients and results are of that dtype, whatever constants are in them.

Log-densities are not among them: a sum over many rows has no digits left in single precision."""

import numpy as np
import pytest

import ppl as pm

FEW = {"draws": 5, "tune": 5, "chains": 1, "random_seed": 1, "progressbar": False, "quiet": True,
       "compute_convergence_checks": False}  # fmt: skip
SINGLE = np.dtype("float32")


@pytest.fixture
def model():
    with pm.config.change_flags(floatX="float32"):
        with pm.Model() as model:
            u = pm.Uniform("u", 0, 1)
            n = pm.TruncatedNormal("n", 0, 1, lower=0)
            pm.Interpolated("i", np.linspace(0, 1, 5), np.ones(5))
            pm.Beta("b", 2, 2)
            pm.Dirichlet("d", np.ones(3))
            pm.LKJCholeskyCov("c", n=2, eta=2, sd_dist=pm.Exponential.dist(1))
            x = pm.Data("x", np.array([1.0, 2.0]))
            pm.Deterministic("twice", n * x)
            pm.Normal("y", n * x, u + 0.1, observed=np.array([1.0, 2.0]))
            pm.Poisson("k", pm.math.exp(u), observed=[1, 2])
            pm.Potential("p", -n * np.array(2.0))
        yield model


def test_values_and_gradients_are_in_single_precision(model):
    point = model.initial_point()
    assert {x.dtype for x in point.values()} == {SINGLE}
    assert model.compile_dlogp()(point).dtype == model.compile_d2logp()(point).dtype == SINGLE


@pytest.mark.parametrize("rewrite", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_results_are_in_single_precision(model, rewrite):
    result = pm.sample(**FEW, model=model, rewrite=rewrite)
    for group in ("posterior", "constant_data"):
        assert {name: v.dtype for name, v in result[group].data_vars.items() if v.dtype != SINGLE} == {}
    assert result.observed_data.y.dtype == SINGLE
    found = pm.find_MAP(model=model, progressbar=False)
    assert {np.asarray(v).dtype for v in found.values()} == {SINGLE}


def test_data_of_single_precision_are_of_the_dtype_of_the_model():
    with pm.Model() as model:
        pm.Normal("y", pm.Data("x", np.ones(2, "float32")), 1, observed=np.zeros(2, "float32"))
    assert model["x"].dtype == "float64" and model.compile_logp()({}).dtype == "float64"
