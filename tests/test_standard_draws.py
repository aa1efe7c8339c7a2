"""What many draws are made of: functions that run in vectors, and rejection that moves the refused together."""

import jax
import numpy as np
import pytest
from scipy import special, stats

from ppl.tensor import standard_draws as standard
from ppl.tensor.acceptance import places
from ppl.tensor.draws import _loggamma


@pytest.fixture(autouse=True)
def _doubles():
    with jax.enable_x64(True):
        yield


def test_the_logarithm_is_right_to_the_last_place():
    rng = np.random.default_rng(1)
    x = np.r_[rng.random(10_000) * 10.0 ** rng.integers(-300, 300, 10_000), 1.0, 2.0**-53, 1 - 2.0**-53, np.sqrt(2)]
    truth = np.log(x)
    assert np.all(np.abs(np.asarray(standard.log(x)) - truth) <= 2 * np.spacing(np.abs(truth)))


def test_the_normal_quantile_is_right_to_twelve_digits_in_the_last_tail():
    u = np.r_[2.0**-53, 1e-15, 1e-12, np.geomspace(1e-11, 0.5, 500, endpoint=False), 0.5 + 2.0**-53]
    truth = special.ndtri(u)
    found = np.asarray(standard._normal_quantile(u))
    assert np.all(np.abs(found - truth) <= np.where(u < 1e-11, 1e-12, 2e-15) * np.abs(truth) + 1e-16)
    ends = 2.0 ** -np.array([53, 40, 30, 4])
    below, above = (np.asarray(standard._normal_quantile(each)) for each in (ends, 1 - ends))
    np.testing.assert_array_equal(above, -below)


def test_the_cosine_is_right_over_the_half_turn():
    a = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(np.asarray(standard.cosine_of_half_turn(a)), np.cos(np.pi * a), atol=5e-16)


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.05, 0.9, 1.0])
def test_places_are_those_of_the_true_entries(share):
    mask = np.random.default_rng(2).random(5000) < share
    found, truth = np.asarray(places(mask, 320)), np.flatnonzero(mask)[:320]
    np.testing.assert_array_equal(found[: len(truth)], truth)
    assert np.all(found[len(truth) :] >= 5000) and np.all(np.diff(found) > 0)


def test_each_of_many_entries_follows_its_own_law():
    shapes = (0.3, 1.0, 5.0, 1e6)
    x = np.asarray(_loggamma((20_000,), jax.random.key(3), np.tile(shapes, 5000)))
    for i, alpha in enumerate(shapes):
        assert stats.kstest(np.exp(x[i::4]), stats.gamma(alpha).cdf).pvalue > 1e-4


def test_draws_over_many_keys_are_those_of_each_key():
    keys = jax.random.split(jax.random.key(4), 3)
    together = jax.vmap(lambda key: _loggamma((5000,), key, 2.5))(keys)
    for key, row in zip(keys, together, strict=True):
        np.testing.assert_array_equal(np.asarray(row), np.asarray(_loggamma((5000,), key, 2.5)))


def test_what_has_no_law_is_nan_and_the_ends_are_what_they_tend_to():
    found = np.asarray(_loggamma((4,), jax.random.key(5), np.array([0.0, -1.0, np.inf, np.nan])))
    np.testing.assert_array_equal(found, [-np.inf, np.nan, np.inf, np.nan])
