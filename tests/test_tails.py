"""Distribution functions that PyMC has not, against integrals with 40 digits, far into the tails."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function

mp = mpmath


def agree(mine: np.ndarray, truth: list[Any]) -> None:
    wanted = np.array([float(t) for t in truth])
    assert np.all(np.abs(mine - wanted) <= 1e-12 + 1e-10 * np.abs(wanted)), (mine, wanted)


def at(rv: Callable[..., Any], tail: Callable[..., Any], points: list[tuple[float, ...]]) -> np.ndarray:
    """A tail at points (x, *parameters), with finite gradients in all of them."""
    columns = [tt.dvector() for _ in points[0]]
    value = tail(rv(*columns[1:]), columns[0])
    value, *slopes = function(columns, [value, *tt.grad(tt.sum(value), columns)])(
        *map(np.array, zip(*points, strict=True))
    )
    assert all(np.isfinite(slope).all() for slope in slopes)
    return value


# --- skew normal: F(-y) is an integral of a falling function, F(y) = F(-y) + erf(y/√2), and -α turns it round
def _skew_below(x: Any, alpha: Any) -> Any:
    if alpha < 0:
        return 1 - _skew_below(-x, -alpha)
    if x > 0:
        return _skew_below(-x, alpha) + mp.erf(x / mp.sqrt(2))
    slope = -x + alpha * mp.npdf(alpha * x) / mp.ncdf(alpha * x) if alpha * -x < 1e3 else -x * (1 + alpha**2)
    ends = [x - k * min(1 / slope if slope else 1, 1) for k in (100, 50, 20, 8, 3, 1, 0)]
    return mp.quad(lambda u: 2 * mp.npdf(u) * mp.ncdf(alpha * u), ends)


def test_skew_normal() -> None:
    points = list(itertools.product((-40.0, -5.0, -1e-3, 0.0, 1e-9, 0.3, 2.0, 8.0), (-50.0, -0.1, 0.0, 0.5, 3.0, 1e3)))
    rv = lambda alpha: pm.SkewNormal.dist(alpha, 0.0, 1.0)
    with mp.workdps(60):
        below = [_skew_below(mp.mpf(x), mp.mpf(a)) for x, a in points]
        kept = [
            i for i, t in enumerate(below) if points[i][1] >= 0 or (t > mp.mpf(10) ** -40 and 1 - t > mp.mpf(10) ** -20)
        ]
        agree(at(rv, pm.logcdf, [points[i] for i in kept]), [mp.log(below[i]) for i in kept])
        mirrored = [(-x, -a) for x, a in (points[i] for i in kept)]
        agree(at(rv, pm.logccdf, mirrored), [mp.log(below[i]) for i in kept])


# --- Rice: a mixture of gammas with Poisson weights
def _rice_below(r: Any, a: Any) -> Any:
    rate, half = a**2 / 2, r**2 / 2
    weight = lambda j: mp.exp(-rate + j * mp.log(rate) - mp.loggamma(j + 1)) if rate else mp.mpf(j == 0)
    return mp.fsum(weight(j) * mp.gammainc(j + 1, 0, half, regularized=True) for j in range(int(rate + 12 * a) + 120))


@pytest.mark.slow
def test_rice() -> None:
    points = list(itertools.product((1e-100, 1e-3, 0.7, 2.0, 5.0, 9.0), (1e-10, 0.5, 3.0, 7.0)))
    rv = lambda a: pm.Rice.dist(nu=3 * a, sigma=3.0)
    scaled = [(3 * r, a) for r, a in points]
    with mp.workdps(60):
        below = [_rice_below(mp.mpf(r), mp.mpf(a)) for r, a in points]
        agree(at(rv, pm.logcdf, scaled), [mp.log(t) for t in below])
        above = [i for i, t in enumerate(below) if 1 - t > mp.mpf(10) ** -40]
        agree(at(rv, pm.logccdf, [scaled[i] for i in above]), [mp.log(1 - below[i]) for i in above])


# --- von Mises: the integral over the pieces between the mode, the antimode and where the density bends
def _von_mises_below(x: Any, mu: Any, kappa: Any) -> Any:
    center = mp.atan2(mp.sin(mu), mp.cos(mu))
    scales = [k * width for width in (1 / kappa, 1 / mp.sqrt(kappa)) for k in (1, 5, 20, 100)]
    marks = {center, center - mp.pi, center + mp.pi} | {
        p + s * w for p in (center, x, -mp.pi) for s in (-1, 1) for w in scales
    }
    ends = sorted({-mp.pi, x} | {p for p in marks if -mp.pi < p < x})
    density = lambda u: mp.exp(-2 * kappa * mp.sin((u - mu) / 2) ** 2)
    return mp.quad(density, ends) / (2 * mp.pi * mp.besseli(0, kappa) * mp.exp(-kappa))


@pytest.mark.slow
def test_von_mises() -> None:
    points = list(itertools.product((-3.1, -1.0, 0.3, 2.5), (-3.0, 0.1, 2.5, 7.0), (1e-3, 1.0, 20.0, 500.0)))
    rv = lambda mu, kappa: pm.VonMises.dist(mu, kappa)
    with mp.workdps(40):
        truth = [mp.log(_von_mises_below(*map(mp.mpf, point))) for point in points]
    agree(at(rv, pm.logcdf, points), truth)
    agree(at(rv, pm.logccdf, [(-x, -mu, kappa) for x, mu, kappa in points]), truth)


# --- Skellam: the sum over one of the two Poisson numbers
@pytest.mark.parametrize("means", [(3.0, 2.0), (1e-3, 50.0), (400.0, 3.0)])
def test_skellam(means: tuple[float, float]) -> None:
    m1, m2 = map(mp.mpf, means)
    poisson = lambda k, m: mp.exp(k * mp.log(m) - m - mp.loggamma(k + 1))
    middle, spread = int(m1 - m2), int(mp.sqrt(m1 + m2)) + 1
    x = np.unique([middle + int(s * spread) for s in (-6, -3, -1, 0, 1, 3, 8)])
    x = x[x > -int(m2) - 200]
    with mp.workdps(60):
        first = lambda least: mp.gammainc(least, 0, m1, regularized=True) if least > 0 else mp.mpf(1)  # P(X₁ ≥ least)
        others = range(int(m2 + 15 * mp.sqrt(m2)) + 150)
        above = [mp.fsum(poisson(k, m2) * first(k + int(each) + 1) for k in others) for each in x]
    agree(pm.logccdf(pm.Skellam.dist(*means), x).eval(), [mp.log(a) for a in above])
    below = [i for i, a in enumerate(above) if 1 - a > mp.mpf(10) ** -30]
    with mp.workdps(60):
        agree(pm.logcdf(pm.Skellam.dist(*means), x[below]).eval(), [mp.log(1 - above[i]) for i in below])


def _skellam_above(x: int, m1: Any, m2: Any) -> Any:
    """P(X > x) for x above the mean: the generating function up a line through its saddle point."""
    x = x + 1
    point = mp.log((x + mp.sqrt(x * x + 4 * m1 * m2)) / (2 * m1))
    point = max(point, 1 / mp.sqrt(m1 + m2))
    exponent = lambda s: m1 * mp.expm1(s) + m2 * mp.expm1(-s) - s * x
    top = exponent(point)
    f = lambda t: mp.re(mp.exp(exponent(mp.mpc(point, t)) - top) / (1 - mp.exp(-mp.mpc(point, t))))
    spread = 1 / mp.sqrt(m1 * mp.exp(point) + m2 * mp.exp(-point))
    return mp.exp(top) * mp.quad(f, [min(k * spread, mp.pi) for k in (0, 1, 2, 4, 7, 11, 16)]) / mp.pi


@pytest.mark.slow
@pytest.mark.parametrize("means", [(1e9, 1e9), (1e9, 3.0), (2e4, 1e9)])
def test_skellam_at_means_of_a_billion(means: tuple[float, float]) -> None:
    middle, spread = int(means[0] - means[1]), int((means[0] + means[1]) ** 0.5)
    x = np.array([middle + k * spread for k in (1, 3, 8)])
    with mp.workdps(40):
        above = [_skellam_above(int(each), *map(mp.mpf, means)) for each in x]
    agree(pm.logccdf(pm.Skellam.dist(*means), x).eval(), [mp.log(a) for a in above])
    agree(pm.logcdf(pm.Skellam.dist(*means), x).eval(), [mp.log(1 - a) for a in above])


# --- beta numbers within counts: P(X > x) is a sum of n terms, where n is whole
@pytest.mark.slow
def test_beta_negative_binomial_up_to_a_million_million() -> None:
    chosen = [(0.3, 2.5), (2.5, 0.3), (2.5, 1e4), (40.0, 40.0), (1e4, 2.5), (1e-3, 0.3)]
    rows = [(a, b, n, x) for a, b in chosen for n in (1, 3, 40) for x in (0, 50, 10_000, 10**9, 10**12)]

    def above(a: Any, b: Any, n: int, x: int) -> Any:
        log_beta = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
        ways = lambda k: mp.loggamma(x + n + 1) - mp.loggamma(k + 1) - mp.loggamma(x + n - k + 1)
        a, b = mp.mpf(a), mp.mpf(b)
        return mp.fsum(mp.exp(ways(k) + log_beta(a + k, b + x + n - k) - log_beta(a, b)) for k in range(n))

    with mp.workdps(200):
        truth = [above(*row) for row in rows]
        logs = [mp.log(p) for p in truth], [mp.log1p(-p) for p in truth]
    a, b, n, x = map(np.array, zip(*rows, strict=True))
    law = pm.BetaNegativeBinomial.dist(a, b, n)
    agree(pm.logccdf(law, x).eval(), logs[0])
    agree(pm.logcdf(law, x).eval(), logs[1])


@pytest.mark.slow
def test_tails_of_counts_of_a_billion_are_integrals_or_few_terms() -> None:
    """P(X ≤ x) of a count of successes is P(Y > x) of the failures before so many; and sums that end are the same."""
    n, x = 10**9, np.array([10, 10**6, 4 * 10**8, 10**9 - 3])
    failures = pm.logcdf(pm.BetaNegativeBinomial.dist(3.0, 2.0, x + 1.0), n - x - 1).eval()
    successes = pm.BetaBinomial.dist(3.0, 2.0, n)
    np.testing.assert_allclose(pm.logccdf(successes, x).eval(), failures, rtol=1e-10, atol=1e-12)
    q = np.exp(pm.logcdf(successes, x[1:3]).eval())
    np.testing.assert_array_equal(pm.icdf(successes, q).eval(), x[1:3])
    taken = pm.HyperGeometric.dist(10**9, 5 * 10**8, 4 * 10**8)
    z = np.array([-6.0, -1.0, 0.5, 3.0])
    at = 2 * 10**8 + np.round(z * np.sqrt(6e7)).astype(int)
    exact = stats.norm.logcdf((at + 0.5 - 2e8) / np.sqrt(6e7))  # to about 1e-4 at these counts
    np.testing.assert_allclose(pm.logcdf(taken, at).eval(), exact, rtol=1e-3)


def test_a_sum_of_constants_within_the_loop_of_a_search() -> None:
    assert pm.icdf(pm.Skellam.dist(10.0, 9.0), 0.3).eval() == -1


# --- Pólya-gamma: the alternating series of inverse Gaussian tails, in as many digits as it loses
def _polya_gamma_below(x: Any, h: Any, z: Any) -> Any:
    phi, root, total, n, term = (lambda t: mp.erfc(t / mp.sqrt(2)) / 2), mp.sqrt(x), mp.mpf(0), 0, mp.mpf(1)
    while n < 6 or abs(term) > mp.mpf(10) ** -75:
        a, weight = n + h / 2, (-1) ** n * mp.rf(h, n) / mp.factorial(n)
        term = weight * (mp.exp(-a * z) * phi((a - z * x) / root) + mp.exp(a * z) * phi((a + z * x) / root))
        total, n = total + term, n + 1
    return (2 * mp.cosh(z / 2)) ** h * total


def test_polya_gamma() -> None:
    shapes, places = (1e-6, 1e-4, 0.02, 0.1, 0.49, 0.51, 2.5), (1e-7, 1e-4, 0.02, 0.3, 0.6, 1.0, 2.0)
    points = list(itertools.product(places, shapes, (0.0, 1.3, 20.0)))
    rv = lambda h, z: pm.PolyaGamma.dist(h, z)
    with mp.workdps(80):
        below = [_polya_gamma_below(*map(mp.mpf, point)) for point in points]
        kept = [i for i, b in enumerate(below) if mp.mpf(10) ** -60 < b < 1 - mp.mpf(10) ** -60]
        points, below = [points[i] for i in kept], [below[i] for i in kept]
        tails = [mp.log(b) for b in below], [mp.log(1 - b) for b in below]
    for f, truth in zip((pm.logcdf, pm.logccdf), tails, strict=True):
        agree(at(rv, f, points), truth)


# --- Pólya-gamma: both tails have the density as their slope, on both sides of the mean
def test_tails_of_polya_gamma_have_the_density_as_slope() -> None:
    columns = x, h, z = tt.dvector(), tt.dvector(), tt.dvector()
    rv = pm.PolyaGamma.dist(h, z)
    below, above = pm.logcdf(rv, x), pm.logccdf(rv, x)
    f = function(columns, [below, above, *[tt.grad(tt.sum(tail), x) for tail in (below, above)], pm.logp(rv, x)])
    ratios, shapes, tilts = (
        (0.5, 0.9, 0.97, 0.99999, 1.003, 1.05, 1.17, 1.5, 2.0),
        (1e-4, 0.1, 0.3, 1.0, 2.5, 40.0, 1e4),
        (1e-9, 1.3, 20.0),
    )
    points = [(r * b / (2 * c) * np.tanh(c / 2), b, c) for r, b, c in itertools.product(ratios, shapes, tilts)]
    below, above, rise, fall, density = f(*map(np.array, zip(*points, strict=True)))
    np.testing.assert_allclose(np.exp(below) + np.exp(above), 1, rtol=1e-14)
    np.testing.assert_allclose(rise, np.exp(density - below), rtol=1e-10)
    np.testing.assert_allclose(-fall, np.exp(density - above), rtol=1e-10)


def test_the_difference_of_what_is_nothing_is_nothing():
    a, b = tt.dscalar("a"), tt.dscalar("b")
    slopes = pm.grad(tt.logdiffexp(a, b), [a, b])
    for more, value in ((-np.inf, -np.inf), (0.5, 0.5), (np.inf, np.inf)):
        at = {a: more, b: -np.inf}
        assert tt.logdiffexp(a, b).eval(at) == pm.math.logdiffexp(a, b).eval(at) == value
        assert [s.eval(at).item() for s in slopes] == [1.0, 0.0]
    assert np.isnan(tt.logdiffexp(a, b).eval({a: 0.0, b: 1.0}))
