"""Laws of processes against closed forms: what PyMC has wrong, what it has not, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy import stats

import ppl as pm
from ppl.gp.bases import FIRST
from ppl.gp.util import replace_with_values

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

X = np.linspace(0.0, 2.0, 12)[:, None]
NEW = np.array([[0.33], [1.1], [2.4]])
Y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=12)


def values(*expressions, model, **point):
    return replace_with_values(list(expressions), point, model=model)


def test_hsgp_periodic_has_the_covariance_of_its_kernel():
    """PyMC multiplies by variances in place of standard deviations, at half the length scale."""
    for ls in (0.3, 1.0, 2.5):
        kernel = pm.gp.cov.Periodic(1, period=1.3, ls=ls)
        gp = pm.gp.HSGPPeriodic(m=60, scale=1.7, cov_func=kernel)
        (cosines, sines), deviation = gp.prior_linearized(X)
        basis = np.concatenate([(cosines * deviation).eval(), (sines * deviation).eval()[:, 1:]], axis=1)
        np.testing.assert_allclose(basis @ basis.T, 1.7**2 * kernel(X).eval(), rtol=1e-10, atol=1e-10)


def test_slopes_of_hsgp_periodic_in_its_length_are_those_of_the_kernel():
    ls = pm.tensor.dscalar("ls")
    kernel = pm.gp.cov.Periodic(1, period=1.3, ls=ls)
    (cosines, sines), deviation = pm.gp.HSGPPeriodic(m=40, cov_func=kernel).prior_linearized(X)
    basis = pm.tensor.concatenate([cosines * deviation, (sines * deviation)[:, 1:]], axis=1)
    weights = np.random.default_rng(3).normal(size=(12, 12))
    slopes = [pm.grad(pm.math.sum(k * weights), ls) for k in (basis @ basis.T, kernel(X))]
    for at in (0.4, 1.2):
        np.testing.assert_allclose(*pm.function([ls], slopes)(at), rtol=1e-8)


def test_the_law_of_a_t_process_is_jointly_t():
    """PyMC rotates independent t variables, which are no t process."""
    kernel = pm.gp.cov.Matern52(1, ls=0.7)
    with pm.Model() as model:
        pm.gp.TP(scale_func=kernel, nu=4.0).prior("f", X=X[:4])
    v = np.array([0.3, -1.0, 2.0, 0.4])
    L = np.linalg.cholesky(kernel(X[:4]).eval() + 1e-6 * np.eye(4))
    density = stats.multivariate_t(shape=L @ L.T, df=4.0).logpdf(L @ v) + np.log(np.diag(L)).sum()
    np.testing.assert_allclose(model.compile_logp()({"f_rotated_": v}), density, rtol=1e-10)


def test_a_t_process_given_some_values_is_the_joint_law_over_the_marginal_one():
    """PyMC's scale is (ν + β - 2)/(ν + n - 2), as if the scale matrix were the covariance."""
    kernel, nu = pm.gp.cov.Matern32(1, ls=0.7), 5.0
    points = np.concatenate([X[:6], NEW])
    with pm.Model() as model:
        tp = pm.gp.TP(scale_func=kernel, nu=nu)
        tp.prior("f", X=points[:6], reparameterize=False)
        new = tp.conditional("new", points[6:])
    f, g = np.random.default_rng(2).normal(size=6), np.random.default_rng(3).normal(size=3)
    K = kernel(points).eval() + np.diag([1e-6] * 6 + [0.0] * 3)
    wanted = stats.multivariate_t(shape=K, df=nu).logpdf([*f, *g]) - stats.multivariate_t(
        shape=K[:6, :6], df=nu
    ).logpdf(f)
    df, mu, root = values(*new.parameters, model=model, f=f)
    np.testing.assert_allclose(stats.multivariate_t(loc=mu, shape=root @ root.T, df=df).logpdf(g), wanted, rtol=1e-8)


@pytest.mark.parametrize("diag", [False, True])
def test_noise_of_predictions_on_a_grid_is_a_variance(diag):
    """PyMC adds the standard deviation."""
    kernels = [pm.gp.cov.ExpQuad(1, ls=0.5), pm.gp.cov.Matern32(1, ls=0.7)]
    new = np.array([[0.3, 0.2], [0.9, 1.3]])
    with pm.Model() as model:
        gp = pm.gp.MarginalKron(cov_funcs=kernels)
        gp.marginal_likelihood("y", Xs=[X[:3], X[:4]], y=Y, sigma=0.3)
    mu, cov = gp.predict(new, diag=diag, pred_noise=True, model=model)
    grid = pm.math.cartesian(X[:3], X[:4])
    product = pm.gp.cov.Kron(kernels)
    K, across, own = product(grid).eval() + 0.09 * np.eye(12), product(grid, new).eval(), product(new).eval()
    wanted = own - across.T @ np.linalg.solve(K, across) + 0.09 * np.eye(2)
    np.testing.assert_allclose(mu, across.T @ np.linalg.solve(K, Y), rtol=1e-10)
    np.testing.assert_allclose(cov, np.diag(wanted) if diag else wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("boundary", FIRST)
@pytest.mark.parametrize("kernel", [pm.gp.cov.ExpQuad, pm.gp.cov.Matern52])
def test_hsgp_approaches_its_kernel_inside_any_boundary(boundary, kernel):
    cov = kernel(1, ls=0.4)
    gp = pm.gp.HSGP(m=[160], c=4.0, boundary=boundary, cov_func=cov)
    basis, deviation = (x.eval() for x in gp.prior_linearized(X))
    np.testing.assert_allclose((basis * deviation**2) @ basis.T, cov(X).eval(), atol=1e-4)


def test_eigenfunctions_are_orthonormal():
    from ppl.gp.hsgp_approx import calc_eigenvalues, calc_eigenvectors

    x = np.linspace(-1.5, 1.5, 4001)[:, None]
    for boundary in FIRST:
        phi = calc_eigenvectors(x, [1.5], calc_eigenvalues(1.5, [4], boundary), [4], boundary).eval()
        np.testing.assert_allclose(
            np.trapezoid(phi[:, :, None] * phi[:, None, :], x[:, 0], axis=0), np.eye(4), atol=1e-5
        )


@pytest.mark.parametrize("name", ["ExpQuad", "Matern52", "Matern32"])
@pytest.mark.parametrize("tol", [0.01, 0.001])
def test_hsgp_size_keeps_its_promise(name, tol):
    """The largest error of a covariance between 60 points, for all lengths of the range."""
    from ppl.gp.hsgp_approx import calc_eigenvalues, calc_eigenvectors

    family, points = getattr(pm.gp.cov, name), np.linspace(-1, 1, 60)[:, None]
    for low, high in ((0.2, 0.4), (0.1, 1.0)):
        m, c = pm.gp.hsgp_size([-1, 1], [low, high], family, tol)
        lam = calc_eigenvalues(c, [m])
        phi = calc_eigenvectors(points, [c], lam, [m]).eval()
        for ls in np.geomspace(low, high, 4):
            cov = family(1, ls=ls)
            found = (phi * cov.power_spectral_density(np.sqrt(lam)).eval()) @ phi.T
            assert np.abs(found - cov(points).eval()).max() < 1.3 * tol


def test_a_sum_of_processes_is_taken_apart_again():
    """The means of the parts, given data of the sum, add up to that of the sum; covariances by the closed form."""
    slow, fast = pm.gp.cov.ExpQuad(1, ls=1.0), pm.gp.cov.Matern32(1, ls=0.2)
    with pm.Model() as model:
        a, b = pm.gp.Marginal(cov_func=slow), pm.gp.Marginal(cov_func=fast)
        both = a + b
        both.marginal_likelihood("y", X=X, y=Y, sigma=0.1)
        given = {"X": X, "y": Y, "sigma": 0.1, "gp": both}
        parts = [gp.predict(NEW, given=given) for gp in (a, b)]
        total, _ = both.predict(NEW)
    np.testing.assert_allclose(parts[0][0] + parts[1][0], total, rtol=1e-9)
    K, across = (slow + fast)(X).eval() + (0.01 + 1e-6) * np.eye(12), slow(X, NEW).eval()
    wanted = slow(NEW).eval() - across.T @ np.linalg.solve(K, across) + 1e-6 * np.eye(3)
    np.testing.assert_allclose(parts[0][1], wanted, atol=1e-9)
    assert model.observed_RVs[0].name == "y"


def test_noise_of_older_programs_is_understood():
    with pm.Model(), pytest.warns(FutureWarning, match="noise= is called sigma="):
        gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        gp.marginal_likelihood("y", X=X, y=Y, noise=0.1)
    with pytest.warns(FutureWarning, match="renamed to gp.MarginalApprox"):
        sparse = pm.gp.MarginalSparse(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0), approx="FITC")
    with pm.Model(), pytest.warns(FutureWarning, match="noise= is called sigma="):
        sparse.marginal_likelihood("y", X=X, Xu=X[::4], y=Y, noise=0.1)
    with pm.Model(), pytest.raises(TypeError, match="sigma is given twice"):
        gp.marginal_likelihood("y", X=X, y=Y, sigma=0.1, noise=0.1)
    with pm.Model(), pytest.raises(TypeError, match="missing a required argument: 'sigma'"):
        gp.marginal_likelihood("y", X=X, y=Y)


def process(kind, **options):
    return kind(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0), **options)


ONE = pm.gp.cov.ExpQuad(1, ls=1.0)
REFUSED = {
    "unset": (AttributeError, lambda: process(pm.gp.Latent).X, r"'X' not set\.  Provide as argument to condition"),
    "two kinds": (TypeError, lambda: process(pm.gp.Latent) + process(pm.gp.Marginal), "Cannot add different GP types"),
    "t added": (TypeError, lambda: process(pm.gp.TP, nu=3) + process(pm.gp.TP, nu=3), "aren't additive"),
    "no nu": (ValueError, lambda: pm.gp.TP(), "degrees of freedom parameter, 'nu'"),
    "hsgp added": (NotImplementedError, lambda: process(pm.gp.HSGP, m=[3], c=2) + 1, "Additive HSGPs"),
    "approx": (NotImplementedError, lambda: process(pm.gp.MarginalApprox, approx="SVGP"), "VFE"),
    "m": (ValueError, lambda: process(pm.gp.HSGP, m=3, c=2), "must be sequences with one element per active dimension"),
    "c and L": (ValueError, lambda: process(pm.gp.HSGP, m=[3]), "Provide one of `c` or `L`"),
    "L": (ValueError, lambda: process(pm.gp.HSGP, m=[3], L=[0.0]), "L must be positive"),
    "boundary": (ValueError, lambda: process(pm.gp.HSGP, m=[3], c=2, boundary="open"), "one of dirichlet, neumann"),
    "outside": (ValueError, lambda: process(pm.gp.HSGP, m=[3], L=[0.5]).prior_linearized(X), "the box ends at L = 0.5"),
    "unset L": (RuntimeError, lambda: process(pm.gp.HSGP, m=[3], c=2).L, "required but still unset"),
    "no Periodic": (ValueError, lambda: process(pm.gp.HSGPPeriodic, m=3), "instance of a `Periodic` kernel only"),
    "y too short": (ValueError, lambda: process(pm.gp.Marginal).marginal_likelihood("y", X, Y[:3], 0.1), "12 points"),
    "y nan": (ValueError, lambda: process(pm.gp.Marginal).marginal_likelihood("y", X, Y * np.nan, 0.1), "y is nan at"),
    "axes": (ValueError, lambda: pm.gp.LatentKron(cov_funcs=[ONE]).prior("f", [X, X]), "for each X"),
    "hsgp prior": (ValueError, lambda: process(pm.gp.HSGP, m=[3], c=2).conditional("g", X), "Prior is not set"),
    "missing values": (ValueError, lambda: predicted_without_values(), "Values for ls must be included"),
}  # fmt: skip


def predicted_without_values():
    gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=pm.HalfNormal("ls")))
    gp.marginal_likelihood("y", X, Y, 0.1)
    gp.predict(NEW, {})


@pytest.mark.filterwarnings("ignore:Use the scale_func")
@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_named(name):
    kind, make, message = REFUSED[name]
    with pm.Model(), pytest.raises(kind, match=message):
        make()


def test_many_new_points_between_old_ones_are_drawn_though_their_covariance_has_no_factor():
    """PyMC's Cholesky factor fails there (pymc issue 8108)."""
    kernel = pm.gp.cov.ExpQuad(1, ls=1.0)
    with pm.Model() as model:
        gp = pm.gp.Latent(cov_func=kernel)
        gp.prior("f", X=X, reparameterize=False)
        new = gp.conditional("new", np.linspace(0, 2, 80)[:, None])
    f = np.sin(X[:, 0])
    mu, root = values(*new.parameters[:2], model=model, f=f)
    assert np.isfinite(root).all() and np.abs(mu - np.sin(np.linspace(0, 2, 80))).max() < 1e-2


def test_a_lifted_factor_is_the_factor_where_there_is_one_and_nan_where_nothing_helps():
    import ppl.tensor as tt

    A = np.array([[2.0, 0.3], [0.3, 1.0]])
    np.testing.assert_array_equal(tt.cholesky_lifted(A).eval(), np.linalg.cholesky(A))
    ones = tt.cholesky_lifted(np.ones((4, 4)) - 1e-9 * np.eye(4)).eval()
    np.testing.assert_allclose(ones @ ones.T, np.ones((4, 4)), atol=1e-7)
    assert np.isnan(tt.cholesky_lifted(-A).eval()).any()
    a = tt.dmatrix("a")
    slopes = [pm.grad(tt.sum(f(a) * np.arange(4.0).reshape(2, 2)), a) for f in (tt.cholesky_lifted, tt.cholesky)]
    lifted, plain = pm.function([a], slopes)(A)
    np.testing.assert_allclose(lifted + lifted.T, plain + plain.T, rtol=1e-12)


def test_a_basis_moves_with_its_data():
    """The box stays where the first points put it, so that set_data predicts."""
    with pm.Model() as model:
        data = pm.Data("X", X)
        gp = pm.gp.HSGP(m=[8], c=2.0, cov_func=pm.gp.cov.Matern52(1, ls=0.5))
        f = gp.prior("f", X=data)
        other = gp.conditional("g", NEW)
        coefficients = np.arange(8.0)
        pm.set_data({"X": NEW})
    f, g = values(f, other, model=model, f_hsgp_coeffs=coefficients)
    np.testing.assert_allclose(f, g, rtol=1e-12)


def test_plot_gp_dist_draws_bands_and_lines():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    draws = np.random.default_rng(1).normal(size=(50, 12))
    assert pm.gp.util.plot_gp_dist(ax, draws, X) is ax
    assert len(ax.collections) == 40 and len(ax.lines) == 30
    with pytest.raises(ValueError, match="a column for each point"):
        pm.gp.util.plot_gp_dist(ax, draws.T, X)
    plt.close(figure)


def test_inducing_points_are_among_the_points():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        centers = pm.gp.util.kmeans_inducing_points(3, np.random.default_rng(1).normal(size=(60, 2)), rng=5)
    assert centers.shape == (3, 2) and np.abs(centers).max() < 3
