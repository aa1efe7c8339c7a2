"""Functions of few numbers that NumPy lacks are done without loading SciPy, and have its values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special

from ppl.rewrites.values.by_numpy import FEW, _log_ndtr, _of_entries

EDGES = np.array([0.0, -0.0, 1.0, 0.5, -1.0, 2.0, 1e-300, np.inf, -np.inf, np.nan])
PLACES = {
    "gammaln": np.logspace(-300, 300, 61),
    "log_ndtr": np.concatenate([-np.logspace(-5, 9, 57), np.logspace(-5, 1.5, 27), [-20.0, 1.0]]),
    "logit": np.concatenate([np.logspace(-300, -1, 40), 1 - np.logspace(-15, -1, 40)]),
}


@pytest.mark.parametrize("name", PLACES)
def test_values_are_those_of_scipy(name):
    ours, theirs = _of_entries(name), getattr(scipy.special, name)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ours(PLACES[name]), theirs(PLACES[name]), rtol=1e-13)
        np.testing.assert_allclose(ours(EDGES), theirs(EDGES), rtol=1e-13)
        for each in EDGES:
            np.testing.assert_allclose(ours(np.array(each)), theirs(each), rtol=1e-13)
        many = np.repeat(PLACES[name], FEW)
        assert np.array_equal(ours(many), theirs(many)) or name == "logit"
        assert ours(PLACES[name].astype(np.float32)).dtype == np.float32


def test_products_with_logarithms_are_those_of_scipy():
    x, y = np.meshgrid(EDGES, EDGES)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(_of_entries("xlogy")(x, y), scipy.special.xlogy(x, y))


@pytest.mark.parametrize("x", PLACES["log_ndtr"])
def test_the_normal_tail_keeps_its_digits(x):
    with mpmath.workdps(40):
        other = mpmath.erfc(mpmath.mpf(abs(x)) / mpmath.sqrt(2)) / 2
        exact = mpmath.log1p(-other) if x > 0 else mpmath.log(other)
        assert abs(_log_ndtr(x) / exact - 1) < 1e-13
