"""No chain dies of numbers: where the log-density is nan or infinite, or no factor exists, it turns away and counts."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import truncnorm
from some_slow import some_slow

from ppl.samplers import failures, sample
from ppl.samplers.adaptation import policy
from ppl.samplers.adaptation.attend import metric_chooser
from ppl.samplers.adaptation.low_rank import low_rank
from ppl.samplers.adaptation.step_size import FIRST_STEP
from ppl.samplers.adaptation.warmup import FISHER, STATS, plan, start
from ppl.samplers.programs.kernel import Window, on_host
from ppl.samplers.steps.evolution import differential_evolution, population_evolution
from ppl.samplers.steps.moves import metropolis
from ppl.samplers.steps.sample_steps import sample_steps
from ppl.samplers.steps.slice import slice_moves

WALL = 1.0


def half_known(ends):
    """A standard normal of two dimensions of which nothing is known where x[0] > 1."""

    def logp(x):
        return -0.5 * jnp.sum(x**2) + 0 * ends(x[0])

    return logp


def factor(x):
    """The factor of a 3x3 matrix that is positive definite for x < 1; a larger one is LAPACK's."""
    return jnp.sum(jnp.linalg.cholesky(jnp.eye(3) * (WALL - x) + 1e-13))


ENDS = {
    "nan": lambda x: jnp.where(x > WALL, jnp.nan, 0.0),
    "infinite": lambda x: jnp.where(x > WALL, jnp.inf, 0.0),
    "overflow": lambda x: jnp.exp(709.78 * x),  # e^709.79 is beyond all numbers
    "no factor": factor,
    "gradient": lambda x: jnp.where(x > WALL, jnp.sqrt(jnp.maximum(WALL - x, 0.0)), 0.0),  # 0, of slope nan
}
KERNELS = {
    "nuts": {},
    "low_rank": {"metric": "low_rank"},
    "vectorized": {"chain_method": "vectorized"},
    "interleaved": {"chain_method": "interleaved"},
    "hmc": {"kernel": "hmc"},
    "hmc vectorized": {"kernel": "hmc", "chain_method": "vectorized"},
    "chees": {"kernel": "chees"},
}

FAST_KERNELS = ("nuts", "vectorized", "hmc", "chees")


def normal_steps(key, n):
    return jax.random.normal(jax.random.wrap_key_data(key, impl="threefry2x32"), (n,), jnp.float64)


MOVES = {
    "metropolis": lambda: metropolis(0, 2, normal_steps, "n", discrete=False, together=True),
    "one by one": lambda: metropolis(0, 2, normal_steps, "n", discrete=False, together=False),
    "slice": lambda: slice_moves(0, 2),
    "past": lambda: differential_evolution(0, 2, normal_steps, "n", rows=4000),
    "population": lambda: population_evolution(0, 2, normal_steps, "n"),
}


def by_kernel(way, logp, draws=2000, tune=500, **more):
    return sample(logp, np.full((16, 2), -0.5), chains=16, draws=draws, tune=tune, seed=4, **KERNELS[way], **more)


def by_move(way, logp, draws=2000, tune=500):
    start = lambda chain, attempt: np.full(2, -0.5)
    return sample_steps(logp, start, [MOVES[way]()], dim=2, chains=16, draws=draws, tune=tune, seed=4)


def follows_the_truncated_law(run):
    """Means and quantiles over chains, which are independent: their spread tells the error."""
    x, y = run.positions[..., 0], run.positions[..., 1]
    law = truncnorm(-np.inf, WALL)
    assert x.max() <= WALL + 1e-4
    for each, expected in ((x, law.mean()), (x > 0, law.sf(0)), (x < -1, law.cdf(-1)), (y, 0.0), (y**2, 1.0)):
        means = each.mean(axis=1)
        assert abs(means.mean() - expected) < 5 * means.std(ddof=1) / np.sqrt(len(means)), (expected, means)


@pytest.mark.parametrize("way", some_slow(KERNELS, fast=lambda way: way in FAST_KERNELS))
def test_a_kernel_follows_the_law_before_numbers_end(way):
    run = by_kernel(way, half_known(ENDS["nan"]))
    follows_the_truncated_law(run)
    found = failures(run)
    assert found.drawn == np.sum(run.stats["diverging"] & np.isinf(run.stats["max_energy_error"])) > 100
    assert len(found.places) == 5 and all(place.position[0] > WALL for place in found.places)


@pytest.mark.parametrize("way", MOVES)
def test_a_move_follows_the_law_before_numbers_end(way):
    run = by_move(way, half_known(ENDS["nan"]))
    follows_the_truncated_law(run)
    found = failures(run)
    assert found.drawn == run.stats["not_finite"].sum() > 100
    assert len(found.places) == 5 and all(place.position[0] > WALL for place in found.places)


WAYS_AND_ENDS = [(way, ends) for way in (*KERNELS, *MOVES) for ends in ENDS if ends != "nan"]
FAST_PAIRS = [
    ("nuts", "no factor"),
    ("hmc", "gradient"),
    ("chees", "overflow"),
    ("slice", "infinite"),
    ("past", "no factor"),
]


@pytest.mark.parametrize(("way", "ends"), some_slow(WAYS_AND_ENDS, fast=lambda *pair: pair in FAST_PAIRS))
def test_however_numbers_end_the_run_ends_with_draws(way, ends):
    by = by_kernel if way in KERNELS else by_move
    run = by(way, half_known(ENDS[ends]), draws=60, tune=60)
    assert run.positions.shape == (16, 60, 2) and np.all(np.isfinite(run.positions))
    known = ends == "gradient" and way in MOVES  # a move asks for no gradient
    assert known or (run.positions[..., 0].max() <= WALL + 1e-4 and failures(run).drawn > 0)
    assert not known or failures(run) == (0, 0, [])


@pytest.mark.parametrize("way", some_slow(["vectorized", "interleaved"], fast=lambda way: way == "vectorized"))
def test_chains_side_by_side_count_as_those_in_threads(way):
    alone, together = (
        by_kernel(each, half_known(ENDS["nan"]), draws=100, metric="fisher_diag") for each in ("nuts", way)
    )
    assert failures(alone)[:2] == failures(together)[:2]


COUNTED = [way for way in ("nuts", "hmc", *MOVES) if way != "population"]


@pytest.mark.parametrize("way", COUNTED)
def test_the_count_is_that_of_the_points_where_numbers_ended(way):
    """The log-density itself counts how often it is asked there; a run of one draw has the looks around before it."""
    seen = []

    def logp(x):
        bad = x[0] > WALL
        jax.debug.callback(lambda b: seen.append(bool(b)), bad)
        return jnp.where(bad, jnp.nan, -0.5 * jnp.sum(x**2))

    def counted(draws):
        seen.clear()
        begin = np.array([-0.5, 0.0])
        if way in MOVES:
            run = sample_steps(logp, lambda *_: begin, [MOVES[way]()], dim=2, chains=1, draws=draws, tune=0, seed=1)
        else:
            run = sample(logp, begin[None], chains=1, draws=draws, tune=0, seed=1, **KERNELS[way])
        jax.effects_barrier()
        return failures(run).drawn, sum(seen)

    (one, seen_of_one), (many, seen_of_many) = counted(1), counted(200)
    assert many - one == seen_of_many - seen_of_one > 10


# The host's part of the warm-up


def window(size, kind, n=100, dim=40):
    """Draws of a standard normal, whose gradients reach a size: in some draws, or along some direction."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, dim))
    if kind == "draws":
        return x, -x * size ** rng.uniform(size=(n, 1))
    direction = np.ones(dim) / np.sqrt(dim) + 0.1 * rng.normal(size=dim)
    return x, -x + size * rng.normal(size=(n, 1)) * direction


@pytest.mark.parametrize("kind", ["draws", "direction"])
@pytest.mark.parametrize("size", [1e10, 1e30, 1e100, 1e160])
def test_a_window_of_huge_gradients_leaves_a_metric(size, kind):
    x, g = window(size, kind)
    with np.errstate(all="ignore"):
        found = low_rank(x, g, 16)
        assert all(np.all(np.isfinite(part)) for part in found)
        assert np.all(found.scale > 0)
        assert policy.choose(policy.candidates(x, g, 16), "fisher_diag") in ("fisher_diag", "welford_diag", "low_rank")


@pytest.mark.parametrize("wanted", ["auto", "low_rank", "welford_diag", "fisher_diag"])
@pytest.mark.parametrize("size", [1e30, 1e160, np.inf])
def test_the_host_chooses_without_an_error_or_a_warning(wanted, size):
    x, g = window(min(size, 1e300), "draws", dim=5)
    if size == np.inf:
        g[3] = np.nan
    stats = np.zeros((len(x), len(STATS)))
    stats[:, list(STATS).index("index_in_trajectory")] = 3
    state = start(np.zeros(5), 4)._replace(draw=on_host(100, np.int64))
    chosen = plan(200, 0.8, 10, FIRST_STEP, FISHER, ask_host=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = metric_chooser(wanted, 4, lambda: 1e6)(chosen, state, Window(x, g, stats))
    assert all(np.all(np.isfinite(part)) for part in after.metric)
    assert not after.attention
