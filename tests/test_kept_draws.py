"""What comes after sampling cannot lose the draws: they are in the error, and in a file that it names."""

import tempfile

import numpy as np
import pytest

import ppl as pm
from ppl.model.errors import ResultError, SamplingError
from ppl.model.finishing import finishing, kept_draws
from ppl.model.output import results
from ppl.samplers import ChainError

QUIET = {"tune": 50, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True, "rewrite": False}
QUIET |= {"compute_convergence_checks": False, "certificate": False}


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        sigma = pm.HalfNormal("sigma", 1)
        pm.Deterministic("twice", 2 * mu)
        pm.Normal("y", mu, sigma, observed=[0.5, 1.5])
    return model


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.fixture
def no_imports(monkeypatch):
    """As if xarray had not been imported yet, and could not be."""
    monkeypatch.setattr(results, "_loaded", lambda: False)
    monkeypatch.setattr(results, "_import_all", failing(PermissionError(13, "Permission denied", "cache")))
    monkeypatch.setattr(results, "_importing", None)
    monkeypatch.setattr(results, "PATIENCE", 0.01)


@pytest.mark.parametrize("directory", [False, True])
def test_a_result_that_cannot_be_built_keeps_the_draws(model, tmp_path, monkeypatch, directory):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    more = {"checkpoint": tmp_path / "run"} if directory else {}
    expected = pm.sample(30, model=model, **QUIET)
    with monkeypatch.context() as patch:
        patch.setattr(results, "collect", failing(OSError(28, "No space left on device")))
        with pytest.raises(ResultError, match=r"All draws are made.*No space left") as caught:
            pm.sample(30, model=model, **QUIET, **more)
    error = caught.value
    assert error.path in str(error)
    assert error.path.startswith(str(tmp_path / "run" if directory else tmp_path))
    for name in ("mu", "sigma", "twice"):
        assert np.array_equal(error.draws[name], expected.posterior[name])
    assert error.draws["sigma_log__"].shape == error.stats["lp"].shape == (2, 30)
    with np.load(error.path) as file:
        assert np.array_equal(file["draws/mu"], expected.posterior.mu)
        assert np.array_equal(file["stats/lp"], error.stats["lp"])
    if directory:
        again = pm.sample(30, model=model, resume=tmp_path / "run", **QUIET)
        assert np.array_equal(again.posterior.mu, expected.posterior.mu)


def test_names_that_cannot_be_worked_out_leave_what_the_sampler_moved(model, monkeypatch):
    monkeypatch.setattr(finishing, "over_draws", failing(MemoryError()))
    monkeypatch.setattr(kept_draws, "saved", lambda *_: None)
    with pytest.raises(ResultError, match="could not be saved to a file") as caught:
        pm.sample(20, model=model, **QUIET)
    assert caught.value.path is None
    assert set(caught.value.draws) == {"mu", "sigma_log__"}
    assert np.isfinite(caught.value.draws["mu"]).all()


def test_a_disk_without_room_leaves_no_half_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(np, "savez", failing(OSError(28, "No space left on device")))
    assert kept_draws.saved({"x": np.zeros(3)}, {}, tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_the_result_is_built_saves_the_draws(model, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(results, "collect", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        pm.sample(20, model=model, **QUIET)
    assert str(next(tmp_path.iterdir())) in caught.value.__notes__[0]


def test_results_that_cannot_be_imported_stop_a_run_at_its_beginning(model, no_imports):
    with pytest.raises(
        SamplingError, match=r"importing it failed.*Permission denied.*return_inferencedata=False"
    ) as caught:
        pm.sample(10**7, tune=10, model=model, **{k: v for k, v in QUIET.items() if k != "tune"})
    assert not isinstance(caught.value, ResultError)
    assert "mu" in pm.sample(20, model=model, return_inferencedata=False, **QUIET).varnames


def test_results_that_cannot_be_imported_keep_the_draws_of_a_run_in_the_background(model, no_imports):
    def until_the_import_failed(**_):  # a run that is done before leaves the import to whoever looks at the result
        results._importing.join()

    run = pm.sample(20, model=model, blocking=False, callback=until_the_import_failed, **QUIET)
    with pytest.raises(ResultError, match="importing it failed") as caught:
        run.wait()
    assert caught.value.draws["mu"].shape == (2, 20)


def test_a_chain_that_fails_is_told_where_no_result_can_be_built(monkeypatch):
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        pm.Potential("guard", pm.tensor.Assert("x went too far")(0 * x, x < 900))
    monkeypatch.setattr(results, "collect", failing(OSError(28, "No space left on device")))
    starts = [{"x": 0.0}, {"x": 1e3}]
    with pytest.raises(ChainError, match="x went too far") as caught:
        pm.sample(30, model=model, initvals=starts, init="adapt_diag", **QUIET)
    assert caught.value.partial.positions.shape == (1, 30, 1)


def test_densities_that_the_result_cannot_have_are_refused_before_sampling(model, monkeypatch):
    monkeypatch.setattr(finishing.Finisher, "prepare", failing(AssertionError("too late")))
    with pytest.raises(ValueError, match="leaves out"):
        pm.sample(20, model=model, var_names=["mu"], idata_kwargs={"log_prior": True}, **QUIET)


# --- data that change while a run goes on ---------------------------------------------------------------------------
def line_of(x, y, labels):
    with pm.Model(coords={"row": labels}) as model:
        x = pm.Data("x", x, dims="row")
        effects = pm.Normal("z", 0, pm.HalfCauchy("t", 1), shape=4)
        mean = pm.Deterministic("mean", pm.Normal("a") + x + effects[0], dims="row")
        pm.StudentT("y", 4, mean, pm.HalfNormal("s"), observed=pm.Data("seen", y, dims="row"))
    return model


@pytest.mark.parametrize("rewrite", [True, False])
@pytest.mark.parametrize("length", [12, 9])
def test_a_result_belongs_to_the_data_that_the_run_began_with(rewrite, length):
    rng = np.random.default_rng(3)
    first = rng.normal(size=12), rng.normal(size=12), [*"abcdefghijkl"]
    other = {"x": 10 + rng.normal(size=length), "seen": 5 + rng.normal(size=length)}
    labels = [f"new {i}" for i in range(length)]
    model, same = line_of(*first), line_of(*first)
    more = {**QUIET, "rewrite": rewrite, "certificate": True}
    run = pm.sample(30, model=model, blocking=False, **more)
    with model:
        pm.set_data(other, coords={"row": labels})
    result = run.wait()
    expected = pm.sample(30, model=same, **more)
    for group in ("posterior", "constant_data", "observed_data"):
        for name, values in expected[group].items():
            np.testing.assert_array_equal(result[group][name].values, values.values)
            assert not values.dims or {*result[group][name].coords} == {*values.coords}
    assert [*result.posterior.row.values] == first[2]
    assert [*model.coords["row"]] == labels
    np.testing.assert_array_equal(model["x"].get_value(), other["x"])
