"""Densities, distribution functions and quantiles against PyMC and SciPy, at ordinary and at extreme parameters and values.

Where the two differ from us by more than 1e-10 relative and 1e-12 absolute, mpmath with 40 digits is the judge; it must
find us right; where mpmath has no formula here, SciPy judges PyMC. EXCEPTIONS names what PyMC means otherwise.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from some_slow import every

import ppl.distributions as ppl_distributions
from ppl.compile import function
from ppl.distributions.declaration.domains import a_distribution
from ppl.tensor.tensor import TensorType, as_tensor, placeholder, value_of

pm = pytest.importorskip("pymc")

RELATIVE, ABSOLUTE = 1e-10, 1e-12
LINE = np.array(
    [-1e300, -1e10, -300.0, -40.0, -6.0, -1.0, -1e-3, 0.0, 1e-10, 0.3, 1.0, 2.5, 9.0, 50.0, 1e3, 1e8, 1e300]
)
HALF = np.array([1e-300, 1e-100, 1e-10, 1e-3, 0.1, 0.7, 1.0, 2.0, 5.0, 20.0, 100.0, 1e4, 1e10, 1e100, 1e300])
UNIT = np.array([1e-300, 1e-20, 1e-5, 0.1, 0.25, 0.5, 0.77, 0.99, 1 - 1e-9])
Q = np.array([1e-300, 1e-20, 1e-6, 0.01, 0.25, 0.5, 0.9, 0.999, 1 - 1e-9])

# family: parameters by name, values, SciPy's form of the same law
GRID: dict[str, tuple[list[dict[str, float]], np.ndarray, Any]] = {
    "Normal": ([{"mu": 0.3, "sigma": 2.0}, {"mu": -1e5, "sigma": 1e-3}], LINE, lambda mu, sigma: stats.norm(mu, sigma)),
    "HalfNormal": ([{"sigma": 1.5}, {"sigma": 1e-8}], HALF, lambda sigma: stats.halfnorm(scale=sigma)),
    "Uniform": ([{"lower": -1.0, "upper": 3.0}], LINE, lambda lower, upper: stats.uniform(lower, upper - lower)),
    "Exponential": ([{"lam": 0.7}, {"lam": 1e-9}, {"lam": 1e9}], HALF, lambda lam: stats.expon(scale=1 / lam)),
    "Gamma": (
        [{"alpha": a, "beta": b} for a, b in ((0.01, 1.0), (1.0, 2.0), (3.5, 0.1), (200.0, 10.0))], HALF,
        lambda alpha, beta: stats.gamma(alpha, scale=1 / beta),
    ),
    "InverseGamma": (
        [{"alpha": a, "beta": b} for a, b in ((0.1, 1.0), (2.5, 3.0), (50.0, 100.0))], HALF,
        lambda alpha, beta: stats.invgamma(alpha, scale=beta),
    ),
    "ChiSquared": ([{"nu": 0.5}, {"nu": 7.0}], HALF, lambda nu: stats.chi2(nu)),
    "Beta": (
        [{"alpha": a, "beta": b} for a, b in ((0.5, 0.5), (1.0, 3.0), (40.0, 7.0), (0.01, 200.0))], UNIT,
        lambda alpha, beta: stats.beta(alpha, beta),
    ),
    "Kumaraswamy": ([{"a": 2.0, "b": 3.0}, {"a": 0.3, "b": 20.0}], UNIT, None),
    "LogitNormal": ([{"mu": 0.3, "sigma": 1.7}], UNIT, None),
    "StudentT": (
        [{"nu": n, "mu": 0.5, "sigma": 2.0} for n in (0.3, 1.0, 4.0, 100.0, 1e6, 1e10)], LINE,
        lambda nu, mu, sigma: stats.t(nu, mu, sigma),
    ),
    "HalfStudentT": ([{"nu": 3.0, "sigma": 2.0}, {"nu": 1e6, "sigma": 0.1}], HALF, None),
    "SkewStudentT": ([{"a": 2.0, "b": 5.0, "mu": 0.1, "sigma": 1.5}], LINE, lambda a, b, mu, sigma: stats.jf_skew_t(a, b, mu, sigma)),
    "Cauchy": ([{"alpha": 0.5, "beta": 2.0}], LINE, lambda alpha, beta: stats.cauchy(alpha, beta)),
    "HalfCauchy": ([{"beta": 2.0}], HALF, lambda beta: stats.halfcauchy(scale=beta)),
    "Laplace": ([{"mu": 0.5, "b": 2.0}], LINE, lambda mu, b: stats.laplace(mu, b)),
    "AsymmetricLaplace": (
        [{"kappa": 0.5, "mu": 0.2, "b": 2.0}], LINE,
        lambda kappa, mu, b: stats.laplace_asymmetric(kappa, mu, 1 / b),
    ),
    "LogNormal": ([{"mu": 0.5, "sigma": 2.0}, {"mu": -3.0, "sigma": 0.01}], HALF, lambda mu, sigma: stats.lognorm(sigma, scale=np.exp(mu))),
    "Logistic": ([{"mu": 0.5, "s": 2.0}], LINE, lambda mu, s: stats.logistic(mu, s)),
    "Gumbel": ([{"mu": 0.5, "beta": 2.0}], LINE, lambda mu, beta: stats.gumbel_r(mu, beta)),
    "Moyal": ([{"mu": 0.5, "sigma": 2.0}], LINE, lambda mu, sigma: stats.moyal(mu, sigma)),
    "Weibull": ([{"alpha": 0.5, "beta": 2.0}, {"alpha": 9.0, "beta": 0.1}], HALF, lambda alpha, beta: stats.weibull_min(alpha, scale=beta)),
    "Pareto": ([{"alpha": 2.5, "m": 0.1}], HALF, lambda alpha, m: stats.pareto(alpha, scale=m)),
    "Rice": ([{"nu": 2.0, "sigma": 1.5}], HALF, lambda nu, sigma: stats.rice(nu / sigma, scale=sigma)),
    "SkewNormal": ([{"alpha": 3.0, "mu": 0.5, "sigma": 2.0}], LINE, lambda alpha, mu, sigma: stats.skewnorm(alpha, mu, sigma)),
    "Triangular": ([{"lower": -1.0, "upper": 4.0, "c": 0.5}], LINE, lambda lower, upper, c: stats.triang((c - lower) / (upper - lower), lower, upper - lower)),
    "TruncatedNormal": (
        [{"mu": 0.5, "sigma": 2.0, "lower": -1.0, "upper": 3.0}, {"mu": 0.0, "sigma": 1.0, "lower": 8.0, "upper": 60.0}], LINE,
        lambda mu, sigma, lower, upper: stats.truncnorm((lower - mu) / sigma, (upper - mu) / sigma, mu, sigma),
    ),
    "VonMises": ([{"mu": 0.5, "kappa": 2.0}, {"mu": 0.1, "kappa": 500.0}], np.linspace(-3.1, 3.1, 17), lambda mu, kappa: stats.vonmises(kappa, mu)),
    "Wald": ([{"mu": 2.0, "lam": 1.0}, {"mu": 1.0, "lam": 7.0}], HALF, lambda mu, lam: stats.invgauss(mu / lam, scale=lam)),
    "ExGaussian": ([{"mu": 0.5, "sigma": 2.0, "nu": 3.0}], LINE, lambda mu, sigma, nu: stats.exponnorm(nu / sigma, mu, sigma)),
    "BetaPrime": ([{"alpha": 2.0, "beta": 3.0}], HALF, lambda alpha, beta: stats.betaprime(alpha, beta)),
    "BurrXII": ([{"c": 2.0, "d": 3.0}], HALF, lambda c, d: stats.burr12(c, d)),
    "Lomax": ([{"alpha": 2.0, "m": 3.0}], HALF, lambda alpha, m: stats.lomax(alpha, scale=m)),
    "Rayleigh": ([{"sigma": 3.0}], HALF, lambda sigma: stats.rayleigh(scale=sigma)),
    "Frechet": ([{"alpha": 2.0, "s": 3.0}], HALF, lambda alpha, s: stats.invweibull(alpha, scale=s)),
    "LogLogistic": ([{"alpha": 2.0, "beta": 3.0}], HALF, lambda alpha, beta: stats.fisk(beta, scale=alpha)),
}  # fmt: skip

EXCEPTIONS = {
    ("VonMises", "logcdf", "SciPy"): "SciPy's begins at mu - π, ours at -π; tests/test_tails.py has it by integrals",
    ("Wald", "logcdf", "PyMC"): "PyMC 5.28 takes lam where the dispersion 1/lam belongs; SciPy agrees with us",
}
# points left out of the comparison
FLUSHED = {("Exponential", "logcdf"): lambda x, lam: x < 2.2e-308 / lam}  # products that XLA on CPU flushes to zero
CASES = [(name, i) for name, (parameters, _, _) in GRID.items() for i in range(len(parameters))]
OURS = {"logp": "log_density", "logcdf": "log_cdf", "icdf": "inverse_cdf"}
SCIPY = {"logp": "logpdf", "logcdf": "logcdf", "icdf": "ppf"}


@functools.cache
def ours(name: str, number: int, fact: str) -> np.ndarray:
    family = getattr(ppl_distributions, name)
    parameters, values, _ = GRID[name]
    points = Q if fact == "icdf" else values
    x = placeholder(TensorType("float64", points.shape))
    return function([x], getattr(family, OURS[fact])(x, *family.dist(**parameters[number]).parameters))(points)


def pymc(name: str, number: int, fact: str) -> np.ndarray:
    parameters, values, _ = GRID[name]
    given = {key: np.float64(value) for key, value in parameters[number].items()}  # else PyTensor computes in float32
    draw = getattr(pm, name).dist(**given)
    return np.asarray(getattr(pm, fact)(draw, Q if fact == "icdf" else values).eval(mode="FAST_COMPILE"))


def scipy(name: str, number: int, fact: str) -> np.ndarray:
    parameters, values, frozen = GRID[name]
    return np.asarray(getattr(frozen(**parameters[number]), SCIPY[fact])(Q if fact == "icdf" else values))


def near(a: Any, b: Any) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (a == b) | (np.abs(a - b) <= ABSOLUTE + RELATIVE * np.abs(b))


def judged(name: str, number: int, fact: str, point: float) -> Any:
    """The value with 40 digits; None where there is no judge."""
    mpmath.mp.dps = 40
    p = {key: mpmath.mpf(value) for key, value in GRID[name][0][number].items()}
    if name not in JUDGES:
        return None
    density, below = JUDGES[name]
    x = mpmath.mpf(float(point))
    if fact == "logp":
        return None if density is None else density(x, **p)
    return mpmath.log(below(x, **p)) if below is not None and fact == "logcdf" else None


def _t_density(x: Any, nu: Any, mu: Any, sigma: Any) -> Any:
    z = (x - mu) / sigma
    constant = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2) - mpmath.log(mpmath.pi * nu) / 2
    return constant - mpmath.log(sigma) - (nu + 1) / 2 * mpmath.log1p(z**2 / nu)


def _t_below(x: Any, nu: Any, mu: Any, sigma: Any) -> Any:
    z = (x - mu) / sigma
    if nu > 1e5:
        return (
            mpmath.ncdf(z)
            if nu > 1e30
            else mpmath.quad(lambda u: mpmath.exp(_t_density(u, nu, 0, 1)), [z - 40, z - 8, z])
        )
    tail = mpmath.betainc(nu / 2, mpmath.mpf(1) / 2, 0, nu / (nu + z**2), regularized=True) / 2
    return tail if z < 0 else 1 - tail


def _jones_faddy(x: Any, a: Any, b: Any, mu: Any, sigma: Any) -> Any:
    z = (x - mu) / sigma
    t = 2 * mpmath.asinh(z / mpmath.sqrt(a + b))
    powers = -(a + 0.5) * mpmath.log1p(mpmath.exp(-t)) - (b + 0.5) * mpmath.log1p(mpmath.exp(t))
    return powers + 2 * mpmath.log(2) - mpmath.log(mpmath.beta(a, b)) - mpmath.log(a + b) / 2 - mpmath.log(sigma)


def _jones_faddy_below(x: Any, a: Any, b: Any, mu: Any, sigma: Any) -> Any:
    t = 2 * mpmath.asinh((x - mu) / sigma / mpmath.sqrt(a + b))
    if t > 0:
        return 1 - mpmath.betainc(b, a, 0, 1 / (1 + mpmath.exp(t)), regularized=True)
    return mpmath.betainc(a, b, 0, 1 / (1 + mpmath.exp(-t)), regularized=True)


JUDGES: dict[str, tuple[Any, Any]] = {
    "Normal": (lambda x, mu, sigma: mpmath.log(mpmath.npdf(x, mu, sigma)), lambda x, mu, sigma: mpmath.ncdf(x, mu, sigma)),
    "HalfNormal": (lambda x, sigma: mpmath.log(2 * mpmath.npdf(x, 0, sigma)), lambda x, sigma: mpmath.erf(x / sigma / mpmath.sqrt(2))),
    "Gamma": (
        lambda x, alpha, beta: alpha * mpmath.log(beta) - mpmath.loggamma(alpha) + (alpha - 1) * mpmath.log(x) - beta * x,
        lambda x, alpha, beta: mpmath.gammainc(alpha, 0, beta * x, regularized=True),
    ),
    "ChiSquared": (None, lambda x, nu: mpmath.gammainc(nu / 2, 0, x / 2, regularized=True)),
    "InverseGamma": (
        lambda x, alpha, beta: alpha * mpmath.log(beta) - mpmath.loggamma(alpha) - (alpha + 1) * mpmath.log(x) - beta / x,
        lambda x, alpha, beta: mpmath.gammainc(alpha, beta / x, regularized=True),
    ),
    "Beta": (
        lambda x, alpha, beta: (alpha - 1) * mpmath.log(x) + (beta - 1) * mpmath.log1p(-x) - mpmath.log(mpmath.beta(alpha, beta)),
        lambda x, alpha, beta: mpmath.betainc(alpha, beta, 0, x, regularized=True),
    ),
    "StudentT": (_t_density, _t_below),
    "SkewStudentT": (_jones_faddy, _jones_faddy_below),
    "Frechet": (
        lambda x, alpha, s: mpmath.log(alpha / s) - (alpha + 1) * mpmath.log(x / s) - (x / s) ** -alpha,
        lambda x, alpha, s: mpmath.exp(-((x / s) ** -alpha)),
    ),
    "HalfStudentT": (lambda x, nu, sigma: mpmath.log(2) + _t_density(x, nu, 0, sigma), None),
    "Cauchy": (lambda x, alpha, beta: -mpmath.log(mpmath.pi * beta * (1 + ((x - alpha) / beta) ** 2)), lambda x, alpha, beta: mpmath.acot(-(x - alpha) / beta) / mpmath.pi if x < alpha else 1 - mpmath.acot((x - alpha) / beta) / mpmath.pi),
    "HalfCauchy": (lambda x, beta: mpmath.log(2 / (mpmath.pi * beta * (1 + (x / beta) ** 2))), lambda x, beta: 2 / mpmath.pi * mpmath.atan(x / beta)),
    "Logistic": (lambda x, mu, s: -(x - mu) / s - 2 * mpmath.log1p(mpmath.exp(-(x - mu) / s)) - mpmath.log(s), lambda x, mu, s: 1 / (1 + mpmath.exp(-(x - mu) / s))),
    "SkewNormal": (lambda x, alpha, mu, sigma: mpmath.log(2 * mpmath.npdf(x, mu, sigma)) + mpmath.log(mpmath.ncdf(alpha * (x - mu) / sigma)), None),
    "Moyal": (None, lambda x, mu, sigma: mpmath.erfc(mpmath.exp(-(x - mu) / (2 * sigma)) / mpmath.sqrt(2))),
    "Kumaraswamy": (
        lambda x, a, b: mpmath.log(a * b) + (a - 1) * mpmath.log(x) + (b - 1) * mpmath.log1p(-(x**a)),
        lambda x, a, b: 1 - (1 - x**a) ** b,
    ),
    "LogNormal": (None, lambda x, mu, sigma: mpmath.ncdf((mpmath.log(x) - mu) / sigma)),
    "LogitNormal": (
        lambda x, mu, sigma: mpmath.log(mpmath.npdf(mpmath.log(x) - mpmath.log1p(-x), mu, sigma) / (x * (1 - x))), 
        lambda x, mu, sigma: mpmath.ncdf((mpmath.log(x) - mpmath.log1p(-x) - mu) / sigma),
    ),
    "Weibull": (None, lambda x, alpha, beta: -mpmath.expm1(-((x / beta) ** alpha))),
    "Pareto": (None, lambda x, alpha, m: 1 - (m / x) ** alpha),
    "Lomax": (None, lambda x, alpha, m: 1 - (1 + x / m) ** -alpha),
    "Exponential": (None, lambda x, lam: -mpmath.expm1(-lam * x)),
}  # fmt: skip


def compare(name: str, number: int, fact: str, oracle: str) -> None:
    family = getattr(ppl_distributions, name)
    if not getattr(family, fact):
        pytest.skip(f"{name} declares no {fact}")
    if (name, fact, oracle) in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[name, fact, oracle])
    if oracle == "PyMC" and not hasattr(pm, name):
        pytest.skip(f"PyMC has no {name}")
    if oracle == "SciPy" and GRID[name][2] is None:
        pytest.skip(f"SciPy has no {name}")
    mine = ours(name, number, fact)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            theirs = pymc(name, number, fact) if oracle == "PyMC" else scipy(name, number, fact)
        except NotImplementedError:
            pytest.skip(f"{oracle} has no {fact} of {name}")
    points = Q if fact == "icdf" else GRID[name][1]
    wrong = []
    left_out = FLUSHED.get((name, fact), lambda x, **_: np.zeros(len(x), bool))(points, **GRID[name][0][number])
    for i in np.flatnonzero(~near(mine, theirs) & ~left_out):
        if fact == "icdf":  # a quantile is right where the distribution function takes it back
            back = quantile_residual(family, GRID[name][0][number], mine[i], points[i])
            if back:
                continue
            wrong.append((points[i], mine[i], theirs[i]))
            continue
        with np.errstate(all="ignore"):
            truth = judged(name, number, fact, points[i])
            if truth is None and oracle == "PyMC" and GRID[name][2] is not None:
                truth = scipy(name, number, fact)[i]  # PyTensor folds constants such as log(2) in float32
        if truth is None or not near(mine[i], float(mpmath.re(truth))):
            wrong.append((points[i], mine[i], theirs[i], truth and float(mpmath.re(truth))))
    assert not wrong, wrong


def quantile_residual(family: Any, parameters: Any, x: float, q: float) -> bool:
    """Whether log F(x) is log q to 1e-10 relative, or as near as x's last digits allow; for an infinite x, whether q
    lies so far out in the tail that its quantile is no float64."""
    value = placeholder(TensorType("float64", (3,)))
    points = np.array([np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)])
    if np.isinf(x):
        points = np.sign(x) * np.array([1e300, 1e305, 1e307])
    made = family.dist(**parameters).parameters
    tail = "log_cdf" if q <= 0.5 or not family.logccdf else "log_ccdf"
    at = function([value], getattr(family, tail)(value, *made))(points)
    target = np.log(q) if tail == "log_cdf" else np.log1p(-q)
    if np.isinf(x):
        return bool((tail == "log_cdf") == (x < 0) and np.all(at > target))
    return bool(np.abs(at[1] - target) <= 1e-10 * max(1.0, abs(target)) + 4 * np.ptp(at))


@pytest.mark.parametrize("oracle", ["PyMC", "SciPy"])
@pytest.mark.parametrize("fact", ["logp", "logcdf", "icdf"])
@pytest.mark.parametrize(("name", "number"), every(3, CASES))
def test_agrees(name: str, number: int, fact: str, oracle: str) -> None:
    compare(name, number, fact, oracle)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES if hasattr(pm, name)}))
def test_support_point_is_pymcs(name: str) -> None:
    if name in ("Wald", "LogitNormal", "Interpolated", "Rice", "SkewStudentT"):
        pytest.skip(f"{name}: ours is the mean, or the image of the mean; PyMC's is another point")
    from ppl.distributions.declaration.distribution import default_point

    family = getattr(ppl_distributions, name)
    given = GRID[name][0][0]
    made = family.dist(**given).parameters
    point = function([], as_tensor(default_point(family, made, family.support_for(made))))()
    theirs = pm.distributions.distribution.support_point(
        getattr(pm, name).dist(**{k: np.float64(v) for k, v in given.items()})
    ).eval(mode="FAST_COMPILE")
    assert abs(float(point) - float(theirs)) <= 1e-8 * (1 + abs(float(theirs)))  # PyMC rounds Euler's constant


def _log_gamma_density(x, alpha, beta):
    return alpha * mpmath.log(beta) - mpmath.loggamma(alpha) + (alpha - 1) * mpmath.log(x) - beta * x


def _log_beta(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


def _log_polya_gamma(x, h, z):
    terms, n = mpmath.mpf(0), 0
    while n < 4000:
        weight = mpmath.exp(mpmath.loggamma(n + h) - mpmath.loggamma(n + 1)) * (2 * n + h)
        term = (-1) ** n * weight * mpmath.exp(-((2 * n + h) ** 2) / (8 * x))
        terms, n = terms + term, n + 1
        if n > 5 and abs(term) < mpmath.mpf(10) ** -40 * abs(terms):
            break
    scale = (h - 1) * mpmath.log(2) - mpmath.loggamma(h) - mpmath.log(2 * mpmath.pi * x**3) / 2
    return mpmath.log(terms) + scale + h * mpmath.log(mpmath.cosh(z / 2)) - x * z**2 / 2


SHAPES = (1e-8, 0.01, 1.0, 3.5, 200.0, 1e6, 1e10, 1e12)
# family: the density in mpmath, and values with parameters: in the bulk (where the shape is large), beside it, far out
EXTREME: dict[str, tuple[Any, list[tuple[float, ...]]]] = {
    "Gamma": (
        _log_gamma_density,
        [(x, a, b) for a in SHAPES for b in (1e-9, 50.0) for x in (1e-300, 0.3, 7.0, a / b, a / b * 1.001, 1e100)],
    ),
    "InverseGamma": (
        lambda x, a, b: _log_gamma_density(1 / x, a, b) - 2 * mpmath.log(x),
        [(x, a, b) for a in SHAPES for b in (1e-9, 50.0) for x in (1e-100, 0.3, 7.0, b / a, b / a * 1.001, 1e100)],
    ),
    "Beta": (
        lambda x, a, b: (a - 1) * mpmath.log(x) + (b - 1) * mpmath.log1p(-x) - _log_beta(a, b),
        [(x, a, b) for a in SHAPES for b in (0.5, 1.0, 1e4, 1e12) for x in (1e-300, 1e-10, 0.3, 1 - 1e-12)]
        + [(a / (a + 3 * a), a, 3 * a) for a in SHAPES],
    ),
    "BetaPrime": (
        lambda x, a, b: (a - 1) * mpmath.log(x) - (a + b) * mpmath.log1p(x) - _log_beta(a, b),
        [(x, a, b) for a in SHAPES for b in (0.5, 1.0, 1e4, 1e12) for x in (1e-300, 0.3, a / b, 1e20)],
    ),
    "StudentT": (
        lambda x, nu: _t_density(x, nu, 0, 1),
        [(x, nu) for nu in SHAPES for x in (-1e300, -7.0, -0.3, 0.0, 9.0, 1e10)],
    ),
    "PolyaGamma": (
        _log_polya_gamma,
        [(x * h / 4, h, z) for h in (1e-6, 0.02, 0.3, 1.0, 2.5, 40.0) for z in (0.0, 3.0, 30.0) for x in (1e-8, 0.05, 1.0, 3.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXTREME)
def test_logp_agrees_with_mpmath_at_extreme_parameters(name: str) -> None:
    density, points = EXTREME[name]
    family = getattr(ppl_distributions, name)
    x, *columns = map(np.array, zip(*points, strict=True))
    mine = function([], family.log_density(as_tensor(x), *family.dist(*columns).parameters))()
    with mpmath.workdps(120):
        truth = np.array([float(density(*map(mpmath.mpf, point))) for point in points])
    assert near(mine, truth).all(), np.array(points)[~near(mine, truth)]


# the density at an end, where PyMC has another one: SciPy's gamma density is infinite there for shapes below 1, as ours
ENDS_OTHERWISE = {
    "LogitNormal": "nan in PyMC",
    "Triangular": "nan in PyMC where c is an end",
    "PolyaGamma": "no oracle",
}


def _with_ends() -> dict[str, list[float]]:
    """Continuous families of numbers that have an end, with it or both."""
    found = {}
    for name, family in ppl_distributions.FAMILIES.items():
        parameters = family.params.values()
        if not parameters or any(p.domain.ndim or p.domain is a_distribution for p in parameters):
            continue
        values = [p.domain.examples[0] if p.default is None else p.default for p in parameters]
        domain = family.support_for(tuple(map(as_tensor, values)))
        known = [
            float(value_of(as_tensor(end))) for end in (domain.lower, domain.upper) if isinstance(end, int | float)
        ]
        if known and not domain.discrete and not domain.ndim and hasattr(pm, name):
            found[name] = known
    return found


@pytest.mark.parametrize(
    "shape", [pytest.param(0.5, marks=pytest.mark.slow), 1.0, pytest.param(2.0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", sorted(_with_ends().keys() - ENDS_OTHERWISE.keys()))
def test_the_density_at_the_ends_of_the_support_is_that_of_pymc(name: str, shape: float) -> None:
    if name in ("Gamma", "ChiSquared") and shape < 2:
        assert stats.gamma(shape / 2).logpdf(0.0) == np.inf
        pytest.skip(f"{name}: -inf in PyMC where SciPy's density is infinite")
    family = getattr(ppl_distributions, name)
    values = {k: shape if p.domain.name == "positive" else p.domain.examples[0] for k, p in family.params.items()}
    ends = np.array(_with_ends()[name])
    mine = np.asarray(function([], family.log_density(as_tensor(ends), *family.dist(**values).parameters))())
    theirs = pm.logp(getattr(pm, name).dist(**values), ends).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)  # PyMC rounds constants to float32
