"""Families of vectors and matrices against SciPy, NumPy and PyMC; their draws against their own moments."""

import warnings

import numpy as np
import pytest
from scipy import stats

import ppl
import ppl.distributions as pd
import ppl.tensor as tt
from ppl.distributions.families.lkj_cholesky_cov import log_volume
from ppl.tensor.sampling.keys import Key
from ppl.tensor.variables import shared

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(20)
COV3 = np.array([[2.0, 0.6, -0.3], [0.6, 1.5, 0.2], [-0.3, 0.2, 0.8]])
COV2 = np.array([[1.3, -0.4], [-0.4, 0.7]])
BIG = stats.wishart(30, np.eye(12)).rvs(random_state=1) / 30  # more rows than are written out
MU, TAU3 = [1.0, 0, -1], np.linalg.inv(COV3)
W = np.array([[0, 1, 0, 1], [1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0]])
PRECISION = 2.0 * (np.diag(W.sum(0)) - 0.6 * W)


def density(rv, x):
    return rv.family.log_density(x, *rv.parameters).eval()


def by_rows(law, x):
    return np.array([law.logpdf(row) for row in x])


def mvn(mu, cov):
    return stats.multivariate_normal(mu, cov)


VECTORS = RNG.normal(size=(5, 3))
SIMPLEX = RNG.dirichlet([1.0, 2.0, 3.0], size=4)
MATRICES = stats.wishart(5, COV3).rvs(3, random_state=2)
EXACT = {
    "MvNormal cov": (
        lambda: pd.MvNormal.dist([1.0, 0, -1], COV3),
        VECTORS,
        lambda x: mvn([1.0, 0, -1], COV3).logpdf(x),
    ),
    "MvNormal tau": (
        lambda: pd.MvNormal.dist(0, tau=COV3),
        VECTORS,
        lambda x: mvn(None, np.linalg.inv(COV3)).logpdf(x),
    ),
    "MvNormal chol": (
        lambda: pd.MvNormal.dist(0, chol=np.linalg.cholesky(COV3).T, lower=False),
        VECTORS,
        lambda x: mvn(None, COV3).logpdf(x),
    ),
    "MvNormal large": (lambda: pd.MvNormal.dist(0, BIG), np.ones((2, 12)), lambda x: mvn(None, BIG).logpdf(x)),
    "MvNormal tau large": (
        lambda: pd.MvNormal.dist(0, tau=BIG),
        np.ones((2, 12)),
        lambda x: mvn(None, np.linalg.inv(BIG)).logpdf(x),
    ),
    "MvNormal batch": (
        lambda: pd.MvNormal.dist(VECTORS[:2], np.stack([COV3, 2 * COV3])),
        VECTORS[2:4],
        lambda x: [mvn(VECTORS[i], (i + 1) * COV3).logpdf(x[i]) for i in range(2)],
    ),
    "MvStudentT": (
        lambda: pd.MvStudentT.dist(4.5, mu=[1.0, 0, -1], scale=COV3),
        VECTORS,
        lambda x: stats.multivariate_t([1.0, 0, -1], COV3, 4.5).logpdf(x),
    ),
    "Dirichlet": (
        lambda: pd.Dirichlet.dist([0.4, 1.0, 7.5]),
        SIMPLEX,
        lambda x: by_rows(stats.dirichlet([0.4, 1.0, 7.5]), x),
    ),
    "Dirichlet batch": (
        lambda: pd.Dirichlet.dist([[0.4, 1.0, 7.5], [3.0, 2.0, 1e-3]]),
        SIMPLEX[:2],
        lambda x: [stats.dirichlet(a).logpdf(y) for a, y in zip([[0.4, 1.0, 7.5], [3.0, 2.0, 1e-3]], x, strict=True)],
    ),
    "Multinomial": (
        lambda: pd.Multinomial.dist(10, [0.2, 0.3, 0.5]),
        np.array([[2, 3, 5], [0, 0, 10]]),
        lambda x: stats.multinomial(10, [0.2, 0.3, 0.5]).logpmf(x),
    ),
    "Multinomial batch": (
        lambda: pd.Multinomial.dist([10, 4], [0.2, 0.3, 0.5]),
        np.array([[2, 3, 5], [1, 3, 0]]),
        lambda x: [stats.multinomial(n, [0.2, 0.3, 0.5]).logpmf(y) for n, y in zip([10, 4], x, strict=True)],
    ),
    "DirichletMultinomial": (
        lambda: pd.DirichletMultinomial.dist(10, [0.2, 3.0, 5.0]),
        np.array([[2, 3, 5], [0, 0, 10]]),
        lambda x: stats.dirichlet_multinomial([0.2, 3.0, 5.0], 10).logpmf(x),
    ),
    "Wishart": (lambda: pd.Wishart.dist(5, COV3), MATRICES, lambda x: [stats.wishart(5, COV3).logpdf(y) for y in x]),
    "MatrixNormal": (
        lambda: pd.MatrixNormal.dist(np.ones((3, 2)), rowcov=COV3, colchol=np.linalg.cholesky(COV2)),
        VECTORS[:2].reshape(3, 2),
        lambda x: stats.matrix_normal(np.ones((3, 2)), COV3, COV2).logpdf(x),
    ),
    "CAR": (
        lambda: pd.CAR.dist(np.ones(4), W, 0.6, 2.0),
        np.arange(8.0).reshape(2, 4),
        lambda x: mvn(np.ones(4), np.linalg.inv(PRECISION)).logpdf(x),
    ),
    **{
        f"KroneckerNormal {key} {sigma}": (
            lambda key=key, sigma=sigma, f=f: pd.KroneckerNormal.dist(0, **{key: [f(COV3), f(COV2)]}, sigma=sigma),
            np.arange(12.0).reshape(2, 6) / 5,
            lambda x, sigma=sigma: mvn(None, np.kron(COV3, COV2) + sigma**2 * np.eye(6)).logpdf(x),
        )
        for key, f in [("covs", lambda m: m), ("chols", np.linalg.cholesky), ("evds", np.linalg.eigh)]
        for sigma in (0.0, 0.4)
    },
}


@pytest.mark.parametrize("case", EXACT)
def test_log_densities_are_those_of_scipy(case):
    make, x, oracle = EXACT[case]
    np.testing.assert_allclose(density(make(), x), oracle(x), rtol=1e-12, atol=1e-12)


def test_zero_sum_normal_is_the_normal_law_on_the_plane_of_zero_sums():
    basis = np.linalg.svd(np.ones((1, 4)))[2][1:]  # orthonormal, so that volumes are kept
    u = RNG.normal(size=(3, 3))
    expected = mvn(np.zeros(3), 4.0 * np.eye(3)).logpdf(u)
    np.testing.assert_allclose(density(pd.ZeroSumNormal.dist(2.0, shape=4), u @ basis), expected, rtol=1e-12)


def test_correlations_are_uniform_for_eta_one_and_beta_for_two_rows():
    r = np.array([[-0.7], [0.1], [0.6]])
    np.testing.assert_allclose(density(pd.LKJCorr.dist(2, 1.0), r), np.full(3, -np.log(2)), rtol=1e-12)
    expected = stats.beta(2.5, 2.5).logpdf((r[:, 0] + 1) / 2) - np.log(2)
    np.testing.assert_allclose(density(pd.LKJCorr.dist(2, 2.5), r), expected, rtol=1e-12)
    three = density(pd.LKJCorr.dist(3, 1.0), np.array([0.3, -0.2, 0.4]))
    np.testing.assert_allclose(three, -np.log(np.pi**2 / 2), rtol=1e-12)  # the volume of the elliptope


def pymc_density(make, x):
    pm = pytest.importorskip("pymc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pm.logp(make(pm), x).eval(mode="FAST_COMPILE")


ICAR_X = np.array([0.3, -0.2, 0.5, -0.6])
PYMC = {
    "ICAR": (lambda m: m.ICAR.dist(W, sigma=2.0), ICAR_X),
    "OrderedMultinomial": (
        lambda m: m.OrderedMultinomial.dist(0.3, np.array([-1.0, 0, 1]), 10),
        np.array([2, 3, 5, 0]),
    ),
    "StickBreakingWeights": (lambda m: m.StickBreakingWeights.dist(1.5, 3), np.array([[0.1, 0.2, 0.3, 0.4]])),
    "ZeroSumNormal two axes": (
        lambda m: m.ZeroSumNormal.dist(2.0, 2, shape=(2, 2, 3)),
        np.array([[[1.0, -3, 2], [-1, 3, -2]], [[0.5, 0, -0.5], [-0.5, 0, 0.5]]]),
    ),
    "ZeroSumNormal batch": (
        lambda m: m.ZeroSumNormal.dist(np.array([[1.0], [2.0]]), shape=(2, 3)),
        np.array([[1.0, -3, 2], [0.5, 0, -0.5]]),
    ),
}


@pytest.mark.parametrize("case", PYMC)
def test_log_densities_are_those_of_pymc(case):
    """To 1e-7: PyMC keeps some constants, such as log 2π, in single precision."""
    make, x = PYMC[case]
    np.testing.assert_allclose(density(make(pd), x), pymc_density(make, x), rtol=1e-7)


@pytest.mark.parametrize(("n", "eta"), [(2, 1.0), (3, 2.5), (4, 1.0)])
def test_lkj_densities_are_those_of_pymc_but_for_its_constant(n, eta):
    """PyMC adds the log-normalizer where it is to be subtracted; it does not depend on the value."""
    chol = np.linalg.cholesky(np.cov(RNG.normal(size=(n, 20))))
    packed = chol[np.tril_indices(n)]
    constant = 2 * log_volume(eta, n).eval()
    make = lambda m: m.LKJCholeskyCov.dist(eta, n, m.HalfNormal.dist(2.0, size=n), compute_corr=False)
    oracle = pymc_density(make, packed)
    with_size = {True: lambda m: m.HalfNormal.dist(2.0), False: lambda m: m.HalfNormal.dist(2.0, size=n)}
    for size in (True, False):
        ours = density(pd.LKJCholeskyCov.dist(eta, n, with_size[size](pd), compute_corr=False), packed)
        np.testing.assert_allclose(
            ours + constant,
            pymc_density(
                lambda m: m.LKJCholeskyCov.dist(eta, n, m.HalfNormal.dist(2.0, size=n), compute_corr=False), packed
            ),
            rtol=1e-6,
        )
    r = (chol @ chol.T / np.sqrt(np.outer(*[np.diag(chol @ chol.T)] * 2)))[np.triu_indices(n, 1)]
    oracle = pymc_density(lambda m: m.LKJCorr.dist(n=n, eta=eta), r)
    np.testing.assert_allclose(density(pd.LKJCorr.dist(n, eta), r) + constant, oracle, rtol=1e-5)


def test_lkj_cholesky_cov_gives_the_factor_the_correlations_and_the_deviations():
    chol, corr, stds = pd.LKJCholeskyCov.dist(2.0, 3, pd.HalfNormal.dist(1.0))
    packed = np.array([1.0, 0.5, 2.0, -0.3, 0.2, 0.7])
    (draw,) = [node for node in chol.inputs if isinstance(node, pd.RandomVariable)]
    matrix = np.array([[1.0, 0, 0], [0.5, 2.0, 0], [-0.3, 0.2, 0.7]])
    cov = matrix @ matrix.T
    for got, expected in zip(
        (chol, corr, stds),
        (matrix, cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov))), np.sqrt(np.diag(cov))),
        strict=True,
    ):
        np.testing.assert_allclose(got.eval({draw: packed}), expected, rtol=1e-12)


# --- values outside, parameters known only later
@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: pd.Dirichlet.dist([1.0, 2.0]), [0.5, 0.6]),
        (lambda: pd.Dirichlet.dist([1.0, 2.0]), [-0.5, 1.5]),
        (lambda: pd.Multinomial.dist(5, [0.5, 0.5]), [2, 2]),
        (lambda: pd.Multinomial.dist(5, [0.5, 0.5]), [6, -1]),
        (lambda: pd.ZeroSumNormal.dist(1.0, shape=2), [1.0, 1.0]),
        (lambda: pd.LKJCorr.dist(3, 2.0), [0.9, 0.9, -0.9]),
        (lambda: pd.Wishart.dist(4, np.eye(2)), [[1.0, 2.0], [2.0, 1.0]]),
        (lambda: pd.LKJCholeskyCov.dist(1.0, 2, pd.HalfNormal.dist(1.0), compute_corr=False), [1.0, 0.0, -1.0]),
    ],
)
def test_a_value_outside_the_support_has_no_density(make, x):
    assert density(make(), np.array(x)) == -np.inf


def test_a_covariance_that_turns_out_not_to_be_positive_definite_has_no_density():
    cov = tt.matrix("cov")
    rv = pd.MvNormal.dist(np.zeros(2), cov)
    value = rv.family.log_density(np.zeros(2), *rv.parameters)
    assert value.eval({cov: np.array([[1.0, 2.0], [2.0, 1.0]])}) == -np.inf
    np.testing.assert_allclose(value.eval({cov: COV2}), mvn(np.zeros(2), COV2).logpdf([0, 0]))


BAD = {
    "MvNormal: cov must be positive definite, but its smallest eigenvalue is -1": (
        lambda: pd.MvNormal.dist(0, [[1.0, 2.0], [2.0, 1.0]])
    ),
    "MvNormal: cov must be symmetric": lambda: pd.MvNormal.dist(0, [[1.0, 0.2], [0.3, 1.0]]),
    "MvNormal: give exactly one of cov, tau, chol, got cov and tau": lambda: pd.MvNormal.dist(0, COV2, tau=COV2),
    "MvNormal: give exactly one of cov, tau, chol, got none": lambda: pd.MvNormal.dist(0),
    "MvNormal: mu has 3 entries, but the covariance is 2 by 2": lambda: pd.MvNormal.dist([1.0, 2, 3], COV2),
    "MvNormal: one value has the shape .2,. by its parameters": lambda: pd.MvNormal.dist(0, COV2, shape=(5, 3)),
    "MvNormal: cov must be a square matrix": lambda: pd.MvNormal.dist(0, np.ones((2, 3))),
    "MvNormal has no parameter 'covv'. Did you mean cov": lambda: pd.MvNormal.dist(0, covv=COV2),
    "chol must be a lower triangular matrix with a positive diagonal": lambda: pd.MvNormal.dist(0, chol=-np.eye(2)),
    "Dirichlet: a must be a vector of positive numbers, got": lambda: pd.Dirichlet.dist([1.0, -1.0]),
    "Multinomial: n must be an integer, not negative, got -1": lambda: pd.Multinomial.dist(-1, [0.5, 0.5]),
    "Multinomial: p must be probabilities that sum to 1": lambda: pd.Multinomial.dist(3, [0.0, 0.0]),
    "Multinomial: p are weights, none of them negative": lambda: pd.Multinomial.dist(3, [-0.5, 1.5]),
    "ZeroSumNormal needs the lengths": lambda: pd.ZeroSumNormal.dist(1.0),
    "ZeroSumNormal: sigma must have length one": lambda: pd.ZeroSumNormal.dist(np.ones(4), shape=4),
    "LKJCholeskyCov: sd_dist must be a distribution": lambda: pd.LKJCholeskyCov.dist(1.0, 2, 2.0),
    "LKJCholeskyCov: sd_dist has 3 entries, but n is 2": lambda: pd.LKJCholeskyCov.dist(
        1.0, 2, pd.HalfNormal.dist(1.0, size=3)
    ),
    "LKJCorr: eta must be positive": lambda: pd.LKJCorr.dist(3, -1.0),
    "Wishart: nu must exceed": lambda: pd.Wishart.dist(1, COV3),
    "CAR: W must be symmetric": lambda: pd.CAR.dist(0, np.array([[0, 1], [0, 0]]), 0.5, 1.0),
    "CAR: area 2 has no neighbor": lambda: pd.CAR.dist(0, np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), 0.5, 1.0),
    "CAR: alpha must be between -1 and 1": lambda: pd.CAR.dist(0, W, 1.5, 1.0),
    "ICAR: W must hold only zeros and ones": lambda: pd.ICAR.dist(2 * W),
    "MatrixNormal: give rowcov or rowchol, not both": lambda: pd.MatrixNormal.dist(0, COV2, COV2, COV2),
    "KroneckerNormal: give exactly one of covs, chols and evds": lambda: pd.KroneckerNormal.dist(0),
}


TOLD = (  # constants outside their domains, as in PyMC
    "chol must be a lower triangular matrix with a positive diagonal",
    "Dirichlet: a must be a vector of positive numbers, got",
    "Multinomial: n must be an integer, not negative, got -1",
    "Multinomial: p must be probabilities that sum to 1",
    "LKJCorr: eta must be positive",
    "Wishart: nu must exceed",
    "CAR: alpha must be between -1 and 1",
)


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_refused_where_they_are_given_and_laws_that_are_none_are_told(message):
    if message in TOLD:
        with pytest.warns(UserWarning, match=f"(?s){message}.*Its log-density is not finite"):
            BAD[message]()
        return
    with pytest.raises((ValueError, TypeError), match=message):
        BAD[message]()


def test_weights_that_do_not_sum_to_one_are_rescaled_with_a_warning():
    with pytest.warns(UserWarning, match="p parameters sum to 2"):
        rv = pd.Multinomial.dist(3, [0.5, 1.5])
    np.testing.assert_allclose(rv.parameters[1].eval(), [0.25, 0.75])


# --- shapes
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: pd.MvNormal.dist(0, COV3), (3,)),
        (lambda: pd.MvNormal.dist(0, COV3, shape=(5, 3)), (5, 3)),
        (lambda: pd.MvNormal.dist(0, COV3, size=5), (5, 3)),
        (lambda: pd.MvNormal.dist(np.zeros((4, 3)), COV3), (4, 3)),
        (lambda: pd.MvNormal.dist(np.zeros((4, 1, 3)), np.stack([COV3, COV3])), (4, 2, 3)),
        (lambda: pd.Dirichlet.dist(np.ones((4, 3))), (4, 3)),
        (lambda: pd.Multinomial.dist([1, 2, 3], [0.5, 0.5]), (3, 2)),
        (lambda: pd.ZeroSumNormal.dist(1.0, 2, shape=(2, 3, 4)), (2, 3, 4)),
        (lambda: pd.ZeroSumNormal.dist(np.ones((5, 1)), support_shape=4), (5, 4)),
        (lambda: pd.LKJCorr.dist(4, 1.0), (6,)),
        (lambda: pd.LKJCorr.dist(4, 1.0, return_matrix=True), (4, 4)),
        (lambda: pd.LKJCholeskyCov.dist(1.0, 4, pd.HalfNormal.dist(np.ones((7, 4))), compute_corr=False), (7, 10)),
        (lambda: pd.StickBreakingWeights.dist(np.ones(3), 4), (3, 5)),
        (lambda: pd.MatrixNormal.dist(0, rowcov=COV3, colcov=COV2, size=(2, 2)), (2, 2, 3, 2)),
        (lambda: pd.Wishart.dist(np.array([4.0, 5.0]), COV3), (2, 3, 3)),
    ],
)
def test_shapes(make, shape):
    assert make().type.shape == shape


def test_a_correlation_of_one_row_has_no_entries():
    assert ppl.draw(pd.LKJCorr.dist(1, 1.0, size=3), random_seed=1).shape == (3, 0)


# --- draws
DRAWS = 10_000
MOMENTS = {
    "MvNormal": lambda: pd.MvNormal.dist([1.0, 0, -1], COV3),
    "MvNormal tau": lambda: pd.MvNormal.dist([1.0, 0, -1], tau=COV3),
    "MvStudentT": lambda: pd.MvStudentT.dist(9.0, mu=[1.0, 0, -1], scale=COV3),
    "Dirichlet": lambda: pd.Dirichlet.dist([0.5, 1.0, 2.0]),
    "Dirichlet peaked": lambda: pd.Dirichlet.dist([1.5, 2.5, 4.0]),
    "Multinomial": lambda: pd.Multinomial.dist(10, [0.2, 0.3, 0.5]),
    "DirichletMultinomial": lambda: pd.DirichletMultinomial.dist(10, [0.5, 1.0, 2.0]),
    "ZeroSumNormal": lambda: pd.ZeroSumNormal.dist(2.0, shape=4),
    "ZeroSumNormal two axes": lambda: pd.ZeroSumNormal.dist(2.0, 2, shape=(2, 3)),
    "Wishart": lambda: pd.Wishart.dist(5, COV3),
    "MatrixNormal": lambda: pd.MatrixNormal.dist(np.ones((3, 2)), rowcov=COV3, colcov=COV2),
}


def draws(rv, seed=3, n=DRAWS):
    return rv.family.sample(Key.from_seed(seed), (n, *rv.type.shape), *rv.parameters).eval()


@pytest.mark.parametrize("case", MOMENTS)
def test_draws_have_the_declared_mean_and_variance(case):
    """Within six standard errors."""
    rv = MOMENTS[case]()
    x = draws(rv)
    mean, variance = (fact(*rv.parameters).eval() for fact in (rv.family.mean, rv.family.variance))
    error = np.sqrt(variance / DRAWS)
    np.testing.assert_array_less(np.abs(x.mean(axis=0) - mean), 6 * error)
    spread = np.sqrt(np.var((x - mean) ** 2, axis=0) / DRAWS)
    np.testing.assert_array_less(np.abs(((x - mean) ** 2).mean(axis=0) - variance), 6 * spread)


ENTROPIES = ["Dirichlet peaked", "MvNormal", "MvStudentT"]


@pytest.mark.parametrize("case", ENTROPIES)
def test_the_entropy_is_the_mean_of_minus_the_log_density_and_the_mode_is_above_all_draws(case):
    rv = MOMENTS[case]()
    x = draws(rv)
    terms = -rv.family.log_density(x, *rv.parameters).eval()
    entropy, mode = (fact(*rv.parameters).eval() for fact in (rv.family.entropy, rv.family.mode))
    np.testing.assert_array_less(np.abs(terms.mean(axis=0) - entropy), 6 * np.std(terms, axis=0) / np.sqrt(DRAWS))
    highest = rv.family.log_density(mode, *rv.parameters).eval()
    assert np.all(-terms <= highest)


COVARIANCES = {
    "MvNormal": (lambda: pd.MvNormal.dist(0, COV3), COV3),
    "MvNormal tau": (lambda: pd.MvNormal.dist(0, tau=COV3), np.linalg.inv(COV3)),
    "MvStudentT": (lambda: pd.MvStudentT.dist(12.0, scale=COV3), COV3 * 1.2),
    "KroneckerNormal": (
        lambda: pd.KroneckerNormal.dist(0, [COV3, COV2], sigma=0.5),
        np.kron(COV3, COV2) + np.eye(6) / 4,
    ),
    "MatrixNormal": (lambda: pd.MatrixNormal.dist(0, rowcov=COV3, colcov=COV2), np.kron(COV3, COV2)),
    "CAR": (lambda: pd.CAR.dist(0, W, 0.6, 2.0), np.linalg.inv(PRECISION)),
    "ICAR": (
        lambda: pd.ICAR.dist(W, 2.0, zero_sum_stdev=0.1),
        np.linalg.inv((np.diag(W.sum(0)) - W) / 4 + 1 / 0.4**2),
    ),
    "ZeroSumNormal": (lambda: pd.ZeroSumNormal.dist(2.0, shape=4), 4 * np.eye(4) - 1),
}


@pytest.mark.parametrize("case", COVARIANCES)
def test_draws_have_the_covariance(case):
    """Within 9 % of the largest variance, six standard errors."""
    make, cov = COVARIANCES[case]
    x = draws(make())
    found = np.cov(x.reshape(len(x), -1).T)
    assert np.abs(found - cov).max() < 0.09 * np.abs(cov).max()


def test_lkj_draws_have_beta_correlations_and_the_given_deviations():
    packed = draws(pd.LKJCholeskyCov.dist(2.0, 4, pd.HalfNormal.dist(1.5), compute_corr=False))
    chol = np.zeros((DRAWS, 4, 4))
    chol[:, *np.tril_indices(4)] = packed
    cov = chol @ chol.swapaxes(-1, -2)
    sd = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    corr = (cov / sd[:, :, None] / sd[:, None, :])[:, *np.triu_indices(4, 1)]
    a = 2.0 - 1 + 4 / 2  # each correlation r: (r + 1)/2 ~ Beta(a, a)
    for k in range(6):
        assert stats.kstest((corr[:, k] + 1) / 2, stats.beta(a, a).cdf).pvalue > 1e-4
        assert stats.kstest(sd[:, k % 4], stats.halfnorm(scale=1.5).cdf).pvalue > 1e-4
    vector = draws(pd.LKJCorr.dist(4, 2.0))
    for k in range(6):
        assert stats.kstest((vector[:, k] + 1) / 2, stats.beta(a, a).cdf).pvalue > 1e-4


def test_icar_draws_need_one_connected_map():
    W2 = np.kron(np.eye(2, dtype=int), np.array([[0, 1], [1, 0]]))
    with pytest.raises(ValueError, match="2 parts"):
        draws(pd.ICAR.dist(W2))


SKEWED = np.array([[1.0, 0.9], [0.1, 1.0]])


def test_a_computed_covariance_is_read_by_its_lower_triangle_in_the_density_and_in_draws():
    pm, pytensor = pytest.importorskip("pymc"), pytest.importorskip("pytensor")
    computed, read = shared(SKEWED), np.array([[1.0, 0.1], [0.1, 1.0]])
    x = np.array([1.0, 2.0])
    theirs = pm.logp(pm.MvNormal.dist(np.zeros(2), pytensor.shared(SKEWED)), x).eval(mode="FAST_COMPILE")
    assert ppl.logp(pd.MvNormal.dist(np.zeros(2), computed), x).eval() == pytest.approx(float(theirs), rel=1e-10)
    same = [ppl.draw(pd.MvNormal.dist(np.zeros(2), each), 4, random_seed=1) for each in (computed, read)]
    np.testing.assert_allclose(*same, rtol=1e-12)


def test_a_computed_factor_with_numbers_above_its_diagonal_has_no_density_and_no_draws():
    upper = pd.MvNormal.dist(np.zeros(2), chol=shared(SKEWED))
    assert ppl.logp(upper, np.zeros(2)).eval() == -np.inf
    with pytest.raises(ValueError, match="MvNormal: chol must be a lower triangular"):
        ppl.draw(upper)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", ["svd", "eigh"])
def test_singular_covariances_are_drawn_by_the_methods_that_pymc_has_for_them(method):
    rank_one, zeros = np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros((2, 2))
    draws = ppl.draw(pd.MvNormal.dist(np.ones(2), rank_one, method=method), 4000, random_seed=1)
    np.testing.assert_allclose(np.cov(draws.T), rank_one, rtol=0.1)
    np.testing.assert_allclose(draws[:, 1] - 1.0, 2 * (draws[:, 0] - 1.0), atol=1e-3)
    np.testing.assert_allclose(ppl.draw(pd.MvNormal.dist(np.ones(2), zeros, method=method), random_seed=1), 1.0)
    regular = pd.MvNormal.dist(np.ones(2), np.eye(2) + rank_one, method=method)
    plain = pd.MvNormal.dist(np.ones(2), np.eye(2) + rank_one)
    np.testing.assert_allclose(ppl.logp(regular, np.zeros(2)).eval(), ppl.logp(plain, np.zeros(2)).eval())
    for refused, options in (([[1.0, 2.0], [2.0, 1.0]], {"method": method}), (rank_one, {})):
        with pytest.raises(ValueError, match="cov must be positive definite"):
            pd.MvNormal.dist(np.ones(2), refused, **options)
