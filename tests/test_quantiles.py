"""Quantiles of laws without a formula for them, and where a formula loses its digits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import FAMILIES
from ppl.tensor.sampling.roots import first_root

Q = np.array([1e-300, 1e-20, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9])


def quantiles(rv: Any, q: Any = Q) -> np.ndarray:
    return np.asarray(pm.icdf(rv, q).eval())


# --- the search
@pytest.mark.parametrize("root", [-np.inf, -1.7e308, -3.0, -1e-300, 0.0, 2.3e-308, 1e-5, 1.0, 1e300, np.inf])
def test_a_float_is_found_exactly(root: float) -> None:
    assert first_root(lambda x: tt.switch(x >= root, 1.0, -1.0), -np.inf, np.inf, "float64").eval() == root


@pytest.mark.parametrize("root", [-(2**60), -7, -1, 0, 1, 2, 3, 1000, 2**60])
@pytest.mark.parametrize("ends", [(-(2**62), 2**62), (-(2**61), 2**60), (-7, 1000), (0, 2**62)])
def test_a_count_is_found_exactly_between_ends(root: int, ends: tuple[int, int]) -> None:
    found = first_root(lambda x: tt.switch(x >= root, 1.0, -1.0), *ends, "int64").eval()
    assert found == min(max(root, ends[0]), ends[1])


def test_a_root_has_the_derivatives_of_the_implicit_function() -> None:
    a = tt.dscalar("a")
    x = first_root(lambda x: x**3 - a, 0.0, np.inf, "float64")
    first = tt.grad(x, a)
    found = function([a], [x, first, tt.grad(first, a)])(8.0)
    np.testing.assert_allclose(found, [2.0, 1 / 12, -1 / 144], rtol=1e-12)


# --- in the tails
FROM_SCIPY = {
    "Wald": ({"mu": 2.0, "lam": 1.0}, stats.invgauss(2.0)),
    "ExGaussian": ({"mu": 0.5, "sigma": 2.0, "nu": 3.0}, stats.exponnorm(1.5, 0.5, 2.0)),
    "Poisson": ({"mu": 3.7}, stats.poisson(3.7)),
    "Binomial": ({"n": 10**9, "p": 1e-8}, stats.binom(10**9, 1e-8)),
    "NegativeBinomial": ({"mu": 3.0, "alpha": 4.0}, stats.nbinom(4.0, 4 / 7)),
    "BetaBinomial": ({"alpha": 2.0, "beta": 3.0, "n": 20}, stats.betabinom(20, 2.0, 3.0)),
    "HyperGeometric": ({"N": 50, "k": 10, "n": 20}, stats.hypergeom(50, 10, 20)),
}


@pytest.mark.parametrize("name", FROM_SCIPY)
def test_a_searched_quantile_is_scipys(name: str) -> None:
    parameters, frozen = FROM_SCIPY[name]
    rv = FAMILIES[name].dist(**parameters)
    assert not FAMILIES[name].icdf
    x = quantiles(rv)
    off = np.abs(np.log(frozen.cdf(x)) - np.log(Q))
    if rv.dtype[0] == "f":  # SciPy's own quantiles lose digits beside 0 and 1
        assert np.all((np.abs(x - frozen.ppf(Q)) <= 1e-8 * np.abs(x)) | (off <= 1e-10))
    else:
        assert np.array_equal(x, frozen.ppf(Q))


def test_quantiles_of_a_count_take_its_distribution_function_back() -> None:
    counts = np.arange(200)
    rv = pm.Poisson.dist(40.0)
    assert np.array_equal(quantiles(rv, np.exp(pm.logcdf(rv, counts[:80]).eval())), counts[:80])


@pytest.mark.parametrize("bounds", [(10.0, None), (40.0, 41.0), (None, -38.0), (-1.0, 2.0)])
def test_truncation_far_out_keeps_its_digits(bounds: Any) -> None:
    rv = pm.Truncated.dist(pm.Normal.dist(0.0, 1.0), lower=bounds[0], upper=bounds[1])
    with mpmath.workdps(60):
        low, high = (mpmath.mpf(b) if b is not None else mpmath.inf * s for b, s in zip(bounds, (-1, 1), strict=True))
        # in the tail: P(a ≤ Z ≤ x) by the complementary function, where nothing cancels at 60 digits
        mass = lambda a, b: mpmath.ncdf(b) - mpmath.ncdf(a) if b < 0 else mpmath.ncdf(-a) - mpmath.ncdf(-b)
        x = quantiles(rv, Q[2:])
        share = np.array([float(mass(low, mpmath.mpf(float(each))) / mass(low, high)) for each in x])
    rounding = 4 * np.spacing(np.abs(x)) * (1 + np.abs(x))  # of x, times the highest density
    assert np.all(np.abs(share - Q[2:]) <= 1e-10 * Q[2:] + rounding), share / Q[2:] - 1
    draws = pm.draw(rv, 1000, random_seed=1)
    inside = (draws >= (bounds[0] or -np.inf)) & (draws <= (bounds[1] or np.inf)) & np.isfinite(draws)
    assert inside.all() and len(np.unique(draws)) > 990


def test_a_falling_map_takes_the_upper_tail() -> None:
    rv = pm.Normal.dist(0.0, 1.0)
    np.testing.assert_allclose(quantiles(-rv), stats.norm.ppf(Q), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        quantiles(1 / pm.Gamma.dist(2.0, 3.0)), quantiles(pm.InverseGamma.dist(2.0, 3.0)), rtol=1e-9
    )
    assert np.array_equal(quantiles(-pm.Poisson.dist(3.0), np.array([0.1, 0.5, 0.99])), [-5, -3, 0])


def test_laws_of_expressions_have_quantiles_where_they_have_a_distribution_function() -> None:
    largest = tt.max(pm.Normal.dist(0.0, 1.0, size=5))
    np.testing.assert_allclose(quantiles(largest, np.array(1e-20)), stats.norm.ppf(1e-20**0.2), rtol=1e-12)
    mixture = pm.Mixture.dist([0.3, 0.7], [pm.Normal.dist(0.0, 1.0), pm.Normal.dist(5.0, 2.0)])
    x = quantiles(mixture)
    np.testing.assert_allclose(pm.logcdf(mixture, x).eval()[:-1], np.log(Q[:-1]), rtol=1e-12)
    assert np.array_equal(quantiles(pm.ZeroInflatedPoisson.dist(0.7, 4.0), np.array([0.1, 0.31, 0.9])), [0, 0, 6])
    hurdle = quantiles(pm.HurdleGamma.dist(0.6, 2.0, 1.0), np.array([0.1, 0.4, 0.7]))
    np.testing.assert_allclose(hurdle, [0.0, 0.0, stats.gamma(2.0).ppf(0.5)], atol=1e-14)


def test_a_quantile_has_derivatives_in_the_parameters() -> None:
    mu, q = tt.dscalar("mu"), tt.dscalar("q")
    x = pm.icdf(pm.Wald.dist(mu, 2.0), q)
    f = function([mu, q], [x, tt.grad(x, mu), tt.grad(tt.grad(x, mu), mu), tt.grad(tt.grad(x, q), q)])
    h = 1e-4
    at = lambda mu, q: float(f(mu, q)[0])
    _, slope, bend, bend_q = f(1.0, 0.3)
    assert abs(slope - (at(1 + h, 0.3) - at(1 - h, 0.3)) / (2 * h)) < 1e-7
    assert abs(bend - (at(1 + h, 0.3) - 2 * at(1, 0.3) + at(1 - h, 0.3)) / h**2) < 1e-5
    assert abs(bend_q - (at(1, 0.3 + h) - 2 * at(1, 0.3) + at(1, 0.3 - h)) / h**2) < 1e-5


def test_what_has_neither_says_so() -> None:
    rv = pm.Normal.dist(0.0, 1.0) + pm.StudentT.dist(3.0)
    with pytest.raises(NotImplementedError, match="No density"):
        pm.icdf(rv, 0.5)
    with pytest.raises(NotImplementedError, match="quantile"):
        pm.icdf(pm.Dirichlet.dist(np.ones(3)), 0.5)
