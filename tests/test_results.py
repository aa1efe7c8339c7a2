"""The results contract: groups, variables, dtypes, dims, coords and attributes, in memory and on disk."""

import datetime
import gc
import importlib.util

import numpy as np
import pytest

import ppl.model as pm
from ppl.distributions import HalfNormal, Normal
from ppl.model.output import results
from ppl.model.output.results import group_names, group_of, has_inference_data
from ppl.model.output.sample_stats import DTYPES, complete

DAYS = [datetime.date(2026, 1, d).isoformat() for d in (1, 2, 3)]


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"day": DAYS}) as model:
        weights = pm.Data("weights", [1.0, 2.0, 3.0], dims="day")
        pm.Data("scalar", 2.5)
        mu = Normal("mu", 0, 5)
        effect = Normal("effect", 0, 1, dims="day")
        loose = Normal("loose", 0, 1, shape=2)
        sigma = HalfNormal("sigma", 1)
        pm.Deterministic("total", mu + effect * weights, dims="day")
        Normal("y", mu + effect + loose.sum(), sigma, observed=[0.5, 1.0, 1.5], dims="day")
    return model


@pytest.fixture(scope="module")
def result(model):
    options = {"log_likelihood": True, "log_prior": ["mu"], "include_transformed": True}
    return pm.sample(
        100, tune=100, chains=2, random_seed=7, model=model, progressbar=False, quiet=True,
        discard_tuned_samples=False, idata_kwargs=options,
    )  # fmt: skip


def test_groups(result):
    expected = {"posterior", "sample_stats", "observed_data", "constant_data", "log_likelihood", "log_prior",
                "warmup_posterior", "warmup_sample_stats"}  # fmt: skip
    assert set(group_names(result)) == expected


def test_variables_dims_and_coords(result):
    posterior = group_of(result, "posterior")
    assert list(posterior.data_vars) == ["mu", "effect", "loose", "sigma", "total", "sigma_log__"]
    assert {str(v.dtype) for v in posterior.data_vars.values()} == {"float64"}
    assert posterior.effect.dims == posterior.total.dims == ("chain", "draw", "day")
    assert posterior.loose.dims == ("chain", "draw", "loose_dim_0")
    assert posterior.day.values.tolist() == DAYS and posterior.chain.values.tolist() == [0, 1]
    assert np.array_equal(posterior.draw, np.arange(100))
    assert np.allclose(np.exp(posterior.sigma_log__), posterior.sigma)


def test_chain_and_draw_are_the_first_coordinates(result):
    assert list(result.posterior.coords)[:2] == ["chain", "draw"]


def test_statistics_have_pymc_names_and_dtypes(result):
    stats = group_of(result, "sample_stats")
    assert list(stats.data_vars) == list(DTYPES)
    assert {name: np.dtype(kind) for name, kind in DTYPES.items()} == {n: v.dtype for n, v in stats.data_vars.items()}
    assert all(v.dims == ("chain", "draw") for v in stats.data_vars.values())


def test_data_and_densities(result):
    assert group_of(result, "observed_data").y.dims == ("day",)
    constants = group_of(result, "constant_data")
    assert constants.weights.values.tolist() == [1, 2, 3] and constants.scalar.shape == ()
    assert group_of(result, "log_likelihood").y.dims == ("chain", "draw", "day")
    assert list(group_of(result, "log_prior").data_vars) == ["mu"]


def test_attributes(result):
    attrs = group_of(result, "posterior").attrs
    kinds = {"created_at": str, "inference_library": str, "inference_library_version": str, "sampling_time": float,
             "tuning_steps": int, "seed": int, "compile_time": float, "jax_version": str, "device": str,
             "xla_flags": str, "rewrite_plan": str, "sampler_warnings": str, "interrupted": int,
             "drawn_by": str}  # fmt: skip
    assert {name: type(attrs[name]) for name in kinds} == kinds
    assert attrs["inference_library"] == "ppl" and attrs["seed"] == 7 and attrs["tuning_steps"] == 100
    expected = "arviz_version" if has_inference_data() else "creation_library"
    assert expected in attrs and expected in group_of(result, "observed_data").attrs


def test_netcdf_round_trip(result, tmp_path):
    if not importlib.util.find_spec("h5py") and not importlib.util.find_spec("netCDF4"):
        pytest.skip("no netCDF library is installed")
    file = tmp_path / "result.nc"
    result.to_netcdf(str(file))
    if has_inference_data():
        import arviz

        back = arviz.from_netcdf(str(file))
    else:
        import xarray

        back = xarray.open_datatree(file)
    _same(result, back)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:The data type .* does not have a Zarr V3 specification")
def test_zarr_round_trip(result, tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed")
    import xarray

    tree = result.to_datatree() if has_inference_data() else result  # ArviZ 0.23 itself writes zarr 2 only
    tree.to_zarr(tmp_path / "result.zarr")
    back = xarray.open_datatree(tmp_path / "result.zarr", engine="zarr")
    if has_inference_data():
        import arviz

        back = arviz.InferenceData.from_datatree(back)
    _same(result, back)


def _same(result, back):
    assert set(group_names(back)) == set(group_names(result))
    for name in group_names(result):
        first, second = group_of(result, name), group_of(back, name)
        assert first.equals(second), name
        assert set(first.attrs) == set(second.attrs)


def test_labels_that_do_not_fit_are_left_out_with_a_warning(model):
    with pytest.warns(UserWarning, match="'day' has 2 labels"):
        found = pm.sample(
            20, tune=20, chains=2, random_seed=1, model=model, var_names=["effect"], progressbar=False, quiet=True,
            compute_convergence_checks=False, idata_kwargs={"coords": {"day": ["a", "b"]}},
        )  # fmt: skip
    assert group_of(found, "posterior").day.values.tolist() == [0, 1, 2]


def test_dims_and_coords_can_be_given_with_the_result(model):
    found = pm.sample(
        20, tune=20, chains=2, random_seed=1, model=model, var_names=["loose"], progressbar=False, quiet=True,
        compute_convergence_checks=False, idata_kwargs={"dims": {"loose": ["side"]}, "coords": {"side": ["l", "r"]}},
    )  # fmt: skip
    assert group_of(found, "posterior").loose.side.values.tolist() == ["l", "r"]


def test_densities_need_every_free_variable(model):
    with pytest.raises(ValueError, match="leaves out"):
        pm.sample(
            20, tune=20, chains=2, random_seed=1, model=model, var_names=["mu"], progressbar=False, quiet=True,
            compute_convergence_checks=False, idata_kwargs={"log_likelihood": True},
        )  # fmt: skip


def test_statistics_of_other_samplers_are_renamed_and_completed():
    full = complete({"logp": np.zeros((1, 3)), "depth": np.ones((1, 3)), "mine": np.ones((1, 3))}, {"logp": "lp"})
    assert full["lp"].tolist() == [[0, 0, 0]] and "mine" in full
    several = complete({"accept[0]": np.zeros((1, 3)), "accept[1]": np.ones((1, 3)), "lp": np.zeros((1, 3))})
    assert several["accept"].shape == (1, 3, 2)


def test_importing_what_results_need_leaves_the_collector_as_it_was():
    before = gc.isenabled(), gc.get_threshold()
    made: list[list[int]] = [[] for _ in range(10)]
    results._import_all()
    assert (gc.isenabled(), gc.get_threshold()) == before and not gc.get_freeze_count()
    young = {id(x) for generation in (0, 1) for x in gc.get_objects(generation)}
    assert young.isdisjoint(map(id, made))  # what was there is looked through no more than what is old
    gc.freeze()
    frozen = gc.get_freeze_count()
    results._import_all()
    assert frozen // 2 < gc.get_freeze_count() <= frozen  # the user's choice stays; some may die meanwhile
    gc.unfreeze()


def test_one_observed_number_has_the_shape_that_pymc_gives_it():
    """One entry with arviz 0.x, a number with arviz 1.x; a number among the data stays one."""
    with pm.Model() as model:
        x = Normal("x")
        Normal("y", x, pm.Data("scale", 2.0), observed=1.0)
        result = pm.sample_prior_predictive(5, random_seed=1)
    shape = (1,) if has_inference_data() else ()
    assert group_of(result, "observed_data").y.shape == shape and group_of(result, "observed_data").y.values == 1.0
    assert group_of(result, "prior_predictive").y.shape == (1, 5)
    assert group_of(result, "constant_data").scale.shape == ()
    assert model["y"].type.shape == ()
