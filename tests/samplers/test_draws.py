"""``sample`` as a whole: known posteriors, same draws however it runs, faults, storage."""

import importlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from sampler_targets import SCHOOLS, eight_schools, funnel, normal, standard_normal

from ppl.samplers.programs.programs import MARKS, PROGRAMS
from ppl.samplers.runs import diagnostics, places
from ppl.samplers.runs.errors import ChainError, StartError, StorageError
from ppl.samplers.runs.places import place_of
from ppl.samplers.runs.rows import Shape
from ppl.samplers.runs.zarr_rows import ZarrRows
from ppl.samplers.sample import sample

START = np.zeros((4, 10))
ROOT = Path(__file__).parents[2]


def schools(**settings):
    settings = {"draws": 300, "tune": 200, "chains": 4, "seed": 1, **settings}
    return sample(eight_schools, np.zeros((settings["chains"], 10)), data=SCHOOLS, **settings)


def within(draws: np.ndarray, expected: np.ndarray, errors: float = 5.0) -> None:
    """Means of draws (chains, draws, k) agree with the expected ones within so many Monte Carlo standard errors."""
    ess = np.minimum(diagnostics.ess_mean(draws), draws.shape[0] * draws.shape[1])
    error = draws.std(axis=(0, 1)) / np.sqrt(ess)
    assert np.all(np.abs(draws.mean(axis=(0, 1)) - expected) < errors * error)


# Known posteriors


@pytest.mark.parametrize("metric", ["fisher_diag", "welford_diag", "low_rank", "auto", "identity"])
def test_a_correlated_normal(metric):
    c = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 2.0]])
    mean = np.array([1.0, -2.0, 3.0])
    run = sample(normal, np.zeros((4, 3)), data=(mean, np.linalg.inv(c)), draws=2000, tune=500, seed=5, metric=metric)
    x = run.positions
    within(x, mean)
    within((x - mean) ** 2, np.diag(c))
    within(((x[..., 0] - 1) * (x[..., 1] + 2))[..., None], np.array([0.9]))
    assert diagnostics.rhat(x).max() < 1.01


def test_hmc_on_a_correlated_normal():
    c = np.array([[1.0, 0.9], [0.9, 1.0]])
    run = sample(normal, np.zeros((4, 2)), data=(np.ones(2), np.linalg.inv(c)), kernel="hmc", draws=3000, tune=500)
    within(run.positions, np.ones(2))
    within((run.positions - 1) ** 2, np.ones(2))
    assert diagnostics.rhat(run.positions).max() < 1.01


@pytest.mark.parametrize("dim", [1, 2, 100])
def test_a_standard_normal(dim):
    run = sample(standard_normal, np.ones((4, dim)), draws=1000, tune=400, seed=2)
    within(run.positions, np.zeros(dim))
    within(run.positions**2, np.ones(dim))


def test_a_normal_of_condition_a_million():
    scales = np.geomspace(1e-3, 1e3, 7)
    run = sample(normal, np.zeros((4, 7)), data=(np.zeros(7), np.diag(scales**-2)), draws=1000, tune=600, seed=3)
    within((run.positions / scales) ** 2, np.ones(7))


def test_gamma_and_beta_on_their_unconstrained_scales():
    logp = lambda q: 3.0 * q[0] - 2.0 * jnp.exp(q[0]) + 2.0 * jax.nn.log_sigmoid(q[1]) + 5.0 * jax.nn.log_sigmoid(-q[1])
    run = sample(logp, np.zeros((4, 2)), draws=2000, tune=400, seed=4)
    values = np.stack([np.exp(run.positions[..., 0]), 1 / (1 + np.exp(-run.positions[..., 1]))], axis=-1)
    within(values, np.array([1.5, 2 / 7]))
    within((values - [1.5, 2 / 7]) ** 2, np.array([0.75, 10 / (49 * 8)]))


def test_linear_regression_has_its_closed_form():
    rng = np.random.default_rng(0)
    design, noise = rng.normal(size=(40, 3)), 0.5
    y = design @ [1.0, -1.0, 0.5] + noise * rng.normal(size=40)
    logp = lambda b, x, y: -0.5 * jnp.sum(((y - jnp.sum(x * b, axis=1)) / noise) ** 2) - 0.5 * jnp.sum(b**2)
    run = sample(logp, np.zeros((4, 3)), data=(design, y), draws=1500, tune=400)
    precision = design.T @ design / noise**2 + np.eye(3)
    mean = np.linalg.solve(precision, design.T @ y / noise**2)
    within(run.positions, mean)
    within((run.positions - mean) ** 2, np.diag(np.linalg.inv(precision)))


def test_eight_schools_against_its_reference():
    run = schools(draws=4000, tune=600)
    within(run.positions[..., :1], np.array([4.41]), errors=6)  # posteriordb: mean of mu
    tau = np.exp(run.positions[..., 1:2])
    within(tau, np.array([3.60]), errors=6)


@pytest.mark.slow
def test_the_funnel_non_centered():
    logp = lambda q: -0.5 * (q[0] / 3) ** 2 - 0.5 * jnp.sum(q[1:] ** 2)
    run = sample(logp, np.zeros((4, 10)), draws=4000, tune=600, expand=lambda q: q[1:] * jnp.exp(q[0] / 2))
    within(run.positions[..., :1] ** 2, np.array([9.0]))
    within(np.sign(run.expanded), np.zeros(9))


# The same draws however they are made


def test_the_same_seed_gives_the_same_draws():
    np.testing.assert_array_equal(schools().positions, schools().positions)
    assert not np.array_equal(schools().positions, schools(seed=2).positions)


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_draws_do_not_depend_on_cores(cores):
    np.testing.assert_array_equal(schools(cores=cores).positions, schools().positions)


def test_a_run_of_fewer_chains_is_the_beginning_of_one_of_more():
    np.testing.assert_array_equal(schools(chains=2).positions, schools().positions[:2])


@pytest.mark.parametrize("seconds", [1e-6, 1e-4])
def test_draws_do_not_depend_on_chunks(monkeypatch, seconds):
    expected = schools().positions
    monkeypatch.setattr("ppl.samplers.runs.chain.DISPATCH_SECONDS", seconds)
    np.testing.assert_array_equal(schools().positions, expected)


def test_draws_do_not_depend_on_who_watches(capsys):
    seen = []
    run = schools(progress="lines", callback=seen.append)
    np.testing.assert_array_equal(run.positions, schools().positions)
    assert seen
    assert all(len(chains) == 4 for chains in seen)


# Compilation


def test_nothing_is_compiled_twice():
    schools()
    before = PROGRAMS.compilations
    other = (SCHOOLS[0] + 1, SCHOOLS[1])
    sample(eight_schools, START, data=other, draws=500, tune=100, target_accept=0.9, seed=9)
    assert PROGRAMS.compilations == before


def test_a_key_stands_for_the_density():
    make = lambda: lambda x: -0.5 * jnp.sum(x**2)
    sample(make(), START[:, :2], key="standard", draws=10, tune=10)
    before = PROGRAMS.compilations
    sample(make(), START[:, :2], key="standard", draws=10, tune=10)
    assert PROGRAMS.compilations == before


def test_the_loop_is_one_kernel():
    """Under the flag the outermost loop is folded: the program's entry has no loop of its own any more."""
    text = programs_text(lambda x: -0.5 * jnp.sum(x**2))
    assert "xla_cpu_small_call" in text
    assert " while(" not in entry(text)


def test_a_loop_that_cannot_fold_still_runs():
    logp = lambda x: -0.5 * jnp.sum(jnp.linalg.cholesky(jnp.eye(2) * (1 + x[0] ** 2))) - 0.5 * jnp.sum(x**2)
    assert " while(" in entry(programs_text(logp))
    assert np.all(np.isfinite(sample(logp, np.zeros((1, 2)), chains=1, draws=50, tune=50).positions))


def programs_text(logp) -> str:
    PROGRAMS.clear()
    sample(logp, np.zeros((1, 2)), chains=1, draws=5, tune=5)
    return next(iter(PROGRAMS._kept.values())).as_text()


def entry(text: str) -> str:
    return text[text.index("ENTRY") :]


# Results


def test_statistics_have_their_names_and_types():
    run = schools()
    kinds = {"diverging": np.bool_, "n_steps": np.int64, "tree_depth": np.int64, "energy": np.float64, "lp": np.float64,
             "index_in_trajectory": np.int64, "reached_max_treedepth": np.bool_, "perf_counter_diff": np.float64,
             "acceptance_rate": np.float64, "step_size": np.float64, "step_size_bar": np.float64,
             "energy_error": np.float64, "max_energy_error": np.float64, "perf_counter_start": np.float64,
             "process_time_diff": np.float64}  # fmt: skip
    assert {name: values.dtype.type for name, values in run.stats.items()} == kinds
    assert all(values.shape == (4, 300) for values in run.stats.values())
    assert all(values.shape == (4, 200) for values in run.warmup_stats.values())
    lp = jax.vmap(lambda q: eight_schools(q, *map(jnp.asarray, SCHOOLS)))(jnp.asarray(run.positions[0]))
    np.testing.assert_allclose(run.stats["lp"][0], lp, rtol=1e-4)
    assert np.all(run.stats["n_steps"] < 2 ** run.stats["tree_depth"])
    assert np.all(np.abs(run.stats["index_in_trajectory"]) <= run.stats["n_steps"])


def test_generated_quantities_come_with_every_draw():
    run = schools(expand=lambda q, y, sigma: {"tau": jnp.exp(q[1]), "theta": (q[0] + jnp.exp(q[1]) * q[2:],)})
    np.testing.assert_allclose(run.expanded["tau"], np.exp(run.positions[..., 1]), rtol=1e-12)
    assert run.expanded["theta"][0].shape == (4, 300, 8)


def test_divergences_have_their_places():
    run = sample(funnel, np.zeros((2, 10)), chains=2, draws=500, tune=200, seed=1)
    found = {chain: len([d for d in places if d.draw >= 0]) for chain, places in run.divergences.items()}
    diverging = run.stats["diverging"].sum(axis=1)
    assert diverging.sum() > 0
    assert found == {chain: min(count, MARKS) for chain, count in enumerate(diverging)}  # one dispatch holds this run
    assert all(np.all(np.isfinite(d.position)) for places in run.divergences.values() for d in places)
    assert "divergences after tuning" in diagnostics.notices(run)[0].text


def test_the_warmup_is_kept_on_request():
    assert schools().warmup_positions is None
    assert schools(keep_warmup=True).warmup_positions.shape == (4, 200, 10)


def test_single_precision():
    run = sample(standard_normal, np.zeros((4, 5)), dtype=np.float32, draws=1000, tune=300)
    assert run.positions.dtype == np.float32
    assert run.stats["energy"].dtype == np.float64
    within(run.positions.astype(float) ** 2, np.ones(5))


def test_no_setting_of_jax_changes(single_precision):
    schools()
    assert jnp.ones(2).dtype == jnp.float32


# Edges and faults


def test_no_dimension_at_all():
    run = sample(lambda x: jnp.sum(x) * 0.0, np.zeros((2, 0)), chains=2, draws=20, tune=20)
    assert run.positions.shape == (2, 20, 0)


@pytest.mark.slow
def test_a_hundred_thousand_dimensions_fit():
    """A dispatch holds two vectors a draw in 4 MB, at most twice; the loop 3 x 10 of checkpoints and some others."""
    dim = 100_000
    PROGRAMS.clear()
    run = sample(standard_normal, np.zeros((1, dim)), chains=1, draws=20, tune=20, metric="fisher_diag")
    used = next(iter(PROGRAMS._kept.values())).memory_analysis()
    in_all = used.temp_size_in_bytes + used.argument_size_in_bytes + used.output_size_in_bytes
    assert in_all < 2 * (4 << 20) + (3 * 10 + 200) * dim * 8
    assert run.positions.shape == (1, 20, dim)
    assert abs(run.positions[0, -1].var() - 1) < 0.1


def test_no_draws_only_tuning():
    run = schools(draws=0)
    assert run.positions.shape == (4, 0, 10)
    assert not run.interrupted


def test_a_half_line():
    logp = lambda x: jnp.where(x[0] > 0, -x[0], -jnp.inf)
    run = sample(logp, np.ones((4, 1)), draws=2000, tune=500)
    assert run.positions.min() > 0
    assert abs(run.positions.mean() - 1) < 0.15


def test_a_density_that_is_infinite_beyond_a_wall():
    """A point of infinite density would hold a chain for ever: it is a divergence (all kernels: test_ensembles)."""
    logp = lambda x: jnp.where(x[0] < 1, -0.5 * jnp.sum(x**2), jnp.inf)
    run = sample(logp, np.zeros((2, 2)), chains=2, draws=300, tune=200)
    assert run.positions[..., 0].max() < 1
    assert np.all(np.isfinite(run.positions)) and run.stats["diverging"].any()


def test_chains_that_only_diverge_come_to_an_end():
    cliff = lambda x: -1e9 * jnp.sum(jnp.abs(jnp.sin(1e6 * x)))
    run = sample(cliff, np.full((2, 2), 0.3), chains=2, draws=50, tune=50)
    assert np.all(np.isfinite(run.positions))


def test_a_start_without_density_names_the_reason():
    logp = lambda x: jnp.log(x[0]) + x[1]
    with pytest.raises(StartError, match=r'Chain \d found no starting point in 1 try: log-density nan.*"y" is -inf at'):
        sample(logp, np.full((2, 2), -1.0), chains=2, terms=lambda x: {"y": np.array([0.0, -np.inf])}, draws=5, tune=5)


def test_a_start_whose_gradient_is_not_finite_names_the_entry():
    with pytest.raises(StartError, match=r'its gradient is not: "b" = 0 has gradient inf'):
        sample(lambda x: jnp.sqrt(x[1]) - x[0] ** 2, np.zeros((1, 2)), chains=1, names=["a", "b"], draws=5, tune=5)


def test_starts_are_tried_again():
    tries = []

    def initial(chain: int, attempt: int) -> np.ndarray:
        tries.append((chain, attempt))
        return np.array([-1.0 if attempt < 3 else 1.0])

    sample(lambda x: jnp.log(x[0]) - x[0], initial, dim=1, chains=1, draws=5, tune=5)
    assert tries == [(0, 0), (0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_accept": 2}, "target_accept must lie between 0 and 1, got 2"),
        ({"max_treedepth": 0}, "max_treedepth must be a whole number of at least 1, got 0"),
        ({"draws": -3}, "draws must be a whole number of at least 0, got -3"),
        ({"chains": 0}, "chains must be a whole number of at least 1, got 0"),
        ({"metric": "dense"}, "metric must be one of auto"),
        ({"kernel": "gibbs"}, "kernel must be one of nuts, hmc, chees, got 'gibbs'"),
        ({"path_length": 1.0}, "path_length is a positive length of the trajectories of kernel='hmc'"),
        ({"integrator": "euler"}, "integrator must be one of leapfrog"),
        ({"progress": "fireworks"}, "progress must be True, False, or one of"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        schools(**settings)


def test_starts_of_the_wrong_shape_are_named():
    with pytest.raises(ValueError, match=r"initial must have one row a chain, shape \(4, dim\), got shape \(10,\)"):
        sample(standard_normal, np.zeros(10))


def raising(limit: float):
    """A density that raises once a chain comes beyond ``limit``."""

    def check(x: np.ndarray) -> np.ndarray:
        if x > limit:
            raise ArithmeticError("the density broke")
        return np.zeros((), np.float32)

    @jax.custom_jvp
    def guard(x):
        # In single precision: JAX runs callbacks in a thread of its own, where 64-bit numbers are not switched on.
        x = x.astype(np.float32)
        return jax.pure_callback(check, jax.ShapeDtypeStruct((), x.dtype), x).astype(np.float64)

    guard.defjvp(lambda primals, tangents: (guard(*primals), 0.0 * tangents[0]))
    return lambda x: -0.5 * jnp.sum(x**2) + guard(x[0])


def test_a_chain_that_raises_leaves_the_others():
    start = np.array([[0.0], [1e8], [0.0]])
    with pytest.raises(ChainError, match=r"(?s)Chain 1 failed after 0 of 60 draws: .*the density broke") as caught:
        sample(raising(1e6), start, chains=3, draws=30, tune=30, cores=1)
    assert caught.value.chain == 1
    assert caught.value.partial.positions.shape == (2, 30, 1)
    assert caught.value.partial.chains == [0, 2]


def test_a_callback_that_raises_stops_the_run_with_its_own_error():
    def callback(chains):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        schools(callback=callback, draws=10**6)


# Stopping, pausing, storing


def test_a_handle_pauses_resumes_and_aborts():
    handle = schools(draws=10**6, blocking=False)
    while not any(c.done > 1000 for c in handle.progress()):
        time.sleep(0.01)
    handle.pause()
    time.sleep(0.3)
    done = [c.done for c in handle.progress()]
    time.sleep(0.2)
    assert done == [c.done for c in handle.progress()]
    assert handle.partial().draws > 0
    with pytest.raises(TimeoutError, match="not finished after"):
        handle.wait(timeout=0.05)
    handle.resume()
    time.sleep(0.3)
    began = time.perf_counter()
    run = handle.abort()
    assert time.perf_counter() - began < 0.5
    assert run.interrupted
    assert sum(r.draws for r in run.records) > sum(done) - 4 * 200
    assert "<table>" in handle._repr_html_()
    same = schools(draws=500).positions[:, : min(500, run.draws)]
    np.testing.assert_array_equal(run.positions[:, :500], same[run.chains])


@pytest.mark.parametrize("storage", ["npy", "zarr", "memory", "file"])
def test_an_interrupted_checkpoint_resumes_to_the_same_draws(tmp_path, storage):
    place = tmp_path / "run"
    if storage != "npy":
        pytest.importorskip("zarr", "3", reason="zarr is not installed")
    if storage in ("memory", "file"):
        pytest.importorskip("obstore", reason="obstore is not installed")
        place, storage = f"{storage}://{tmp_path}/run", None
    expand = lambda q, y, s: jnp.exp(q[1])
    expected = schools(draws=3000, expand=expand)
    stopped = []

    def stop(chains):
        if sum(c.done for c in chains) > 900 and not stopped:
            stopped.append(True)
            raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        schools(draws=3000, checkpoint=place, storage=storage, callback=stop, cores=2, expand=expand)
    run = schools(draws=3000, resume=place, storage=storage, expand=expand)
    np.testing.assert_array_equal(run.positions, expected.positions)
    np.testing.assert_array_equal(run.expanded, expected.expanded)
    np.testing.assert_array_equal(run.stats["energy"], expected.stats["energy"])
    if storage == "npy":
        table = np.load(tmp_path / "run/chain-0/positions.npy")
    else:
        table = place_of(place).zarr("draws.zarr", "r")["chain-0/positions"][:]
    np.testing.assert_array_equal(table[200:], expected.positions[0])


def test_rows_in_zarr_are_read_while_they_come_and_written_by_chunks(tmp_path):
    pytest.importorskip("zarr", "3", reason="zarr is not installed")
    shape = Shape(5000, (100,), np.dtype(float))
    rows = ZarrRows(place_of(tmp_path), 0, "positions", shape, away=False)
    values = np.random.default_rng(0).normal(size=(3000, 100))
    for begin in range(0, 3000, 700):
        rows.write(begin, values[begin : begin + 700])
        np.testing.assert_array_equal(rows.read(0, min(begin + 700, 3000)), values[: begin + 700])
    chunk = (1 << 20) // 800
    there = xarray.open_zarr(tmp_path / "draws.zarr", group="chain-0", consolidated=False)["positions"]
    assert there.dims == ("iteration", "position")
    np.testing.assert_array_equal(there[: 2 * chunk], values[: 2 * chunk])
    assert not there[2 * chunk :].any(), "what waits for a full chunk"
    rows.flush()
    there = xarray.open_zarr(tmp_path / "draws.zarr", group="chain-0", consolidated=False)["positions"]
    np.testing.assert_array_equal(there[:3000], values)
    checksum, again = rows.checksum, ZarrRows(place_of(tmp_path), 0, "positions", shape, away=False)
    assert again.verified(3000, checksum) and not again.verified(2999, checksum)
    again.verified(2500, 0)
    again.write(2500, values[2500:])  # as after a resume, in the middle of a chunk
    again.close()
    np.testing.assert_array_equal(again.read(0, 3000), values)


def test_a_url_needs_a_package_and_no_files(monkeypatch, tmp_path):
    pytest.importorskip("zarr", "3", reason="zarr is not installed")
    with pytest.raises(ValueError, match="storage='npy' needs a directory; at a URL, memory://run"):
        schools(checkpoint="memory://run", storage="npy")
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(StorageError, match=r"obstore or fsspec opens: install ppl-jax\[stores\]"):
        schools(checkpoint="memory://run")


def test_a_store_that_fails_ends_the_run_with_what_is_intact(tmp_path, monkeypatch):
    pytest.importorskip("zarr", "3", reason="zarr is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    put = places._Obstore.put

    def failing(self, name, content):
        if name.endswith("state.npz"):
            raise RuntimeError("the network is gone")
        put(self, name, content)

    monkeypatch.setattr(places._Obstore, "put", failing)
    with pytest.raises(StorageError, match="cannot be written: RuntimeError: the network is gone"):
        schools(checkpoint=f"memory://{tmp_path}/failing")


def test_fsspec_opens_urls_too(tmp_path):
    pytest.importorskip("zarr", "3", reason="zarr is not installed")
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    objects = places._Fsspec(f"memory://{tmp_path}")
    objects.put("chain-0/state.npz", b"abc")
    assert objects.get("chain-0/state.npz") == b"abc"
    with pytest.raises(FileNotFoundError):
        objects.get("run.json")
    group = importlib.import_module("zarr").open_group(objects.zarr(), path="draws.zarr", mode="a")
    group.create_array("x", data=np.arange(5))
    assert importlib.import_module("zarr").open_group(objects.zarr(), path="draws.zarr", mode="r")["x"][3] == 3


def test_storage_that_cannot_be_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="storage must be one of npy, zarr, got 'hdf5'"):
        schools(checkpoint=tmp_path / "run", storage="hdf5")
    with pytest.raises(ValueError, match="a directory must be given too"):
        schools(storage="zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(StorageError, match=r"needs the package zarr, version 3 or later: install ppl-jax\[zarr\]"):
        schools(checkpoint=tmp_path / "run", storage="zarr")


def test_a_killed_process_loses_nothing_that_was_saved(tmp_path):
    script = textwrap.dedent(f"""
        import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
        from ppl.xla import flags; flags.apply()
        import numpy as np
        from ppl.samplers.sample import sample
        from sampler_targets import eight_schools, SCHOOLS
        def say(chains):
            print(sum(c.done for c in chains), flush=True)
        sample(eight_schools, np.zeros((2, 10)), data=SCHOOLS, chains=2, draws=2_000_000, tune=200, seed=1,
               callback=say, checkpoint={str(tmp_path / "run")!r})
    """)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    while int(child.stdout.readline() or 10**9) < 60_000:
        pass
    time.sleep(0.7)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with np.load(tmp_path / "run/chain-0/state.npz") as saved:
        done = json.loads(bytes(saved["facts"]).decode())["done"]
    assert done > 1000
    rows = np.load(tmp_path / "run/chain-0/positions.npy", mmap_mode="r")[200 : min(done, 500)]
    np.testing.assert_array_equal(rows, schools(draws=len(rows)).positions[0])


def test_a_damaged_checkpoint_is_refused(tmp_path):
    schools(checkpoint=tmp_path / "run")
    with (tmp_path / "run/chain-2/positions.npy").open("r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    with pytest.raises(StorageError, match=r"The table positions of .* is damaged"):
        schools(resume=tmp_path / "run")


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    schools(checkpoint=tmp_path / "run")
    with pytest.raises(StorageError, match="was made with seed=1, now it is 2"):
        schools(resume=tmp_path / "run", seed=2)
    with pytest.raises(StorageError, match="already holds a run"):
        schools(checkpoint=tmp_path / "run")


def test_a_full_disk_is_a_clear_error(tmp_path, monkeypatch):
    from ppl.samplers.runs.rows import FileRows

    def full(self, begin, values):
        if begin + len(values) > 200:
            raise OSError(28, "No space left on device")
        return plain(self, begin, values)

    plain = FileRows.write
    monkeypatch.setattr(FileRows, "write", full)
    with pytest.raises(StorageError, match="cannot be written: No space left on device") as caught:
        schools(checkpoint=tmp_path / "run")
    assert caught.value.partial.records
    monkeypatch.undo()
    np.testing.assert_array_equal(schools(resume=tmp_path / "run").positions, schools().positions)


PRESSING = f"""
import sys, time, os, signal
sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
from ppl.xla import flags; flags.apply()
import numpy as np
from ppl.samplers.sample import sample
from sampler_targets import eight_schools, SCHOOLS

# A suite that a shell started in the background has inherited a SIGINT that is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
press = lambda: os.kill(os.getpid(), signal.SIGINT)
schools = lambda **settings: sample(eight_schools, np.zeros((4, 10)), data=SCHOOLS, draws=10**6, tune=200, **settings)
"""


def pressing(script: str) -> str:
    """What a process prints that presses Ctrl-C on itself."""
    program = PRESSING + textwrap.dedent(script)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    ).stdout


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_returns_the_finished_draws_at_once():
    """Wall seconds hold what other processes took, so the least of five counts; processor seconds count each time."""
    presses = pressing("""
        for _ in range(5):
            pressed = []
            def look(chains):
                if sum(c.done for c in chains) > 5000 and not pressed:
                    pressed.extend([time.perf_counter(), time.process_time()])
                    press()
            run = schools(callback=look)
            wall, processor = time.perf_counter() - pressed[0], time.process_time() - pressed[1]
            print(wall, processor, run.interrupted, sum(r.draws for r in run.records))
    """).splitlines()
    seconds = [[float(word) for word in line.split()[:2]] for line in presses]
    assert len(presses) == 5
    assert all(line.split()[2] == "True" and int(line.split()[3]) > 1000 for line in presses)
    assert min(wall for wall, _ in seconds) < 0.5
    assert max(processor for _, processor in seconds) < 0.5


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_while_compiling_is_not_kept_waiting():
    """The chains never begin: the compiler is held at a gate, where it still is when KeyboardInterrupt comes."""
    assert pressing("""
        import threading
        from ppl.samplers.runs import alone
        compiling, gate, compiled = threading.Event(), threading.Event(), alone.compiled
        def held(*job):
            compiling.set()
            gate.wait()
            return compiled(*job)
        alone.compiled = held
        threading.Thread(target=lambda: compiling.wait() and press()).start()
        try:
            schools()
        except KeyboardInterrupt:
            print("interrupted", gate.is_set())
        gate.set()
    """).split() == ["interrupted", "False"]


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_a_second_ctrl_c_does_not_wait_for_the_chains():
    assert pressing("""
        from ppl.samplers.runs.driver import Handle
        def twice(handle, *_):
            while not any(c.done > 1000 for c in handle.progress()):
                time.sleep(0.01)
            press(), time.sleep(0.01), press(), time.sleep(0.01), print("never")
        Handle._show = twice
        try:
            schools()
        except KeyboardInterrupt:
            print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    """).split() == ["interrupted", "True"]


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_goes_to_a_handler_of_the_user():
    assert pressing("""
        pressed = []
        signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
        done = lambda chains: sum(c.done for c in chains) > 5000 and not pressed and press()
        run = sample(eight_schools, np.zeros((4, 10)), data=SCHOOLS, draws=5000, tune=200, callback=done)
        print(len(pressed) > 0, run.interrupted)
    """).split() == ["True", "False"]


def test_a_program_that_ends_while_chains_run_ends_cleanly():
    script = textwrap.dedent(f"""
        import sys, time
        sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
        from ppl.xla import flags; flags.apply()
        import numpy as np
        from ppl.samplers.sample import sample
        from sampler_targets import eight_schools, SCHOOLS
        handle = sample(eight_schools, np.zeros((2, 10)), data=SCHOOLS, chains=2, draws=10**8, blocking=False)
        while not any(c.done for c in handle.progress()):
            time.sleep(0.01)
    """)
    subprocess.run([sys.executable, "-c", script], timeout=120, check=True)
