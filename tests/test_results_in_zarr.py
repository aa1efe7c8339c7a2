"""Runs that are saved in Zarr, in a folder or at a URL: the draws while they come, and the result."""

import numpy as np
import pytest
import xarray

import ppl as pm
from ppl.samplers import StorageError
from ppl.samplers.runs.places import place_of

pytest.importorskip("zarr", "3", reason="zarr is not installed")

FEW = {"chains": 2, "tune": 50, "random_seed": 3, "quiet": True}


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"group": ["a", "b"]}) as model:
        mu = pm.Normal("mu", 0, 10, dims="group")
        pm.StudentT("y", 4, mu, 1.0, observed=[0.3, -0.2])
    return model


@pytest.mark.parametrize("kind", ["folder", "memory", "file"])
def test_a_result_is_kept_beside_its_draws_and_replaced_when_the_run_goes_on(model, tmp_path, kind):
    if kind != "folder":
        pytest.importorskip("obstore", reason="obstore is not installed")
    place = tmp_path / "run" if kind == "folder" else f"{kind}://{tmp_path}/run"
    options = {"checkpoint": place, "resume": "auto", "storage": "zarr" if kind == "folder" else None}
    for draws in (30, 60):
        result = pm.sample(draws, model=model, rewrite=False, **options, **FEW)
        store = place_of(place).store()
        kept = xarray.open_zarr(store, group="result.zarr/posterior", consolidated=False)
        xarray.testing.assert_equal(kept.load(), result.posterior)
        assert kept["mu"].dims == ("chain", "draw", "group") and kept["group"].values.tolist() == ["a", "b"]
        assert kept.attrs["certificate"] == result.posterior.attrs["certificate"]
    for name in ("sample_stats", "observed_data"):
        xarray.open_zarr(store, group=f"result.zarr/{name}", consolidated=False)
    chain = xarray.open_zarr(store, group="draws.zarr/chain-0", consolidated=False)
    assert chain["positions"].dims == ("iteration", "position")
    np.testing.assert_array_equal(chain["positions"][50:110], result.posterior["mu"][0])
    alone = pm.sample(60, model=model, rewrite=False, **FEW)
    np.testing.assert_array_equal(result.posterior["mu"], alone.posterior["mu"])


def test_another_run_at_a_url_is_refused(model, tmp_path):
    pytest.importorskip("obstore", reason="obstore is not installed")
    place = f"memory://{tmp_path}/other"
    pm.sample(10, model=model, rewrite=False, checkpoint=place, **FEW)
    with pytest.raises(StorageError, match="already holds a run"):
        pm.sample(10, model=model, rewrite=False, checkpoint=place, **FEW)
    with pytest.raises(StorageError, match="was made with seed=3, now it is 4"):
        pm.sample(10, model=model, rewrite=False, resume=place, **{**FEW, "random_seed": 4})
