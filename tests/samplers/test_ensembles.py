"""All chains in one program: the laws of chains in threads hold for each way of running them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sampler_targets import SCHOOLS, eight_schools, funnel, normal, standard_normal
from scipy import stats
from some_slow import some_slow

from ppl.samplers.adaptation.chees import chees
from ppl.samplers.adaptation.step_size import averaging_from
from ppl.samplers.adaptation.warmup import FISHER, plan
from ppl.samplers.kernels.integrators import leapfrog
from ppl.samplers.programs.randomness import own_settings
from ppl.samplers.runs import diagnostics
from ppl.samplers.runs.ensemble import stacked
from ppl.samplers.runs.errors import StartError
from ppl.samplers.sample import sample

WAYS = {
    "threads": {"metric": "fisher_diag"},
    "vectorized": {"chain_method": "vectorized"},
    "interleaved": {"chain_method": "interleaved"},
    "vectorized hmc": {"chain_method": "vectorized", "kernel": "hmc"},
    "chees": {"kernel": "chees"},
}
SOME = some_slow(WAYS, fast=lambda way: way in ("vectorized", "chees"))
TOGETHER = [way for way in WAYS if way != "threads"]
COVARIANCE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 2.0]])
MEAN = np.array([1.0, -2.0, 3.0])
ROOT = Path(__file__).parents[2]


def correlated(way: str, **settings):
    """A run on a correlated normal; all tests share a size, so that each way compiles once."""
    settings = {"chains": 16, "tune": 300, "draws": 300, "seed": 7, **WAYS[way], **settings}
    data = (MEAN, np.linalg.inv(COVARIANCE))
    return sample(normal, np.zeros((settings["chains"], 3)), data=data, **settings)


@pytest.mark.parametrize("way", SOME)
def test_a_correlated_normal(way):
    run = correlated(way)
    x = run.positions
    values = np.concatenate([x, (x - MEAN) ** 2, ((x[..., 0] - 1) * (x[..., 1] + 2))[..., None]], axis=2)
    expected = np.concatenate([MEAN, np.diag(COVARIANCE), [0.9]])
    error = values.std(axis=(0, 1)) / np.sqrt(np.minimum(diagnostics.ess_mean(values), x.shape[0] * x.shape[1]))
    assert np.all(np.abs(values.mean(axis=(0, 1)) - expected) < 5 * error)
    assert diagnostics.rhat(x).max() < 1.02
    assert run.stats["diverging"].sum() == 0
    assert 0.7 < run.stats["acceptance_rate"].mean() < 0.99


@pytest.mark.parametrize("way", ["vectorized", "interleaved"])
def test_the_first_draws_are_those_of_threads(way):
    """Up to rounding: the same trees with the same decisions."""
    expected = correlated("threads", tune=0, draws=12)
    found = correlated(way, tune=0, draws=12)
    np.testing.assert_allclose(found.positions, expected.positions, rtol=1e-6, atol=1e-8)
    for name in ("n_steps", "tree_depth", "index_in_trajectory"):
        np.testing.assert_array_equal(found.stats[name], expected.stats[name])


def test_chees_leaves_its_target_invariant():
    """One step of fixed length from exact draws of a Gumbel and a logistic variable gives exact draws."""
    n, rng = 8000, np.random.default_rng(8)
    start = np.stack([rng.gumbel(size=n), rng.logistic(size=n)], axis=1)
    skewed = lambda x: -x[0] - jnp.exp(-x[0]) - x[1] - 2 * jnp.log1p(jnp.exp(-x[1]))
    kernel = chees(skewed, leapfrog)
    with own_settings():
        schedule = plan(0, 0.8, 10, 0.1, FISHER, ask_host=False)
        keys = jnp.asarray(rng.integers(2**32, size=(n, 2)), jnp.uint32)
        walkers, _ = jax.jit(kernel.step)(keys, schedule, (), stacked([kernel.init(x) for x in start]))
        np.testing.assert_array_equal(walkers.position, start)
        shared = walkers.shared._replace(
            average=jax.tree.map(lambda leaf: jnp.full(n, leaf), averaging_from(jnp.asarray(0.9))),
            log_length_bar=jnp.full(n, 1.0),
            scale=jnp.ones((n, 2)),
        )
        moved, outcome = jax.jit(kernel.step)(keys + 1, schedule, (), walkers._replace(shared=shared))
    end, acceptance = np.asarray(moved.position), np.asarray(outcome.stats)[:, 4]
    assert 0.4 < acceptance.mean() < 0.99
    assert np.mean(np.any(end != start, axis=1)) > 0.4
    assert stats.kstest(end[:, 0], "gumbel_r").pvalue > 1e-4
    assert stats.kstest(end[:, 1], "logistic").pvalue > 1e-4


def test_chees_finds_the_length_that_a_normal_needs():
    """In whitened space a quarter of a period decorrelates, and lengths are even from 0 to T: T is near twice that."""
    run = sample(standard_normal, np.random.default_rng(1).normal(size=(64, 20)), chains=64, tune=500, draws=100,
                 kernel="chees")  # fmt: skip
    longest = (run.stats["n_steps"] * run.stats["step_size"]).max()
    assert 1.5 < longest < 6
    assert diagnostics.ess_mean(run.positions).min() > 0.3 * 64 * 100


@pytest.mark.parametrize("way", TOGETHER)
def test_draws_do_not_depend_on_chunks(monkeypatch, way):
    expected = correlated(way)
    monkeypatch.setattr("ppl.samplers.runs.together.DISPATCH_SECONDS", 1e-6)
    monkeypatch.setattr("ppl.samplers.runs.together.FIRST_BLOCKS", 1)
    np.testing.assert_array_equal(correlated(way).positions, expected.positions)


@pytest.mark.parametrize("way", ["interleaved", "chees"])
def test_an_interrupted_checkpoint_resumes_to_the_same_draws(monkeypatch, tmp_path, way):
    expected = correlated(way)
    monkeypatch.setattr("ppl.samplers.runs.together.DISPATCH_SECONDS", 1e-6)
    monkeypatch.setattr("ppl.samplers.runs.together.FIRST_BLOCKS", 1)

    def stop(chains):
        if min(c.done for c in chains) > 50:
            raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        correlated(way, checkpoint=tmp_path / "run", callback=stop)
    run = correlated(way, resume=tmp_path / "run")
    np.testing.assert_array_equal(run.positions, expected.positions)
    np.testing.assert_array_equal(run.stats["energy"], expected.stats["energy"])


@pytest.mark.parametrize("way", TOGETHER)
def test_generated_quantities_come_with_every_draw(way):
    run = correlated(way, expand=lambda x, *data: {"square": x[0] ** 2})
    np.testing.assert_allclose(run.expanded["square"], run.positions[..., 0] ** 2, rtol=1e-12)


@pytest.mark.parametrize("way", SOME)
def test_no_dimension_at_all(way):
    run = sample(lambda x: jnp.sum(x) * 0.0, np.zeros((8, 0)), chains=8, draws=20, tune=20, **WAYS[way])
    assert run.positions.shape == (8, 20, 0)


@pytest.mark.parametrize("way", SOME)
def test_a_density_that_is_nan_or_infinite_beyond_a_wall(way):
    """Half a normal beyond which nothing is known: no chain goes there, and each finds the half normal's mean."""
    logp = lambda x: jnp.where(x[0] < 0, -0.5 * jnp.sum(x**2), jnp.where(x[0] < 0.2, jnp.nan, jnp.inf))
    run = sample(logp, np.full((16, 1), -1.0), chains=16, draws=300, tune=300, seed=3, **WAYS[way])
    assert np.all(run.positions < 0)
    assert abs(run.positions.mean() + np.sqrt(2 / np.pi)) < 0.08


@pytest.mark.parametrize("way", SOME)
def test_chains_that_only_diverge_come_to_an_end(way):
    cliff = lambda x: -1e9 * jnp.sum(jnp.abs(jnp.sin(1e6 * x)))
    run = sample(cliff, np.full((8, 2), 0.3), chains=8, draws=30, tune=30, **WAYS[way])
    assert np.all(np.isfinite(run.positions))


def test_divergences_have_their_places():
    run = sample(funnel, np.zeros((16, 10)), chains=16, draws=100, tune=50, kernel="chees", target_accept=0.6, seed=1)
    places = [d for chain in run.divergences.values() for d in chain if d.draw >= 0]
    assert len(places) == run.stats["diverging"].sum() > 0


def test_a_start_is_tried_again_for_the_chains_that_need_it():
    tries = []

    def initial(chain: int, attempt: int) -> np.ndarray:
        tries.append((chain, attempt))
        return np.array([-1.0 if attempt < chain % 3 else 1.0])

    run = sample(lambda x: jnp.log(x[0]) - x[0], initial, dim=1, chains=8, draws=20, tune=20, kernel="chees")
    assert np.all(run.positions > 0)
    assert {chain: sum(c == chain for c, _ in tries) for chain in range(3)} == {0: 1, 1: 2, 2: 3}


def test_a_start_without_density_names_the_chain():
    start = np.ones((8, 1))
    start[5] = -1
    with pytest.raises(StartError, match="Chain 5 found no starting point in 1 try: log-density nan"):
        sample(lambda x: jnp.log(x[0]) - x[0], start, chains=8, draws=5, tune=5, kernel="chees")


def test_a_run_together_stops_at_once_with_what_is_finished():
    handle = correlated("chees", draws=10**6, blocking=False)
    while not all(c.done > 400 for c in handle.progress()):
        pass
    run = handle.abort()
    assert run.interrupted
    assert run.draws > 50


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chain_method": "processes"}, "chain_method must be one of auto, threads, vectorized, interleaved"),
        ({"kernel": "chees", "chain_method": "threads"}, "chain_method cannot be 'threads'"),
        ({"kernel": "hmc", "chain_method": "interleaved"}, "for kernel='nuts', not for 'hmc'"),
        ({"chain_method": "vectorized", "metric": "low_rank"}, "metric='low_rank' is fitted by the host"),
        ({"kernel": "chees", "chains": 4}, "needs 8, got 4"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        correlated("threads", **{"chains": 16, "metric": "auto", **settings})


@pytest.mark.slow
def test_chains_are_spread_over_the_devices():
    """With four devices each has a quarter of the chains, and the draws are those of one."""
    script = textwrap.dedent(f"""
        import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
        import jax, numpy as np
        from sampler_targets import eight_schools, SCHOOLS
        from ppl.samplers import sample
        from ppl.samplers.runs.ensemble import placed
        spread = placed(np.zeros((8, 10)), 8).sharding
        print(len(jax.devices()), spread.num_devices, spread.shard_shape((8, 10))[0])
        for way in ({{"kernel": "chees"}}, {{"chain_method": "interleaved"}}):
            run = sample(eight_schools, np.zeros((8, 10)), data=SCHOOLS, chains=8, tune=20, draws=5, **way)
            print(float(run.positions.sum()))
    """)
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "XLA_FLAGS": flags})
    devices, *sums = done.stdout.splitlines()
    assert devices == "4 4 2"
    for total, way in zip(sums, ({"kernel": "chees"}, {"chain_method": "interleaved"}), strict=True):
        run = sample(eight_schools, np.zeros((8, 10)), data=SCHOOLS, chains=8, tune=20, draws=5, **way)
        np.testing.assert_allclose(run.positions.sum(), float(total), rtol=1e-6)
