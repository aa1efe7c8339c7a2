"""Processes in time: densities against PyMC and plain formulas, draws against their moments, shapes, messages."""

import warnings

import numpy as np
import pytest
from scipy import stats

import ppl.compile  # noqa: F401  (x.eval)
import ppl.distributions as pd
import ppl.tensor as tt
from ppl.distributions.declaration.inner import laws_of
from ppl.tensor.sampling.keys import Key

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(5)
PATHS = RNG.normal(size=(2, 6)).cumsum(axis=-1)
VECTOR_PATHS = RNG.normal(size=(2, 5, 3)).cumsum(axis=-2)
HIDDEN = tt.dscalar("y")
COV3 = np.array([[2.0, 0.6, -0.3], [0.6, 1.5, 0.2], [-0.3, 0.2, 0.8]])


def density(rv, x):
    return rv.family.log_density(x, *rv.parameters).eval()


def draws(rv, n, seed=4):
    return rv.family.sample(Key.from_seed(seed), (n, *rv.type.shape), *rv.parameters).eval()


def ornstein_uhlenbeck(x, rate, scale):
    return -rate * x, scale


def start(m):
    return m.Normal.dist(0.5, 2.0)


CASES = {
    "GaussianRandomWalk": (lambda m: m.GaussianRandomWalk.dist(0.1, 0.5, init_dist=start(m), steps=5), PATHS[0]),
    "GaussianRandomWalk batch": (
        lambda m: m.GaussianRandomWalk.dist(0.1, np.array([0.5, 0.7]), init_dist=start(m), steps=5),
        PATHS,
    ),
    "RandomWalk": (lambda m: m.RandomWalk.dist(start(m), m.HalfNormal.dist(2.0), shape=(2, 6)), abs(PATHS).cumsum(-1)),
    "MvGaussianRandomWalk": (
        lambda m: m.MvGaussianRandomWalk.dist(
            np.arange(3.0), cov=COV3, init_dist=m.MvNormal.dist(np.ones(3), np.eye(3)), steps=4
        ),
        VECTOR_PATHS[0],
    ),
    "MvStudentTRandomWalk": (
        lambda m: m.MvStudentTRandomWalk.dist(
            nu=4.0, mu=np.zeros(3), scale=COV3, init_dist=m.MvNormal.dist(np.ones(3), np.eye(3)), steps=4
        ),
        VECTOR_PATHS[0],
    ),
    "AR of order 2": (lambda m: m.AR.dist(np.array([0.5, 0.2]), 0.7, init_dist=start(m), steps=4), PATHS[0]),
    "AR with a constant": (
        lambda m: m.AR.dist(
            np.array([0.1, 0.5, 0.2]), 0.7, init_dist=m.Normal.dist(5.0, size=2), constant=True, shape=(2, 6)
        ),
        PATHS,
    ),
    "AR batch of rho": (
        lambda m: m.AR.dist(np.array([[0.5], [0.6]]), tau=0.7, init_dist=m.Normal.dist(0, 2.0, size=(2, 1)), steps=5),
        PATHS,
    ),
    "AR from a vector": (
        lambda m: m.AR.dist(np.array([0.5, 0.2]), 0.7, init_dist=m.MvNormal.dist(np.zeros(2), np.eye(2)), steps=4),
        PATHS[0],
    ),
    "GARCH11": (lambda m: m.GARCH11.dist(0.3, 0.2, 0.5, 1.5, steps=5), PATHS[0]),
    "GARCH11 batch": (lambda m: m.GARCH11.dist(np.array([0.3, 0.4]), 0.2, 0.5, 1.5, steps=5), PATHS),
    "EulerMaruyama": (
        lambda m: m.EulerMaruyama.dist(0.1, ornstein_uhlenbeck, (0.5, 0.3), init_dist=start(m), shape=(2, 6)),
        PATHS,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_log_densities_are_those_of_pymc(case):
    """To 1e-8: PyMC keeps some constants, such as log 2π, in single precision."""
    pm = pytest.importorskip("pymc")
    make, x = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = pm.logp(make(pm), x).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(density(make(pd), x), expected, rtol=1e-8)


def test_a_walk_of_vectors_is_scored_jump_by_jump():
    rv = pd.MvGaussianRandomWalk.dist(0.0, cov=COV3, init_dist=pd.MvNormal.dist(np.ones(3), np.eye(3)), shape=(2, 5, 3))
    expected = [
        stats.multivariate_normal(np.ones(3)).logpdf(x[0])
        + stats.multivariate_normal(None, COV3).logpdf(np.diff(x, axis=0)).sum()
        for x in VECTOR_PATHS
    ]
    np.testing.assert_allclose(density(rv, VECTOR_PATHS), expected, rtol=1e-12)


def test_parameters_of_the_laws_inside_may_be_symbols():
    sigma = tt.dscalar("sigma")
    rv = pd.GaussianRandomWalk.dist(0.0, sigma, init_dist=pd.Normal.dist(0.0, sigma), steps=5)
    value = rv.family.log_density(PATHS[0], *rv.parameters)
    jumps = np.diff(PATHS[0], prepend=0.0)
    np.testing.assert_allclose(value.eval({sigma: 0.7}), stats.norm(0, 0.7).logpdf(jumps).sum(), rtol=1e-12)
    assert [law.family for law in laws_of(rv)] == [pd.Normal, pd.Normal]


def test_the_gradient_of_garch_is_that_of_differences():
    theta = tt.dvector("theta")
    rv = pd.GARCH11.dist(theta[0], theta[1], theta[2], 1.5, steps=5)
    value = rv.family.log_density(PATHS[0], *rv.parameters)
    at, h = np.array([0.3, 0.2, 0.5]), 1e-6
    slope = [(value.eval({theta: at + h * e}) - value.eval({theta: at - h * e})) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(tt.grad(value, theta).eval({theta: at}), slope, rtol=1e-6)


# --- draws
N = 10_000


def test_draws_of_a_gaussian_walk():
    x = draws(pd.GaussianRandomWalk.dist(0.1, 0.5, init_dist=start(pd), steps=3), N)
    jumps = np.diff(x, axis=-1)
    assert stats.kstest(x[:, 0], stats.norm(0.5, 2.0).cdf).pvalue > 1e-4
    for t in range(3):
        assert stats.kstest(jumps[:, t], stats.norm(0.1, 0.5).cdf).pvalue > 1e-4
    assert np.abs(np.corrcoef(np.c_[x[:, :1], jumps].T) - np.eye(4)).max() < 6 / np.sqrt(N)


def test_draws_of_an_autoregression_have_white_residuals():
    x = draws(pd.AR.dist(np.array([0.1, 0.5, 0.2]), 0.7, init_dist=start(pd), constant=True, steps=3), N)
    for t in range(2, 5):
        residual = x[:, t] - 0.1 - 0.5 * x[:, t - 1] - 0.2 * x[:, t - 2]
        assert stats.kstest(residual, stats.norm(0, 0.7).cdf).pvalue > 1e-4
        assert abs(np.corrcoef(residual, x[:, t - 1])[0, 1]) < 6 / np.sqrt(N)


def test_draws_of_garch_are_normal_by_their_own_volatility():
    y = draws(pd.GARCH11.dist(0.3, 0.2, 0.5, 1.5, steps=3), N)
    variance = np.full(N, 1.5**2)
    for t in range(4):
        assert stats.kstest(y[:, t] / np.sqrt(variance), stats.norm.cdf).pvalue > 1e-4
        variance = 0.3 + 0.2 * y[:, t] ** 2 + 0.5 * variance


def test_draws_of_an_equation_have_normal_increments():
    rv = pd.EulerMaruyama.dist(0.1, ornstein_uhlenbeck, (np.array([0.5, 1.0]), 0.3), init_dist=start(pd), steps=3)
    x = draws(rv, N)
    assert x.shape == (N, 2, 4)
    for row, rate in enumerate((0.5, 1.0)):
        z = (x[:, row, 1:] - x[:, row, :-1] * (1 - 0.1 * rate)) / (0.3 * np.sqrt(0.1))
        assert stats.kstest(z.ravel(), stats.norm.cdf).pvalue > 1e-4


def test_draws_of_vectors_walk_apart():
    rv = pd.MvGaussianRandomWalk.dist(np.arange(3.0), cov=COV3, init_dist=pd.MvNormal.dist(0, np.eye(3)), steps=2)
    jumps = np.diff(draws(rv, N), axis=1)
    assert np.abs(jumps.mean(axis=0) - np.arange(3)).max() < 6 * np.sqrt(2.0 / N)
    assert np.abs(np.cov(jumps[:, 0].T) - COV3).max() < 0.15
    assert np.abs(np.corrcoef(jumps[:, 0, 0], jumps[:, 1, 0])[0, 1]) < 6 / np.sqrt(N)


# --- shapes and messages
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: pd.GaussianRandomWalk.dist(0, 1.0, init_dist=start(pd), shape=(3, 6)), (3, 6)),
        (lambda: pd.GaussianRandomWalk.dist(0, np.ones(4), init_dist=start(pd), steps=5), (4, 6)),
        (lambda: pd.GaussianRandomWalk.dist(0, 1.0, init_dist=start(pd), steps=5, size=(2,)), (2, 6)),
        (lambda: pd.AR.dist(np.ones((3, 2)), init_dist=start(pd), steps=5), (3, 7)),
        (lambda: pd.GARCH11.dist(np.ones(2), 0.1, 0.1, 1.0, steps=5), (2, 6)),
        (lambda: pd.MvGaussianRandomWalk.dist(0, cov=COV3, init_dist=pd.MvNormal.dist(0, COV3), steps=4), (5, 3)),
    ],
)
def test_shapes_and_support_points(make, shape):
    rv = make()
    assert rv.type.shape == shape
    point = rv.family.support_point(*rv.parameters).eval()
    assert np.broadcast_to(point, shape).shape == shape
    assert np.isfinite(density(rv, np.broadcast_to(point, shape))).all()


BAD = {
    "AR needs steps, or a shape": lambda: pd.AR.dist([0.5], init_dist=start(pd)),
    "AR: give sigma or tau, not both": lambda: pd.AR.dist([0.5], 1.0, 2.0, init_dist=start(pd), steps=3),
    "AR: the order must be at least 1": lambda: pd.AR.dist([0.5], init_dist=start(pd), constant=True, steps=3),
    "AR: rho has 1 entries, ar_order=2": lambda: pd.AR.dist([0.5], init_dist=start(pd), ar_order=2, steps=3),
    "AR: init_dist has 3 values, but the order is 1": lambda: pd.AR.dist(
        [0.5], init_dist=pd.Normal.dist(0, 1, size=3), steps=3
    ),
    "RandomWalk: init_dist must be a distribution made with": lambda: pd.RandomWalk.dist(1.0, start(pd), steps=3),
    "must have as many axes": lambda: pd.RandomWalk.dist(start(pd), pd.MvNormal.dist(0, COV3), steps=3),
    "4 steps make 5 values": lambda: pd.GaussianRandomWalk.dist(0, 1.0, init_dist=start(pd), steps=4, shape=4),
    "a path of 1 values has no step": lambda: pd.GaussianRandomWalk.dist(0, 1.0, init_dist=start(pd), shape=1),
    "'x' is a variable of a model already": lambda: pd.GaussianRandomWalk.dist(
        0, 1.0, init_dist=pd.Normal.dist(0, 1, name="x"), steps=4
    ),
    "must return the pair": lambda: pd.EulerMaruyama.dist(0.1, lambda x, a: x, (1.0,), init_dist=start(pd), steps=3),
    "which is not among sde_pars": lambda: pd.EulerMaruyama.dist(
        0.1, lambda x: (x * HIDDEN, 1.0), (), init_dist=start(pd), steps=3
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments_are_refused_where_they_are_given(message):
    with pytest.raises((ValueError, TypeError), match=message):
        BAD[message]()


def test_constants_outside_their_domains_are_told():
    with pytest.warns(UserWarning, match="sigma must be positive, got -1"):
        pd.GaussianRandomWalk.dist(0, -1.0, init_dist=start(pd), steps=4)
    with pytest.warns(UserWarning, match="GARCH11: omega must be positive"):
        pd.GARCH11.dist(-1.0, 0.1, 0.1, 1.0, steps=4)


def test_a_missing_first_law_becomes_a_wide_one_with_a_warning():
    with pytest.warns(UserWarning, match="no init_dist"):
        rv = pd.GaussianRandomWalk.dist(0.0, 1.0, steps=3)
    np.testing.assert_allclose(density(rv, np.zeros(4)), stats.norm(0, 100).logpdf(0) + 3 * stats.norm.logpdf(0))
