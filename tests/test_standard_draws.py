"""What many draws are made of: functions that run in vectors, and rejection that moves the refused together."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats
from some_slow import some_slow

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import places
from ppl.tensor.sampling.binomial import binomial
from ppl.tensor.sampling.count_tables import MANY, drawn
from ppl.tensor.sampling.draws import von_mises
from ppl.tensor.sampling.gamma_draws import log_gamma
from ppl.tensor.sampling.hypergeometric import hypergeometric
from ppl.tensor.sampling.negative_binomial import negative_binomial
from ppl.tensor.sampling.poisson import poisson
from ppl.tensor.sampling.truncated_normal import truncated_normal


@pytest.fixture(autouse=True)
def _doubles():
    with jax.enable_x64(True):
        yield


def test_the_logarithm_is_right_to_three_units_in_the_last_place():
    rng = np.random.default_rng(1)
    x = np.r_[rng.random(10_000) * 10.0 ** rng.integers(-300, 300, 10_000), 1.0, 2.0**-53, 1 - 2.0**-53, np.sqrt(2)]
    truth = np.log(x)
    assert np.all(np.abs(np.asarray(standard.log(x)) - truth) <= 3 * np.spacing(np.abs(truth)))


def test_the_normal_quantile_is_right_to_twelve_digits_in_the_last_tail():
    u = np.r_[2.0**-53, 1e-15, 1e-12, np.geomspace(1e-11, 0.5, 500, endpoint=False), 0.5 + 2.0**-53]
    truth = special.ndtri(u)
    found = np.asarray(standard._normal_quantile(u))
    assert np.all(np.abs(found - truth) <= np.where(u < 1e-11, 1e-12, 2e-15) * np.abs(truth) + 1e-16)
    ends = 2.0 ** -np.array([53, 40, 30, 4])
    below, above = (np.asarray(standard._normal_quantile(each)) for each in (ends, 1 - ends))
    np.testing.assert_array_equal(above, -below)


def test_the_normal_quantile_of_a_logarithm_is_right_far_out():
    log_u = np.r_[-np.geomspace(1e-4, 725, 500), -1e-12]
    found = np.asarray(standard.normal_quantile_of_log(log_u))
    np.testing.assert_allclose(special.log_ndtr(found[:-1]), log_u[:-1], rtol=2e-14, atol=1e-16)
    assert abs(found[-1] - special.ndtri(1 - 1e-12)) < 1e-4


def test_no_draw_in_single_precision_is_infinite():
    key, shape = jax.random.key(7), (2**18,)
    assert jnp.min(jax.random.uniform(key, shape, jnp.float32)) == 0, "a key of which no draw is 0 shows nothing"
    for share in (0.5, 1.0):
        found = standard.two_sided(key, share, shape=shape, dtype=np.dtype("float32"))
        assert bool(jnp.isfinite(found).all()) and found.dtype == np.float32


BOUNDS = [(-1.0, 2.0), (-1e10, 1e10), (0.5, 1e10), (8.0, 9.0), (-1e10, -7.0), (-60.0, -50.0), (3.0, 3.0 + 1e-9)]


@jax.jit
def _with_slopes(low, high):
    draw = functools.partial(truncated_normal.sample, jax.random.key(11), shape=(20_000,), dtype=np.dtype("float64"))
    z, slope = jax.jvp(draw, (low, high), (1.0, 0.0))
    return z, slope, jax.jvp(draw, (low, high), (0.0, 1.0))[1]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_truncated_normals_follow_their_law_and_move_with_their_bounds(low, high):
    z, slopes, other = map(np.asarray, _with_slopes(low, high))
    assert np.all((z >= low) & (z <= high))
    turned = low + high > 0
    x, a, b = (-z, -high, -low) if turned else (z, low, high)
    part = lambda x: -np.expm1(special.log_ndtr(x) - special.log_ndtr(b))  # of the mass below b, what lies above x
    below = part(x) / part(a)
    assert stats.kstest(below, "uniform").pvalue > 1e-4
    assert np.all(slopes >= 0) and np.all(other >= 0) and np.isfinite(slopes + other).all()


def test_sine_and_cosine_are_right_over_the_quarter_turn_and_the_arctangent_on_the_line():
    a = np.linspace(0, 1, 1001)
    sine, cosine = map(np.asarray, standard.sine_and_cosine_of_quarter_turn(a))
    np.testing.assert_allclose(sine, np.sin(np.pi / 2 * a), rtol=5e-16)
    np.testing.assert_allclose(cosine, np.cos(np.pi / 2 * a), atol=5e-16)
    x = np.concatenate([np.geomspace(1e-300, 1e300, 2001), np.linspace(0, 4, 2001)])
    for each in (x, -x):
        np.testing.assert_allclose(np.asarray(standard.arctan(each)), np.arctan(each), rtol=1e-15)


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.05, 0.9, 1.0])
def test_places_are_those_of_the_true_entries(share):
    mask = np.random.default_rng(2).random(5000) < share
    found, truth = np.asarray(places(mask, 320)), np.flatnonzero(mask)[:320]
    np.testing.assert_array_equal(found[: len(truth)], truth)
    assert np.all(found[len(truth) :] >= 5000) and np.all(np.diff(found) > 0)


def test_each_of_many_entries_follows_its_own_law():
    shapes = (0.3, 1.0, 5.0, 1e6)
    x = np.asarray(log_gamma((20_000,), jax.random.key(3), np.tile(shapes, 5000)))
    for i, alpha in enumerate(shapes):
        assert stats.kstest(np.exp(x[i::4]), stats.gamma(alpha).cdf).pvalue > 1e-4


@functools.partial(jax.jit, static_argnums=(0, 2))
def _counts(sample, key, n, *parameters):
    return sample(key, *parameters, shape=(n,), dtype=np.dtype("int64"))


def counts(sample, seed, n, *parameters):
    return np.asarray(_counts(sample, jax.random.key(seed), n, *map(jnp.asarray, parameters)))


COUNTS = {
    "Poisson": (poisson.sample, stats.poisson, [(0.3,), (9.9,), (10.0,), (57.0,), (1e6,), (1e15,)]),
    "binomial": (binomial.sample, stats.binom, [
        (7, 0.3), (40, 0.2), (40, 0.3), (1000, 0.9), (10**7, 1e-7), (10**9, 0.4), (10**12, 0.999)]),
    "hypergeometric": (hypergeometric.sample, lambda good, bad, n: stats.hypergeom(good + bad, good, n), [
        (20, 30, 10), (3, 50, 40), (50, 3, 40), (2000, 3000, 1000), (10**6, 10**6, 10**5), (7, 0, 3), (4, 5, 9)]),
    "negative binomial": (negative_binomial.sample, lambda n, odds: stats.nbinom(n, 1 / (1 + odds)), [
        (0.1, 1e-3), (0.3, 200.0), (3.0, 1.5), (50.0, 4.0), (1e8, 1e-7), (40.0, 1e5)]),
}  # fmt: skip


@pytest.mark.parametrize("law", some_slow(COUNTS, fast=lambda law: law == "Poisson"))
def test_counts_follow_their_law_one_by_one_and_side_by_side(law):
    """By their distribution function made continuous: one set of parameters for so many draws that a table pays, and a
    set for each. Few draws of one set are those that `tests/laws` asks of every family."""
    sample, truth, choices = COUNTS[law]
    n, rng = 20_000, np.random.default_rng(7)
    rows = [np.repeat([float(each[i]) for each in choices], n) for i in range(len(choices[0]))]
    together = counts(sample, 8, rows[0].size, *rows)
    for i, parameters in enumerate(choices):
        alone = counts(sample, 9, MANY, *map(float, parameters))
        for x in (alone, together[i * n : (i + 1) * n]):
            below, at = truth(*parameters).cdf(x - 1), truth(*parameters).pmf(x)
            assert stats.kstest(below + at * rng.random(x.size), "uniform").pvalue > 1e-5, parameters


def test_positions_are_drawn_as_often_as_their_weights():
    """Also those that share a bucket of the table, and none of weight zero."""
    weights = np.r_[0.0, np.geomspace(1, 1e-6, 300), 0.0, 3.0, 0.0]
    n = 1_000_000
    seen = np.bincount(np.asarray(drawn(jax.random.key(6), (n,), jnp.asarray(weights))).astype(int), minlength=304)
    expected = n * weights / weights.sum()
    assert not seen[weights == 0].any()
    common = expected > 5
    scaled = np.r_[expected[common], expected[~common].sum()]
    assert stats.chisquare(np.r_[seen[common], seen[~common].sum()], scaled).pvalue > 1e-4


def test_counts_of_no_law_are_minus_one():
    assert list(counts(poisson.sample, 1, 3, np.array([np.nan, -1.0, 0.0]))) == [-1, -1, 0]
    assert list(counts(binomial.sample, 1, 4, np.array([3, -1, 5, 5.0]), np.array([1.5, 0.5, 0, 1]))) == [-1, -1, 0, 5]
    assert list(counts(hypergeometric.sample, 1, 2, 3.0, 2.0, np.array([9.0, -1.0]))) == [-1, -1]


def test_draws_over_many_keys_are_those_of_each_key():
    keys = jax.random.split(jax.random.key(4), 3)
    draw = lambda key: log_gamma((5000,), key, 2.5)
    together, one_by_one = jax.jit(lambda keys: (jax.vmap(draw)(keys), jax.lax.map(draw, keys)))(keys)
    np.testing.assert_array_equal(together, one_by_one)


def test_what_has_no_law_is_nan_and_the_ends_are_what_they_tend_to():
    found = np.asarray(log_gamma((4,), jax.random.key(5), np.array([0.0, -1.0, np.inf, np.nan])))
    np.testing.assert_array_equal(found, [-np.inf, np.nan, np.inf, np.nan])
    angles = np.asarray(von_mises.sample(jax.random.key(5), np.array([np.nan, 2.0, -1.0]), shape=(3,), dtype="float64"))
    np.testing.assert_array_equal(np.isnan(angles), [True, False, True])
