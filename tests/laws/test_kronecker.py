"""Kronecker products by the eigenvectors of their factors: the density is that of the matrix written out, with its
derivatives, also where eigenvalues meet, and processes on grids go into the law of what is seen and come back."""

from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exact_elimination import along_a_line, both_sides
from scipy import stats

import ppl as pm
import ppl.tensor as tt
from ppl.distributions.families.kronecker_normal import with_factors
from ppl.distributions.formulas import eigenbasis
from ppl.model.posterior.rewriting import program_of, rewritten
from ppl.rewrites import strict
from ppl.rewrites.marginalization import words
from ppl.tensor.core.evaluate import to_jax
from ppl.tensor.tensor import TensorType, placeholder

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch):
    monkeypatch.setattr(strict, "on", True)


def smooth(n, length=1.0):
    """A squared-exponential kernel: its small eigenvalues are rounding."""
    t = np.linspace(0.0, 1.0, n)
    return np.exp(-0.5 * (t[:, None] - t) ** 2 / length**2)


def rough(n):
    a = RNG.normal(size=(n, n))
    return a @ a.T + 0.1 * np.eye(n)


# --- the density
FACTORS = {
    "two": [rough(4), rough(3)],
    "one": [rough(5)],
    "three": [rough(2), rough(3), rough(2)],
    "a unit matrix": [np.eye(3), rough(4)],
    "unit matrices": [np.eye(2), np.eye(3)],
    "equal pairs": [np.kron(np.eye(2), rough(2)), rough(2)],
    "nearly equal": [np.eye(3) + 1e-14 * rough(3), rough(2)],
    "rounding": [smooth(9), smooth(7, 3.0)],
}
each = pytest.mark.parametrize("which", FACTORS)


def ours(factors):
    """The density as a JAX function of x, σ and the factors, of which the symmetric parts count."""
    n = int(np.prod([len(k) for k in factors]))
    x, sigma = placeholder(TensorType("float64", (n,))), placeholder(TensorType("float64", ()))
    symbols = [placeholder(TensorType("float64", k.shape)) for k in factors]
    density = with_factors(len(factors)).log_density(x, tt.zeros(n), sigma, *symbols)
    f = to_jax([x, sigma, *symbols], density)
    return lambda x, sigma, *covs: jnp.reshape(f(x, sigma, *[(c + c.T) / 2 for c in covs]), ())


def written_out(x, sigma, *covs):
    matrix = reduce(jnp.kron, [(c + c.T) / 2 for c in covs]) + sigma**2 * jnp.eye(x.size)
    root = jnp.linalg.cholesky(matrix)
    z = jax.scipy.linalg.solve_triangular(root, x, lower=True)
    return -0.5 * z @ z - jnp.log(jnp.diag(root)).sum() - 0.5 * x.size * np.log(2 * np.pi)


def along(f, way):
    """The second derivative of f along a way."""
    return lambda *at: jax.jacfwd(jax.jacfwd(lambda h: f(*[x + h * d for x, d in zip(at, way, strict=True)])))(0.0)


def pairs(which, order, sigma=0.4):
    """Derivatives of an order by us and of the matrix written out, to be compared; second ones along some ways."""
    factors, rng = FACTORS[which], np.random.default_rng(3)
    at = (rng.normal(size=int(np.prod([len(k) for k in factors]))), sigma, *factors)
    ways = [[rng.normal(size=np.shape(x)) for x in at] for _ in range(3)]
    derive = {
        0: lambda f: [f],
        1: lambda f: [jax.grad(f, tuple(range(len(at))))],
        2: lambda f: [along(f, way) for way in ways],
    }
    with jax.enable_x64(True):
        found = [[jax.jit(g)(*at) for g in derive[order](f)] for f in (ours(factors), written_out)]
        return [tuple(map(np.asarray, both)) for both in zip(*map(jax.tree.leaves, found), strict=True)]


@each
@pytest.mark.parametrize("order", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_density_and_its_derivatives_are_those_of_the_matrix(which, order):
    for found, expected in pairs(which, order):
        scale = 1.0 + np.abs(expected).max()
        np.testing.assert_allclose(found / scale, expected / scale, rtol=1e-9, atol=1e-9)


def test_third_derivatives_are_refused():
    x = np.ones(6)
    with jax.enable_x64(True), pytest.raises(NotImplementedError, match="third derivatives"):
        jax.jacfwd(jax.hessian(ours([rough(2), rough(3)]), 2), 2)(x, 0.4, rough(2), rough(3))


@pytest.mark.parametrize("order", [1, 2])
def test_vectors_held_still_without_what_moves_are_found_out(order, monkeypatch):
    """The planted fault: first and second derivatives need the entries off the diagonal."""
    whole = eigenbasis.axes_of
    monkeypatch.setattr(eigenbasis, "axes_of", lambda matrix: whole(matrix)._replace(rest=None))
    with pytest.raises(AssertionError):
        test_the_density_and_its_derivatives_are_those_of_the_matrix("two", order)


INDEFINITE = np.diag([2.0, 1.0, -1e-6])
IMPOSSIBLE = {
    "a factor is indefinite": (1.0, INDEFINITE, np.eye(2)),
    "two factors are negative definite": (1.0, -np.eye(3), -np.eye(2)),
    "a scale is negative": (-1.0, np.eye(3), np.eye(2)),
    "a factor of no noise is indefinite": (0.0, INDEFINITE, np.eye(2)),
}


@pytest.mark.parametrize("why", IMPOSSIBLE)
def test_what_is_no_covariance_has_no_density(why):
    sigma, *covs = IMPOSSIBLE[why]
    given = [placeholder(TensorType("float64", c.shape)) for c in covs]
    noise = 0.0 if sigma == 0.0 else placeholder(TensorType("float64", ()))
    density = with_factors(2).log_density(tt.ones(6), tt.zeros(6), tt.as_tensor(noise), *given)
    values = dict(zip(given, covs, strict=True)) | ({} if sigma == 0.0 else {noise: np.asarray(sigma)})
    assert density.eval(values) == -np.inf


def test_vectors_and_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="vectors of length 5 meet a product with 6 columns"):
        tt.kron_times(np.ones(5), np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="one matrix or more, got the shapes"):
        tt.kron_times(np.ones(5))


# --- processes on grids
M, N = 3, 4
T1, T2 = np.arange(M) / 2.0, np.array([0.0, 0.3, 1.0, 1.1])
K1, K2 = (np.exp(-abs(t[:, None] - t)) for t in (T1, T2))
Y, X = RNG.normal(size=(M, N)) + 2.0, RNG.normal(size=(M * N, 2))


def kernels(known=False):
    if known:
        return [K1, K2]
    length, tau = pm.HalfNormal("length", 1.0), pm.HalfNormal("tau", 1.0)
    return [tau**2 * pm.math.exp(-abs(T1[:, None] - T1) / length), tt.as_tensor(K2)]


def noise():
    return pm.HalfNormal("sigma", 1.0)


def vector(**options):
    return pm.KroneckerNormal(
        "f", options.pop("mu", 0.3 * X[:, 0]), covs=options.pop("covs", None) or kernels(), **options
    )


def seen(mean, y=Y, sigma=None):
    pm.Normal("y", mean, noise() if sigma is None else sigma, observed=y)


def matrix(**options):
    rows, columns = kernels()
    return pm.MatrixNormal("f", np.zeros((M, N)), rowcov=rows, colcov=columns, **options)


def many():
    f = pm.KroneckerNormal("f", np.zeros(M * N), covs=kernels(), shape=(2, M * N))
    seen(f.reshape((2, M, N)), np.stack([Y, -Y]))


def by_factors():
    lower = pm.LKJCholeskyCov("lower", n=M, eta=2.0, sd_dist=pm.HalfNormal.dist(1.0), compute_corr=False)
    lower = pm.expand_packed_triangular(M, lower)
    seen(pm.MatrixNormal("f", np.zeros((M, N)), rowchol=lower, colchol=np.linalg.cholesky(K2)))


GRIDS = {
    "a vector": lambda: seen(vector(), Y.ravel()),
    "a vector in the shape of the grid": lambda: seen(vector().reshape((M, N))),
    "a matrix": lambda: seen(matrix()),
    "a transposed grid": lambda: seen(matrix().T, Y.T),
    "a vector backwards": lambda: seen(vector()[::-1], Y.ravel()),
    "known factors": lambda: seen(vector(covs=[K1, K2]), Y.ravel()),
    "known factors of one amplitude": lambda: seen(
        vector(covs=[pm.HalfNormal("tau", 1) ** 2 * K1, tt.as_tensor(K2)]), Y.ravel()
    ),
    "a multiple": lambda: seen(1.0 - 0.7 * vector(), Y.ravel()),
    "a random multiple": lambda: seen(1.0 + pm.Normal("c", 0, 1) * vector(), Y.ravel()),
    "noise of its own": lambda: seen(2.0 * vector(sigma=pm.HalfNormal("own", 1)), Y.ravel()),
    "one factor": lambda: seen(vector(mu=np.zeros(M), covs=[kernels()[0]]), Y[:, 0]),
    "three factors": lambda: seen(
        vector(mu=np.zeros(2 * M * N), covs=[*kernels(), np.eye(2) + 0.5]), np.tile(Y, 2).ravel()
    ),
    "a stack": many,
    "factors by their roots": by_factors,
    "scales that are alike": lambda: seen(vector(), Y.ravel(), noise() * np.ones(M * N)),
    "other variables beside it": lambda: seen(
        pm.StudentT("a", 4) + vector() + X @ pm.Laplace("slopes", 0, 1, shape=2), Y.ravel()
    ),
}  # fmt: skip


def made(write):
    with pm.Model() as model:
        write()
    return model


@pytest.mark.parametrize("which", GRIDS)
def test_the_joint_is_the_law_of_what_is_seen_times_that_of_the_process(which):
    model = made(GRIDS[which])
    plan = pm.explain(model)
    assert "f" not in plan.free and any(s.rule == words.PROCESS and s.eliminated == ("f",) for s in plan.steps), str(
        plan
    )
    sides = both_sides(program_of(model), plan.program, 3)
    assert np.isfinite(sides.joint).all()
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-9, atol=1e-9)


def test_a_process_in_single_precision_comes_back_in_it():
    with tt.config.change_flags(floatX="float32"):
        model = made(GRIDS["a matrix"])
        (recovery,) = pm.explain(model).program.recoveries
        assert recovery.draw.dtype == recovery.variable.dtype == "float32"


def in_a_block():
    mu, beta = pm.Normal("mu", 0.0, 5.0), pm.Normal("beta", 0.5, 2.0, shape=2)
    return mu + X @ beta


BLOCKS = {
    "the mean of a process": lambda: seen(vector(mu=in_a_block()), Y.ravel()),
    "beside a process": lambda: seen(in_a_block() + vector(), Y.ravel()),
    "an observed vector with noise": lambda: pm.KroneckerNormal(
        "y", in_a_block(), covs=kernels(), sigma=noise(), observed=Y.ravel()
    ),
    "an observed vector": lambda: pm.KroneckerNormal("y", in_a_block(), covs=kernels(), observed=Y.ravel()),
    "an observed vector of known factors": lambda: pm.KroneckerNormal(
        "y", in_a_block(), covs=[pm.HalfNormal("tau") ** 2 * K1, tt.as_tensor(K2)], sigma=noise(), observed=Y.ravel()
    ),
    "an observed matrix": lambda: pm.MatrixNormal(
        "y", in_a_block().reshape((M, N)), rowcov=kernels()[0], colcov=K2, observed=Y
    ),
    "observed vectors": lambda: pm.KroneckerNormal(
        "y", in_a_block(), covs=kernels(), sigma=noise(), observed=np.stack([Y.ravel(), X @ [1.0, 2.0]])
    ),
    "effects of rows and columns": lambda: seen(
        vector().reshape((M, N)) + pm.Normal("rows", 0, 1, shape=(M, 1)) + pm.Normal("columns", 0, 1, shape=N)
    ),
    "part of the cells": lambda: seen(pm.Normal("mu", 0, 5) + vector()[np.array([0, 2, 3, 7])], Y.ravel()[:4]),
    "two observations": lambda: (
        (f := vector()),
        seen(f, Y.ravel(), 0.4),
        pm.Normal("again", f, noise(), observed=1.0 + Y.ravel()),
    ),
    "scales of rows": lambda: seen(vector(), Y.ravel(), noise() * np.linspace(1, 2, M * N)),
}  # fmt: skip
NAMES = {"mu", "beta", "f", "rows", "columns"}


@pytest.mark.parametrize("which", BLOCKS)
def test_the_joint_is_the_marginal_of_a_block_times_its_recovery(which):
    model = made(BLOCKS[which])
    gone = sorted({rv.name for rv in model.free_RVs} & NAMES)
    plan = pm.explain(model, eliminate=gone)
    sides = both_sides(program_of(model), plan.program, 3)
    assert np.isfinite(sides.joint).all()
    np.testing.assert_allclose(sides.product, sides.joint, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("which", [*BLOCKS, *GRIDS])
def test_slopes_of_the_marginal_are_those_of_finite_differences(which):
    model = made({**BLOCKS, **GRIDS}[which])
    gone = sorted({rv.name for rv in model.free_RVs} & NAMES)
    slope, expected = along_a_line(rewritten(model, eliminate=gone, moved=False), 8)
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-7)


DECLINED = {
    '"y" and "z" depend on it': lambda f, n: (seen(f, np.ones(n)), pm.Normal("z", f, 1.0, observed=np.ones(n))),
    'the rows of "y" have more than one scale': lambda f, n: seen(f, np.ones(n), np.linspace(1, 2, n)),
    'not one row of "y" for each': lambda f, n: seen(f[1:], np.ones(n - 1)),
    "not one number times its entries": lambda f, n: seen(np.linspace(1, 2, n) * f, np.ones(n)),
    '"y" is Poisson, not Normal': lambda f, n: pm.Poisson("y", pm.math.exp(f), observed=np.ones(n)),
    '"y" is StudentT, not Normal': lambda f, n: pm.StudentT("y", 4, f, observed=np.ones(n)),
    "its mean is not affine": lambda f, n: seen(f**2, np.ones(n)),
    'the potential "p" depends on it': lambda f, n: pm.Potential("p", -(f.sum() ** 4)),
}


@pytest.mark.parametrize("why", DECLINED)
def test_what_is_no_grid_stays_and_says_why_where_it_is_too_large_to_be_written_out(why):
    with pm.Model() as model:
        f = pm.KroneckerNormal("f", np.zeros(625), covs=[smooth(25) + np.eye(25)] * 2)
        DECLINED[why](f, 625)
    plan = pm.explain(model)
    assert plan.free[0] == "f" and why.replace("its mean", 'the mean of "y"') in plan.kept[0].why


def test_parameters_outside_their_domains_are_as_impossible_as_before():
    with pm.Model() as model:
        s, own, c = pm.Normal("s"), pm.Normal("own"), pm.Normal("c")
        f = pm.KroneckerNormal("f", np.zeros(M * N), covs=[c * K1, K2], sigma=own)
        pm.Normal("y", f, s, observed=Y.ravel())
    density = model.compile_logp(rewrite=True)
    assert np.isfinite(density({"s": 0.3, "own": 0.2, "c": 1.0}))
    for bad in ({"s": -0.3}, {"own": -0.2}, {"c": -1e-3}):
        assert density({"s": 0.3, "own": 0.2, "c": 1.0} | bad) == -np.inf


def test_a_block_of_an_impossible_covariance_has_no_density():
    with pm.Model() as model:
        s, c = pm.Normal("s"), pm.Normal("c")
        pm.KroneckerNormal("y", pm.Normal("mu"), covs=[c * K1, K2], sigma=s, observed=Y.ravel())
    density = model.compile_logp(rewrite=True)
    assert np.isfinite(density({"s": 0.3, "c": 1.0}))
    for bad in ({"s": -0.3}, {"c": -1e-3}):
        assert density({"s": 0.3, "c": 1.0} | bad) == -np.inf


@pytest.mark.parametrize("far", [1e6, -1e6])
def test_no_digit_is_lost_far_from_zero_beside_other_rows(far):
    """Sums over the rows of z are of what is left of them, though the rows of the grid have weights that move."""

    def density(far):
        with pm.Model() as model:
            mu = pm.Flat("mu")
            pm.KroneckerNormal("y", mu, covs=[K1, K2], sigma=noise(), observed=Y.ravel() + far)
            pm.Normal("z", mu, pm.HalfNormal("s"), observed=np.linspace(-1, 1, 40) + far)
        return model.compile_logp(rewrite=True)({"sigma_log__": -0.3, "s_log__": 0.2})

    np.testing.assert_allclose(density(far), density(0.0), rtol=1e-9)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_no_digit_is_lost_far_from_zero(far):
    """Residuals of a random mean a million standard deviations away."""
    with pm.Model() as model:
        mu, tau, s = pm.Flat("mu"), pm.HalfNormal("tau"), noise()
        f = pm.KroneckerNormal("f", mu + np.zeros(M * N), covs=[tau**2 * K1, tt.as_tensor(K2)])
        pm.Normal("y", f, s, observed=Y.ravel() + far)
    found = model.compile_logp(rewrite=True)({"tau_log__": np.log(0.7), "sigma_log__": np.log(0.4)})
    covariance = 0.49 * np.kron(K1, K2) + 0.16 * np.eye(M * N)
    inverse = np.linalg.inv(covariance)
    d = Y.ravel() - inverse.sum(axis=0) @ Y.ravel() / inverse.sum()
    expected = stats.multivariate_normal(np.zeros(M * N), covariance).logpdf(d)
    expected += 0.5 * np.log(2 * np.pi / inverse.sum())
    expected += sum(stats.halfnorm.logpdf(x) + np.log(x) for x in (0.7, 0.4))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_smooth_process_comes_back_as_it_is_written_in_textbooks():
    """Kernels without a Cholesky factor: mean and covariance of f given y, within six standard errors."""
    a, b, s = smooth(8, 0.8), smooth(5, 1.5), 0.5
    y = RNG.normal(size=40)
    with pm.Model():
        f = pm.KroneckerNormal("f", np.zeros(40), covs=[pm.Data("a", a), pm.Data("b", b)])
        pm.Normal("y", f, s, observed=y)
        drawn = pm.sample(4000, chains=1, random_seed=2, progressbar=False, quiet=True).posterior.f.values[0]
    k = np.kron(a, b)
    gain = k @ np.linalg.inv(k + s**2 * np.eye(40))
    mean, covariance = gain @ y, k - gain @ k
    error = np.sqrt(np.diag(covariance) / 4000)
    np.testing.assert_array_less(abs(drawn.mean(axis=0) - mean), 6 * error + 1e-12)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=6 * np.sqrt(2 / 4000) * spread.max() ** 2)


def test_a_process_on_a_grid_of_500_cells_is_sampled():
    """Lengths, amplitude and noise that made the data lie where their posterior is, and the process comes back."""
    rows, columns = np.linspace(0, 1, 20), np.linspace(0, 1, 25)
    kernel = lambda t, l: pm.math.exp(-0.5 * (t[:, None] - t) ** 2 / l**2) + 1e-6 * np.eye(len(t))
    roots = [np.linalg.cholesky(kernel(t, l).eval()) for t, l in ((rows, 0.3), (columns, 0.2))]
    rng = np.random.default_rng(4)
    truth = 1.0 + roots[0] @ rng.normal(size=(20, 25)) @ roots[1].T
    y = truth + 0.3 * rng.normal(size=(20, 25))
    with pm.Model() as model:
        length, eta, s = pm.Gamma("length", 5, 15, shape=2), pm.HalfNormal("eta"), noise()
        covs = [eta**2 * kernel(rows, length[0]), kernel(columns, length[1])]
        f = pm.KroneckerNormal("f", pm.Normal("mu", 0, 3) + np.zeros(500), covs=covs)
        pm.Normal("y", f.reshape((20, 25)), s, observed=y)
        drawn = pm.sample(300, tune=300, chains=2, random_seed=1, progressbar=False, quiet=True).posterior
    assert pm.explain(model).ndim == 4
    for name, true in (("length", [0.3, 0.2]), ("eta", 1.0), ("sigma", 0.3)):
        mean, spread = drawn[name].mean(("chain", "draw")).values, drawn[name].std(("chain", "draw")).values
        np.testing.assert_array_less(abs(mean - true), 4 * spread)
    off = drawn.f.mean(("chain", "draw")).values.reshape(20, 25) - truth
    assert np.sqrt(np.mean(off**2)) < 0.15
