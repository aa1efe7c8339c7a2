"""ppl as a sampler of PyMC, and PyMC's models given to ppl's own functions."""

from __future__ import annotations

import numpy as np
import pytest

import ppl

pytestmark = [pytest.mark.usefixtures("pymc5"), pytest.mark.filterwarnings("ignore")]
FEW = {"draws": 60, "tune": 60, "chains": 2, "progressbar": False, "random_seed": 4}


@pytest.fixture
def schools(pymc5):
    pm = pymc5
    effects, errors = np.array([28, 8, -3, 7, -1, 1, 18, 12.0]), np.array([15, 10, 16, 11, 9, 11, 10, 18.0])
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("double", 2 * theta, dims="school")
        pm.Normal("y", theta, errors, observed=effects, dims="school")
    return model


def test_pymc_samples_by_ppl_until_it_is_taken_back(pymc5, schools):
    mcmc = __import__("pymc.sampling.mcmc", fromlist=["mcmc"])
    before = mcmc._sample_external_nuts
    with ppl.register(), schools:
        result = pymc5.sample(nuts_sampler="ppl", **FEW)
    assert mcmc._sample_external_nuts is before
    assert result.posterior["theta"].dims == ("chain", "draw", "school")
    assert result.posterior.coords["school"].values.tolist() == list("ABCDEFGH")
    assert result.posterior.attrs["inference_library"] == "ppl"
    np.testing.assert_allclose(result.posterior["double"], 2 * result.posterior["theta"])
    with pytest.raises(ValueError, match="Sampler ppl not found"), schools:
        pymc5.sample(nuts_sampler="ppl", **FEW)


def test_registering_twice_is_registering_once(pymc5):
    mcmc = __import__("pymc.sampling.mcmc", fromlist=["mcmc"])
    before = mcmc._sample_external_nuts
    ppl.register()
    ppl.register()
    ppl.unregister()
    assert mcmc._sample_external_nuts is before
    ppl.unregister()
    assert mcmc._sample_external_nuts is before


def test_options_of_ppl_go_through(pymc5, schools):
    with ppl.register(), schools:
        result = pymc5.sample(
            nuts_sampler="ppl", target_accept=0.9, nuts_sampler_kwargs={"rewrite": False}, var_names=["mu"], **FEW
        )
    assert set(result.posterior.data_vars) == {"mu"}
    assert "NUTS" in result.posterior.attrs["drawn_by"]


def test_the_functions_of_ppl_take_a_model_of_pymc(schools):
    result = ppl.sample(schools, **FEW)
    assert result.posterior.sizes["draw"] == 60
    assert ppl.sample(model=schools, **FEW).posterior["mu"].equals(result.posterior["mu"])
    assert ppl.explain(schools).ndim == 1
    assert ppl.sample_prior_predictive(schools, random_seed=1).prior["theta"].shape == (1, 500, 8)
    found = ppl.sample_posterior_predictive(result, schools, progressbar=False, random_seed=1)
    assert found.posterior_predictive["y"].dims == ("chain", "draw", "school")
    with schools:
        assert ppl.sample(**FEW).posterior["mu"].equals(result.posterior["mu"])


def test_discrete_variables_are_summed_out(pymc5):
    pm = pymc5
    with pm.Model() as model:
        k = pm.Bernoulli("k", 0.4, shape=3)
        m = pm.Normal("m", shape=2)
        pm.Normal("y", m[k], 1.0, observed=[0.3, 2.0, -1.0])
    result = ppl.sample(model, **FEW)
    assert set(result.posterior.data_vars) == {"k", "m"}


def test_nothing_is_made_in_a_block_of_pymc(schools):
    with schools, pytest.raises(TypeError, match="No model on context stack"):
        ppl.Data("x", [1.0])
