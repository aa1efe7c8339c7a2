"""Laws of covariance functions, over all of them; and equality with PyMC's."""

import numpy as np
import pytest
from kernels_of_gp import CORNERS, KERNELS, inputs, kernel

import ppl as pm
import ppl.tensor as tt
from ppl.gp import cov

pytestmark = [
    pytest.mark.usefixtures("module_compiled_quickly"),
    pytest.mark.filterwarnings("ignore:Only . column"),
]
PARAMETERS = np.array([0.9, 0.7, 1.4])
BASES = {"BaseCovariance", "Covariance", "Combination", "Stationary", "Add", "Prod"}


def test_each_kernel_has_a_row():
    public = {name for name, value in vars(cov).items() if isinstance(value, type)} - BASES
    assert public <= {name.split()[0] for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_a_covariance_is_symmetric_and_positive_with_its_diagonal(name):
    X, Xs = inputs(name)
    k = kernel(name, PARAMETERS)
    full = k(X).eval()
    np.testing.assert_allclose(full, full.T, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(k(X, diag=True).eval(), np.diag(full), rtol=1e-13)
    assert np.linalg.eigvalsh(full).min() > -1e-12
    across = k(X, Xs).eval()
    assert across.shape == (7, 4)
    both = k(np.concatenate([X, Xs])).eval()
    np.testing.assert_allclose(across, both[:7, 7:], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_values_and_slopes_are_pymc_s(name, pymc5):
    import pytensor
    import pytensor.tensor as pt

    X, Xs = inputs(name)
    weights = np.random.default_rng(5).normal(size=(7, 11))
    theirs, ours = pt.dvector("p"), tt.dvector("p")

    def total(library, module, p):
        k = KERNELS[name](module, library, p)
        own = k(X)
        if name in CORNERS:
            own = own * (1 - np.eye(7))
        return library.sum(own * weights[:, :7]) + library.sum(k(X, Xs) * weights[:, 7:])

    a, b = total(pt, pymc5.gp.cov, theirs), total(tt, pm.gp.cov, ours)
    reference = pytensor.function([theirs], [a, pytensor.grad(a, theirs)], mode="FAST_COMPILE")
    found = pm.function([ours], [b, pm.grad(b, ours)])
    random = np.random.default_rng(1)
    for _ in range(20):
        p = random.uniform(0.4, 2.0, 3)
        for x, y in zip(found(p), reference(p), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-9 if name in CORNERS else 1e-10)


@pytest.mark.parametrize("name", ["ExpQuad", "Matern12", "Matern32", "Matern52", "Exponential", "RatQuad"])
def test_a_spectral_density_integrates_to_the_variance_and_back_to_the_kernel(name):
    more = {"alpha": 1.7} if name == "RatQuad" else {}
    k = getattr(cov, name)(1, ls=0.8, **more)
    omega = tt.dmatrix("omega")
    density = pm.function([omega], k.power_spectral_density(omega))
    grid = np.geomspace(1e-5, 1e5, 5_001)
    values = density(grid[:, None])
    inside = np.trapezoid(values * grid, np.log(grid)) / np.pi
    np.testing.assert_allclose(inside, 1.0, rtol=1e-4)
    fine = np.linspace(0, 400, 80_001)
    waves = np.trapezoid(density(fine[:, None]) * np.cos(0.7 * fine), fine) / np.pi
    np.testing.assert_allclose(waves, k(np.array([[0.0], [0.7]])).eval()[0, 1], atol=1e-4)


def test_spectral_densities_of_sums_and_multiples():
    a, b = cov.ExpQuad(1, ls=0.8), cov.Matern52(1, ls=0.5)
    omega = np.array([[0.3], [2.0]])
    expected = 2 * a.power_spectral_density(omega).eval() + b.power_spectral_density(omega).eval()
    np.testing.assert_allclose((2 * a + b).power_spectral_density(omega).eval(), expected, rtol=1e-14)
    with pytest.raises(NotImplementedError, match="products of covariance functions"):
        (a * b).power_spectral_density(omega)
    with pytest.raises(ValueError, match="non-stationary"):
        (a + cov.Linear(1, c=0.0)).power_spectral_density(omega)
    with pytest.raises(NotImplementedError, match="No power spectral density"):
        (a + cov.Cosine(1, ls=1.0)).power_spectral_density(omega)


def two(x):
    return 2.0 * tt.ones((x.shape[0],))


@pytest.mark.parametrize(
    "make", [lambda: cov.ExpQuad(1, ls=2.0), lambda: cov.Matern32(1, ls=2.0), lambda: cov.Gibbs(1, two)]
)
def test_inputs_far_from_zero_keep_their_digits(make):
    """Times in seconds: x² + x'² - 2xx' has no digit left of their distances."""
    near = np.arange(5.0)[:, None]
    np.testing.assert_allclose(make()(near + 1.7e9).eval(), make()(near).eval(), rtol=1e-14)
    np.testing.assert_allclose(make()(near + 1.7e9, near[:2] + 1.7e9).eval(), make()(near, near[:2]).eval(), rtol=1e-14)


def test_the_exponential_kernel_is_one_on_its_diagonal():
    np.testing.assert_array_equal(np.diag(cov.Exponential(1, ls=0.3)(np.zeros((3, 1))).eval()), 1.0)


@pytest.mark.parametrize("order", ["matern32", "matern52"])
def test_second_derivatives_at_distance_zero(order):
    """The covariance of derivatives: -k''(0) = 3/ℓ² and 5/3ℓ²."""
    x, y = tt.dscalar("x"), tt.dscalar("y")
    k = getattr(tt, order)((x - y) ** 2 / 0.7**2)
    second = pm.function([x, y], pm.grad(pm.grad(k, x), y))
    expected = {"matern32": 3, "matern52": 5 / 3}[order] / 0.7**2
    np.testing.assert_allclose(second(0.4, 0.4), expected, rtol=1e-12)


class Rough(cov.Covariance):
    """A user's own kernel, written in expressions."""

    def __init__(self, input_dim, ls, active_dims=None):
        super().__init__(input_dim, active_dims)
        self.ls = ls

    def full(self, X, Xs=None):
        X, Xs = self._slice(X, Xs)
        Xs = X if Xs is None else Xs
        return tt.exp(-tt.abs(X - Xs.T) / self.ls)

    def diag(self, X):
        return tt.ones(X.shape[0])


class Steps(cov.Stationary):
    """A user's own stationary kernel."""

    def full_from_distance(self, dist, squared=False):
        return tt.exp(-(tt.sqrt(dist + 1e-12) if squared else dist))


def test_users_own_kernels_join_the_algebra():
    X = np.linspace(0, 1, 4)[:, None]
    expected = cov.Matern12(1, ls=0.5)(X).eval()
    np.testing.assert_allclose((2 * Rough(1, 0.5) + np.eye(4))(X).eval(), 2 * expected + np.eye(4), rtol=1e-13)
    np.testing.assert_allclose((np.float64(3) * Steps(1, ls=0.5))(X).eval(), 3 * expected, rtol=1e-5)
    np.testing.assert_allclose((Rough(1, 0.5) ** 2)(X, diag=True).eval(), 1.0)


ONE = cov.ExpQuad(1, ls=1.0)
REFUSED = {
    "no table": (lambda: ONE(np.arange(3.0)), r"gp\.cov\.ExpQuad: inputs are a table.*Write X\[:, None\]"),
    "nan": (lambda: ONE(np.array([[1.0], [np.nan]])), r"gp\.cov\.ExpQuad: the inputs are nan in row 1"),
    "too few columns": (lambda: cov.ExpQuad(3, ls=1.0)(np.ones((4, 2))), "2 columns, and column 2 is among its active"),
    "length zero": (lambda: cov.Matern32(1, ls=0.0), r"gp\.cov\.Matern32: ls must be positive, got 0\.0"),
    "negative length": (lambda: cov.Matern32(2, ls=[1.0, -1.0]), "ls must be positive"),
    "three lengths": (lambda: cov.Matern32(2, ls=[1.0, 1.0, 2.0])(np.ones((4, 2))), "neither one number nor one for"),
    "both lengths": (lambda: cov.Matern32(1, ls=1.0, ls_inv=1.0), "Only one of 'ls' or 'ls_inv'"),
    "period zero": (lambda: cov.Periodic(1, period=0.0, ls=1.0), "period must be positive"),
    "active_dims": (lambda: cov.ExpQuad(1, ls=1.0, active_dims=[3]), "can't be larger than `input_dim`"),
    "other input_dim": (lambda: ONE + cov.ExpQuad(2, ls=1.0), "same `input_dim`"),
    "power of a vector": (lambda: ONE ** np.ones(2), "by a scalar value"),
    "kron columns": (lambda: cov.Kron([ONE, ONE])(np.ones((3, 3))), "3 columns, its kernels take"),
    "coregion": (lambda: cov.Coregion(1, W=np.ones((2, 1))), "W and kappa go together"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_named(name):
    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_more_columns_than_input_dim_are_told():
    with pytest.warns(UserWarning, match=r"Only 1 column\(s\) out of 2"):
        cov.ExpQuad(1, ls=1.0)(np.ones((3, 2)))


def test_duplicate_rows_have_correlation_one_and_slope_zero():
    ls = tt.dscalar("ls")
    X = np.array([[1.0], [1.0], [2.0]])
    for k in (cov.Matern12, cov.Matern32, cov.Matern52, cov.ExpQuad, cov.Cosine):
        K = k(1, ls=ls)(X)
        value, slope = pm.function([ls], [K[0, 1], pm.grad(K[0, 1], ls)])(0.7)
        assert (value, slope) == (1.0, 0.0)


@pytest.mark.parametrize("combine", [lambda k, m: m + k, lambda k, m: k * m])
def test_a_kernel_is_no_stack_of_matrices(combine):
    with pytest.raises(ValueError, match="cannot combine a covariance function with an array of 3 axes"):
        combine(pm.gp.cov.ExpQuad(1, ls=1.0), np.ones((2, 2, 2)))
