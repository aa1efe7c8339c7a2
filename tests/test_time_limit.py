"""`max_seconds=`: what was drawn when time is over is the result, and the run can go on."""

import logging
import time

import numpy as np
import pytest

import ppl as pm

FEW = {"chains": 2, "tune": 50, "random_seed": 3, "progressbar": False, "compute_convergence_checks": False}
MANY = 10_000_000  # draws that no machine makes in the time of these tests


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        pm.StudentT("y", 4, pm.Normal("mu", 0, 10), 1.0, observed=[0.3, -0.2, 4.0])
    return model


@pytest.fixture(scope="module")
def reference(model):
    """Compiles, and is drawn without a limit."""
    return pm.sample(60, model=model, rewrite=False, **FEW)


def test_a_run_is_stopped_saved_and_goes_on(model, reference, tmp_path, caplog):
    place = tmp_path / "run"
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, logger="ppl"):
        stopped = pm.sample(MANY, model=model, rewrite=False, max_seconds=2, checkpoint=place, **FEW)
    assert 2 <= time.monotonic() - began < 60
    posterior = stopped.posterior
    assert posterior.attrs["stopped_by"] == "max_seconds=2" and posterior.attrs["interrupted"] == 1
    assert 0 < posterior.sizes["draw"] < MANY
    (line,) = [r.message for r in caplog.records if r.message.startswith("max_seconds")]
    assert f"stopped after {posterior.sizes['draw']:_} draws of each chain" in line and f"resume='{place}'" in line
    np.testing.assert_array_equal(posterior["mu"][:, :60], reference.posterior["mu"])
    fewer = posterior.sizes["draw"] - 10
    again = pm.sample(fewer, model=model, rewrite=False, checkpoint=place, resume="auto", **FEW)
    assert "stopped_by" not in again.posterior.attrs and not again.posterior.attrs["interrupted"]
    np.testing.assert_array_equal(again.posterior["mu"], posterior["mu"][:, :fewer])


def test_a_run_that_is_done_in_time_is_as_without_a_limit(model, reference):
    found = pm.sample(60, model=model, rewrite=False, max_seconds=600, **FEW)
    np.testing.assert_array_equal(found.posterior["mu"], reference.posterior["mu"])
    assert "stopped_by" not in found.posterior.attrs


def test_a_run_in_the_background_is_stopped_too(model, reference):
    run = pm.sample(MANY, model=model, rewrite=False, max_seconds=1, blocking=False, quiet=True, **FEW)
    found = run.wait(120)
    assert found.posterior.attrs["stopped_by"] == "max_seconds=1" and found.posterior.sizes["draw"] < MANY


@pytest.mark.parametrize("wrong", [0, -1.0, True, "1h", float("nan")])
def test_what_is_no_time_is_refused(model, wrong):
    with pytest.raises(ValueError, match="max_seconds is a number of seconds above 0"):
        pm.sample(model=model, max_seconds=wrong)


def test_samplers_of_other_packages_cannot_be_stopped(model):
    with pytest.raises(ValueError, match="max_seconds= works with the sampler of this package"):
        pm.sample(model=model, max_seconds=1, nuts_sampler="nutpie")
