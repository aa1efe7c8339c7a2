"""Families of counts against mpmath (as judge, at extreme parameters), SciPy and PyMC."""

import math
import warnings

import numpy as np
import pytest
from some_slow import every

import ppl.tensor as tt
from ppl import distributions as d
from ppl.compile import function
from ppl.tensor.tensor import TensorType, placeholder

mpmath = pytest.importorskip("mpmath")
mp, M = mpmath.mp, mpmath.mpf


def lg(z):
    return mp.loggamma(z)


def log_beta(a, b):
    return lg(a) + lg(b) - lg(a + b)


def log_choose(n, k):
    return lg(n + 1) - lg(k + 1) - lg(n - k + 1)


def nb(x, mu, alpha):
    return lg(x + alpha) - lg(alpha) - lg(x + 1) + alpha * mp.log(alpha / (alpha + mu)) + x * mp.log(mu / (alpha + mu))


def urn(x, y, a, b):
    return log_choose(x + y, x) + log_beta(x + a, y + b) - log_beta(a, b)


def skellam(x, a, b):
    bessel = mp.besseli(abs(x), 2 * mp.sqrt(a * b), maxterms=10**6)
    return -a - b + x / 2 * mp.log(a / b) + mp.log(bessel)


def discrete_weibull(x, q, beta):
    with mpmath.workdps(400):
        return x**beta * mp.log(q) + mp.log1p(-mp.exp(mp.log(q) * ((x + 1) ** beta - x**beta)))


COUNTS = [0, 1, 2, 9, 10, 11, 1000, 10**6, 10**9]
OF_TEN = [(x, n) for n in (0, 1, 7, 1000, 10**9) for x in sorted({0, min(1, n), n // 3, n // 2, n})]
URNS = [(10, 3, 4), (50, 25, 40), (1000, 1, 999), (10**9, 10**8, 10**7), (10**9, 5 * 10**8, 5 * 10**8), (10, 10, 3)]
TAKEN = [(x, *u) for u in URNS for x in sorted({max(0, u[2] + u[1] - u[0]), u[2] * u[1] // u[0], min(u[1], u[2])})]

# family, how its parameters are called, the density in mpmath, and the grid of (x, parameters)
ROWS = [
    (
        d.Poisson,
        ("mu",),
        lambda x, m: x * mp.log(m) - m - lg(x + 1),
        [(x, m) for x in COUNTS for m in (1e-300, 1e-5, 0.3, 7.5, 99.0, 999_999.5, 1e9, 1e12)],
    ),
    (
        d.Binomial,
        ("n", "p"),
        lambda x, n, p: log_choose(n, x) + x * mp.log(p) + (n - x) * mp.log(1 - p),
        [(x, n, p) for x, n in OF_TEN for p in (1e-300, 1e-10, 0.01, 0.5, 0.99, 1 - 1e-10)],
    ),
    (
        d.NegativeBinomial,
        ("mu", "alpha"),
        nb,
        [(x, m, a) for x in COUNTS for m in (1e-5, 0.3, 50.0, 1e9) for a in (1e-8, 0.1, 7.0, 1e4, 1e10, 1e15)],
    ),
    (
        d.BetaBinomial,
        ("n", "alpha", "beta"),
        lambda x, n, a, b: urn(x, n - x, a, b),
        [(x, n, a, b) for x, n in OF_TEN for a in (1e-8, 0.3, 50.0, 1e12) for b in (1e-5, 1.0, 1e8)],
    ),
    (
        d.BetaNegativeBinomial,
        ("n", "alpha", "beta"),
        lambda x, n, a, b: lg(x + n) - lg(x + 1) - lg(n) + log_beta(n + a, x + b) - log_beta(a, b),
        [(x, n, a, b) for x in COUNTS for n in (1e-3, 20.5, 1e7) for a in (0.3, 50.0, 1e6) for b in (1e-5, 9.0)],
    ),
    (
        d.HyperGeometric,
        ("N", "k", "n"),
        lambda x, N, k, n: log_choose(k, x) + log_choose(N - k, n - x) - log_choose(N, n),
        TAKEN,
    ),
    (
        d.Geometric,
        ("p",),
        lambda x, p: mp.log(p) + (x - 1) * mp.log(1 - p),
        [(x, p) for x in COUNTS[1:] for p in (1e-300, 1e-9, 0.3, 0.99, 1 - 1e-12)],
    ),
    (
        d.DiscreteWeibull,
        ("q", "beta"),
        discrete_weibull,
        [(x, q, b) for x in COUNTS for q in (1e-10, 0.5, 1 - 1e-12) for b in (0.1, 1.0, 1.3, 3.0)],
    ),
    (
        d.Skellam,
        ("mu1", "mu2"),
        skellam,
        [
            (x, a, b)
            for x in (-(10**6), -30, -1, 0, 1, 2, 200, 10**5)
            for a in (1e-8, 1.0, 20.0)
            for b in (1e-3, 4.0, 3e3)
        ],
    ),
]


def parameters_of(family, names, columns):
    given = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
    return family.dist(**given).parameters


@pytest.mark.parametrize(("family", "names", "density", "grid"), ROWS, ids=lambda v: getattr(v, "__name__", None))
def test_logp_agrees_with_mpmath_at_extreme_counts_and_parameters(family, names, density, grid):
    x, *columns = zip(*grid, strict=True)
    got = family.log_density(np.array(x), *parameters_of(family, names, columns)).eval()
    with mpmath.workdps(60):
        want = np.array([float(density(M(point[0]), *map(M, point[1:]))) for point in grid])
    assert np.all(np.abs(got - want) <= np.maximum(1e-12, 1e-11 * np.abs(want)) + (got == want))


def multinomial(x, p):
    p = [each / mp.fsum(p) for each in p]
    return lg(mp.fsum(x) + 1) + mp.fsum(k * mp.log(q) - lg(k + 1) for k, q in zip(x, p, strict=True) if k)


def dirichlet_multinomial(x, a):
    n, total = mp.fsum(x), mp.fsum(a)
    return (
        log_choose(n, 0)
        + lg(n + 1)
        + lg(total)
        - lg(n + total)
        + mp.fsum(lg(k + b) - lg(k + 1) - lg(b) for k, b in zip(x, a, strict=True))
    )


SHARES = [(0.2, 0.3, 0.5), (1e-9, 0.5, 0.5 - 1e-9), (1e-300, 0.25, 0.75)]
WEIGHTS = [(2.0, 3.0, 0.5), (1e-8, 1.0, 1e8), (1e10, 1e10, 1e10)]


OF_VECTORS = [(d.Multinomial, multinomial, SHARES), (d.DirichletMultinomial, dirichlet_multinomial, WEIGHTS)]


@pytest.mark.parametrize(("family", "density", "rows"), OF_VECTORS)
def test_vectors_of_counts_agree_with_mpmath_up_to_counts_of_a_billion(family, density, rows):
    n = [0, 1, 10, 10**6, 10**9]
    near = [[int(m * q / sum(row)) for q in row[:2]] for row in rows for m in n]
    x = [(*some, m - sum(some)) for some, m in zip(near, n * len(rows), strict=True)]
    far = [(m // 3, m // 2, m - m // 3 - m // 2) for m in n] * len(rows)
    given = np.repeat(rows, len(n), axis=0)
    totals, values, p = tt.lvector(), tt.lmatrix(), tt.dmatrix()
    compiled = function([values, totals, p], family.log_density(values, totals, p))
    for points in (x, far):
        got = compiled(np.array(points), np.array(n * len(rows)), given)
        with mpmath.workdps(60):
            want = np.array(
                [float(density(list(map(M, k)), list(map(M, row)))) for k, row in zip(points, given, strict=True)]
            )
        assert np.all(np.abs(got - want) <= np.maximum(1e-12, 1e-12 * np.abs(want)))


def test_logit_p_stays_finite_where_the_probability_rounds_to_zero_or_one():
    logits = np.array([-800.0, -40.0, 0.0, 40.0, 800.0])
    log_p, log_q = -np.logaddexp(0, -logits), -np.logaddexp(0, logits)
    bernoulli = d.Bernoulli.dist(logit_p=logits).parameters
    np.testing.assert_allclose(d.Bernoulli.log_density(1, *bernoulli).eval(), log_p, rtol=1e-14)
    np.testing.assert_allclose(d.Bernoulli.log_density(0, *bernoulli).eval(), log_q, rtol=1e-14)
    binomial = d.Binomial.dist(10, logit_p=logits).parameters
    np.testing.assert_allclose(
        d.Binomial.log_density(3, *binomial).eval(), math.log(120) + 3 * log_p + 7 * log_q, rtol=1e-13
    )
    categorical = d.Categorical.dist(logit_p=[0.0, 1000.0, -1000.0]).parameters
    np.testing.assert_allclose(d.Categorical.log_density(np.arange(3), *categorical).eval(), [-1000.0, 0.0, -2000.0])


@pytest.mark.parametrize(
    "family", [d.NegativeBinomial, d.BetaBinomial, d.DiscreteUniform, d.Binomial, d.HyperGeometric]
)
def test_small_whole_numbers_do_not_run_over_the_ends_of_their_dtype(family):
    given = {d.NegativeBinomial: {"n": 100, "p": 1}, d.BetaBinomial: {"n": 120, "alpha": 100, "beta": 120},
             d.DiscreteUniform: {"lower": -100, "upper": 100}, d.Binomial: {"n": 120, "p": 1},
             d.HyperGeometric: {"N": 120, "k": 100, "n": 110}}[family]  # fmt: skip
    x = np.array([91, 100])
    want = family.log_density(x, *family.dist(**given).parameters).eval()
    small = family.dist(**{key: np.int8(value) for key, value in given.items()})
    assert np.array_equal(family.log_density(x.astype(np.int8), *small.parameters).eval(), want)


def test_gradients_are_finite_and_exact_at_large_counts():
    mu = tt.dvector("mu")
    x = np.array([0, 3, 100, 10**9])
    slope = tt.gradients(tt.sum(d.Poisson.log_density(x, mu)), [mu])[0]
    at = np.array([0.1, 3.0, 20.0, 1e9 + 1e4])
    np.testing.assert_allclose(slope.eval({mu: at}), x / at - 1, rtol=1e-9, atol=1e-15)
    slope = tt.gradients(tt.sum(d.Skellam.log_density(np.array([-5, 0, 3, 1000]), mu, mu + 2)), [mu])[0]
    assert np.all(np.isfinite(slope.eval({mu: at})))


def test_ordered_families_keep_their_digits_in_the_tails():
    eta, cuts = np.array([-30.0, -2.0, 0.5, 30.0]), np.array([-1.0, 0.0, 0.3, 5.0])
    for family, cdf in ((d.OrderedLogistic, lambda z: 1 / (1 + mp.exp(-z))), (d.OrderedProbit, mp.ncdf)):
        parameters = family.dist(eta, cuts).parameters
        for k in range(5):
            with mpmath.workdps(400):
                ends = [[cdf(M(c) - M(e)) for e in eta] for c in cuts]
                low = ends[k - 1] if k else [M(0)] * 4
                high = ends[k] if k < 4 else [M(1)] * 4
                want = [float(mp.log(b - a)) for a, b in zip(low, high, strict=True)]
            np.testing.assert_allclose(family.log_density(np.full(4, k), *parameters).eval(), want, rtol=1e-10)
        np.testing.assert_allclose(tt.sum(family.probabilities(*parameters), axis=-1).eval(), 1.0, rtol=1e-14)


def test_values_outside_the_support_have_no_probability():
    for rv, values in (
        (d.Poisson.dist(3.0), [-1, -100]),
        (d.Binomial.dist(5, 0.3), [-1, 6]),
        (d.Categorical.dist([0.2, 0.8]), [-1, 2]),
        (d.DiscreteUniform.dist(1, 4), [0, 5]),
        (d.Geometric.dist(0.2), [0, -3]),
        (d.HyperGeometric.dist(20, 7, 15), [1, 8]),
        (d.OrderedLogistic.dist(0.0, [0.0, 1.0]), [-1, 3]),
    ):
        assert np.all(rv.family.log_density(np.array(values), *rv.parameters).eval() == -np.inf), rv.family


def test_categorical_rescales_constant_probabilities_with_a_warning():
    with pytest.warns(UserWarning, match="automatically rescaled"):
        rv = d.Categorical.dist([1.0, 3.0])
    np.testing.assert_allclose(rv.parameters[0].eval(), [0.25, 0.75])
    with pytest.raises(ValueError, match="Categorical"):
        d.Categorical.dist([-0.5, 1.5])


PYMC = [
    ("Poisson", {"mu": 4.2}, range(-1, 12)),
    ("Binomial", {"n": 9, "p": 0.3}, range(-1, 11)),
    ("NegativeBinomial", {"mu": 4.2, "alpha": 1.7}, range(-1, 12)),
    ("NegativeBinomial", {"n": 3.5, "p": 0.4}, range(-1, 12)),
    ("Geometric", {"p": 0.3}, range(-1, 12)),
    ("DiscreteUniform", {"lower": -2, "upper": 5}, range(-4, 8)),
    ("DiscreteWeibull", {"q": 0.6, "beta": 1.4}, range(-1, 8)),
    ("Bernoulli", {"p": 0.3}, range(-1, 3)),
    ("Bernoulli", {"logit_p": -0.7}, range(-1, 3)),
    ("Categorical", {"p": np.array([0.2, 0.3, 0.5])}, range(-1, 4)),
    ("BetaBinomial", {"alpha": 2.0, "beta": 0.5, "n": 7}, range(-1, 9)),
    ("HyperGeometric", {"N": 20, "k": 7, "n": 15}, range(9)),
    ("OrderedLogistic", {"eta": 0.4, "cutpoints": np.array([-1.0, 0.2, 2.0])}, range(-1, 5)),
    ("OrderedProbit", {"eta": 0.4, "cutpoints": np.array([-1.0, 0.2, 2.0]), "sigma": 1.5}, range(-1, 5)),
    ("ZeroInflatedPoisson", {"psi": 0.7, "mu": 4.0}, range(-1, 9)),
    ("ZeroInflatedBinomial", {"psi": 0.7, "n": 6, "p": 0.3}, range(-1, 8)),
    ("ZeroInflatedNegativeBinomial", {"psi": 0.7, "mu": 4.0, "alpha": 2.0}, range(-1, 9)),
    ("HurdlePoisson", {"psi": 0.7, "mu": 4.0}, range(-1, 9)),
    ("HurdleNegativeBinomial", {"psi": 0.7, "mu": 4.0, "alpha": 2.0}, range(-1, 9)),
]


@pytest.mark.parametrize(("name", "given", "values"), PYMC, ids=lambda v: v if isinstance(v, str) else None)
def test_logp_and_logcdf_are_those_of_pymc(name, given, values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pm = pytest.importorskip("pymc")
        import pytensor
        import pytensor.tensor as pt

        theirs = getattr(pm, name).dist(**{key: np.asarray(value) for key, value in given.items()})
        rv = getattr(d, name).dist(**given)
        x = np.array(values)
        digits = 1e-7 if name == "OrderedProbit" else 1e-10  # where PyMC rounds a constant; mpmath judges above
        at_one = pt.lscalar()  # PyMC's distribution functions take one value at a time
        in_python = {"mode": "FAST_COMPILE"}  # compiling C for each takes five seconds
        density = pytensor.function([at_one], pm.logp(theirs, at_one), **in_python)
        got = rv.family.log_density(x, *rv.parameters).eval()
        np.testing.assert_allclose(got, [density(v) for v in values], rtol=digits, atol=1e-12)
        try:
            below = pytensor.function([at_one], pm.logcdf(theirs, at_one), **in_python)
        except NotImplementedError:
            return
        want = [below(v) for v in values]
        got = rv.family.log_cdf(x, *rv.parameters).eval()
        if name == "DiscreteUniform":  # PyMC has no probability at the lowest value; SciPy says 1/8
            at = list(values).index(given["lower"])
            assert want[at] == -np.inf
            want[at] = pytest.importorskip("scipy.stats").randint(-2, 6).logcdf(-2)
        np.testing.assert_allclose(got, want, rtol=max(digits, 1e-9), atol=digits / 10)


SCIPY = [
    (d.HyperGeometric, (50, 20, 15), lambda s: s.hypergeom(50, 20, 15)),
    (d.HyperGeometric, (10**9, 4 * 10**8, 10**6), lambda s: s.hypergeom(10**9, 4 * 10**8, 10**6)),
    (d.BetaBinomial, (2.0, 3.0, 10), lambda s: s.betabinom(10, 2, 3)),
    (d.BetaNegativeBinomial, (9.0, 3.0, 10.0), lambda s: s.betanbinom(10, 9, 3)),
    (d.Skellam, (4.0, 3.0), lambda s: s.skellam(4, 3)),
    (d.Geometric, (0.3,), lambda s: s.geom(0.3)),
    (d.DiscreteUniform, (2, 9), lambda s: s.randint(2, 10)),
    (d.DiscreteWeibull, (0.5, 1.0), lambda s: s.geom(0.5, loc=-1)),
    (d.Binomial, (1000, 0.3), lambda s: s.binom(1000, 0.3)),
    (d.Poisson, (1e6,), lambda s: s.poisson(1e6)),
]


@pytest.mark.parametrize(("family", "given", "law"), every(2, SCIPY), ids=lambda v: getattr(v, "__name__", None))
def test_draws_and_moments_are_those_of_scipy(family, given, law):
    from ppl.tensor.sampling.keys import Key

    stats = pytest.importorskip("scipy.stats")
    law = law(stats)
    rv = family.dist(*given, size=100_000)
    draws = family.sample(Key.from_seed(3), (100_000,), *rv.parameters).eval()
    error = law.std() / math.sqrt(100_000)
    assert abs(draws.mean() - law.mean()) < 4.5 * error
    assert abs(draws.var() / law.var() - 1) < 0.06
    assert draws.dtype == np.int64
    if family.mean:
        np.testing.assert_allclose(family.mean(*rv.parameters).eval(), law.mean(), rtol=1e-12)
        np.testing.assert_allclose(family.variance(*rv.parameters).eval(), law.var(), rtol=1e-10)


# a draw by a number, the value, the number, and the slope there; the value is all that is possible
ENDS = {
    "Bernoulli, never": (lambda p: d.Bernoulli.dist(p), 0, 0.0, -1.0),
    "Bernoulli, always": (lambda p: d.Bernoulli.dist(p), 1, 1.0, 1.0),
    "Binomial, never": (lambda p: d.Binomial.dist(10, p), 0, 0.0, -10.0),
    "Binomial, always": (lambda p: d.Binomial.dist(10, p), 10, 1.0, 10.0),
    "Poisson": (lambda mu: d.Poisson.dist(mu), 0, 0.0, -1.0),
    "Poisson, a row of zeros": (
        lambda b: d.Poisson.dist(tt.dot(np.array([0.0, 0.0, 1.0]), tt.stack([b, b, 0.0]))), 0, 0.3, 0.0
    ),
    "Geometric": (lambda p: d.Geometric.dist(p), 1, 1.0, 1.0),
    "NegativeBinomial": (lambda p: d.NegativeBinomial.dist(n=2.0, p=p), 0, 1.0, 2.0),
    "Categorical": (lambda p: d.Categorical.dist(tt.stack([1 - p, p, 0 * p])), 0, 0.0, -1.0),
    "Multinomial": (lambda p: d.Multinomial.dist(3, tt.stack([1 - p, p])), np.array([3, 0]), 0.0, -3.0),
    "ZeroInflatedPoisson, never": (lambda psi: d.ZeroInflatedPoisson.dist(psi, 2.0), 0, 0.0, np.expm1(-2.0)),
    "ZeroInflatedPoisson, always": (lambda psi: d.ZeroInflatedPoisson.dist(psi, 2.0), 0, 1.0, -np.expm1(2.0)),
    "ZeroInflatedPoisson, always a count": (lambda psi: d.ZeroInflatedPoisson.dist(psi, 2.0), 3, 1.0, 1.0),
    "ZeroInflatedBinomial, always": (lambda psi: d.ZeroInflatedBinomial.dist(psi, 2, 0.5), 0, 1.0, -3.0),
    "ZeroInflatedNegativeBinomial, never": (
        lambda psi: d.ZeroInflatedNegativeBinomial.dist(psi, n=1.0, p=0.25), 0, 0.0, -0.75
    ),
    "HurdlePoisson, never": (lambda psi: d.HurdlePoisson.dist(psi, 2.0), 0, 0.0, -1.0),
    "HurdlePoisson, always": (lambda psi: d.HurdlePoisson.dist(psi, 2.0), 3, 1.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("psi", [0.0, 1e-300, 1e-9, 0.3, 0.5, 0.7, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("mu", [1e-12, 0.4, 3.0, 50.0, 1e4])
def test_zeros_of_inflated_counts_keep_their_digits(psi, mu):
    """log(1 - psi + psi exp(-mu)), by a number and by a parameter of the compiled function."""
    with mpmath.workdps(40):
        truth = float(mpmath.log(1 - mpmath.mpf(psi) + psi * mpmath.exp(-mpmath.mpf(mu))) if psi * mu else 0)
    p = placeholder(TensorType("float64", ()))
    known, given = (
        function([p], d.logp(d.ZeroInflatedPoisson.dist(q, mu), 0), on_unused_input="ignore")(psi) for q in (psi, p)
    )
    assert known == pytest.approx(truth, rel=1e-13, abs=1e-300)
    assert given == pytest.approx(truth, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("case", ENDS)
def test_slopes_are_finite_where_a_probability_is_0_or_1(case):
    build, value, at, slope = ENDS[case]
    p = placeholder(TensorType("float64", ()))
    found = tt.grad(tt.sum(d.logp(build(p), value)), p)
    assert function([p], found, on_unused_input="ignore")(at) == pytest.approx(slope, abs=1e-12)
