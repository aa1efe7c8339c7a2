"""Gaussian blocks: the joint density of a model as written is marginal times conditional, for every structure.

The oracle knows nothing of structures: it is the joint log-density of the families, whose second derivatives give mean
and covariance of all latent numbers at once. A model is one function; all go through the same laws.
"""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.linalg import block_diag, null_space
from some_slow import every

import ppl as pm
import ppl.tensor as tt
from ppl.compile import function
from ppl.distributions import (
    AR,
    Flat,
    Gamma,
    GaussianRandomWalk,
    HalfNormal,
    InverseGamma,
    KroneckerNormal,
    MatrixNormal,
    MvGaussianRandomWalk,
    MvNormal,
    Normal,
    ZeroSumNormal,
)
from ppl.graph import ancestors, substitute
from ppl.rewrites import optimize
from ppl.rewrites.marginalization import Observation, Program, plan
from ppl.rewrites.marginalization.costs import arithmetic, densities, evaluation
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.marginalization.gaussian.spectral import turned
from ppl.tensor.core.evaluate import to_jax
from ppl.tensor.linear_algebra.block_chains import chain_solution

pytestmark = pytest.mark.usefixtures("module_compiled_quickly")

RNG = np.random.default_rng(5)
GROUPS = RNG.integers(0, 5, 30)
GROUPS[GROUPS == 2] = 3  # an empty group
OTHER = RNG.integers(0, 3, 30)
COVARIATES = RNG.normal(size=(30, 2))
Y = RNG.normal(size=30) + 40.0
CHOL = np.array([[0.9, 0.0], [-0.4, 0.7]])
TIME = np.sort(RNG.choice(np.arange(12), 30))  # some times without a row


class Scales:
    """Standard deviations that are kept, and their values."""

    def __init__(self):
        self.tau, self.sigma = HalfNormal.dist(2.0, name="tau"), HalfNormal.dist(1.0, name="sigma")
        self.fixed = {self.tau: tt.as_tensor(0.7), self.sigma: tt.as_tensor(1.3)}


def normal(mean, scale, **kwargs):
    return Normal.dist(mean, scale, **kwargs)


def seen(mean, scale, value=Y, name="y"):
    return Observation(Normal.dist(mean, scale, shape=np.shape(value), name=name), tt.as_tensor(value))


def nested_intercepts(s):
    mu = normal(0.0, 20.0, name="mu")
    theta = normal(mu, s.tau, shape=(5,), name="theta")
    return [mu, theta], [seen(theta[GROUPS], s.sigma)]


def regression_and_varying_slopes(s):
    mu, beta = normal(0.0, 20.0, name="mu"), normal(0.0, 2.0, shape=(2,), name="beta")
    a, b = normal(mu, s.tau, shape=(5,), name="a"), normal(0.3, 0.8, shape=(5,), name="b")
    mean = a[GROUPS] + b[GROUPS] * COVARIATES[:, 0] + tt.dot(COVARIATES, beta)
    return [mu, beta, a, b], [seen(mean, s.sigma)]


def crossed_effects(s):
    mu = normal(0.0, 20.0, name="mu")
    a, b = normal(0.0, s.tau, shape=(5,), name="a"), normal(0.0, 0.6, shape=(3,), name="b")
    return [mu, a, b], [seen(mu + a[GROUPS] + b[OTHER], s.sigma)]


def known_scales_of_rows(s):
    mu = normal(0.0, 5.0, name="mu")
    theta = normal(mu, s.tau, shape=(8,), name="theta")
    known = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    return [mu, theta], [seen(theta, known, np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))]


def three_levels(s):
    mu = normal(0.0, 20.0, name="mu")
    district = normal(mu, 0.5, shape=(3,), name="district")
    school = normal(district[np.array([0, 0, 1, 2, 2])], s.tau, shape=(5,), name="school")
    return [mu, district, school], [seen(school[GROUPS], s.sigma)]


def three_levels_of_many(s):
    mu = normal(0.0, 20.0, name="mu")
    school = normal(mu, 0.5, shape=(9,), name="school")
    pupil = normal(school[np.arange(12) % 9], s.tau, shape=(12,), name="pupil")
    return [mu, school, pupil], [seen(pupil[TIME], s.sigma)]


def correlated_intercepts_and_slopes(s):
    mu = normal(0.0, 20.0, shape=(2,), name="mu")
    ab = MvNormal.dist(mu, chol=CHOL * s.tau, shape=(5, 2), name="ab")
    return [mu, ab], [seen(ab[GROUPS, 0] + ab[GROUPS, 1] * COVARIATES[:, 0], s.sigma)]


def correlated_non_centered(s):
    mu = normal(0.0, 20.0, shape=(2,), name="mu")
    z = normal(0.0, 1.0, shape=(2, 5), name="z")
    ab = mu + tt.dot(tt.as_tensor(CHOL) * s.tau, z).T
    return [mu, z], [seen(ab[GROUPS, 0] + ab[GROUPS, 1] * COVARIATES[:, 0], s.sigma)]


def intercepts_non_centered(s):
    mu, z = normal(0.0, 20.0, name="mu"), normal(0.0, 1.0, shape=(5,), name="z")
    return [mu, z], [seen((mu + s.tau * z)[GROUPS], s.sigma)]


def correlated_non_centered_by_rows(s):
    z = normal(0.0, 1.0, shape=(5, 2), name="z")
    ab = tt.dot(z, (tt.as_tensor(CHOL) * s.tau).T)
    return [z], [seen(40.0 + ab[GROUPS, 0] + ab[GROUPS, 1] * COVARIATES[:, 0], s.sigma)]


def a_normal_vector_and_its_observation(s):
    mu = MvNormal.dist(np.zeros(3), cov=np.eye(3) + 0.5, name="mu")
    cov = 0.3 * np.eye(3) + 0.2
    y = MvNormal.dist(mu, chol=np.linalg.cholesky(cov) * s.sigma, shape=(6, 3), name="y")
    return [mu], [Observation(y, tt.as_tensor(RNG.normal(size=(6, 3))))]


def a_process(s):
    t = np.linspace(0, 1, 12)
    cov = np.exp(-0.5 * (t[:, None] - t) ** 2 / 0.04) + 1e-4 * np.eye(12)
    f = MvNormal.dist(np.zeros(12), chol=np.linalg.cholesky(cov) * s.tau, name="f")
    return [f], [seen(f[TIME], s.sigma)]


def a_process_of_unknown_length_about_a_mean(s):
    t = np.linspace(0, 1, 12)
    cov = tt.exp(-0.5 * ((t[:, None] - t) / s.tau) ** 2) + 1e-2 * np.eye(12)
    mu = normal(0.0, 20.0, name="mu")
    f = MvNormal.dist(mu + np.zeros(12), cov=cov, name="f")
    return [mu, f], [seen(f + 1.5, s.sigma, Y[:12])]


def coefficients_of_unknown_covariance(s):
    x = np.cos(np.outer(np.arange(len(Y)), np.arange(1.0, 7.0)))
    b = MvNormal.dist(np.zeros(6), cov=s.tau * np.eye(6) + 0.5, name="b")
    return [b], [seen(40.0 + tt.dot(x, b), s.sigma)]


def a_scale_for_each_kind_of_row(s):
    mu, b = normal(40.0, 20.0, name="mu"), normal(0.0, 2.0, shape=(2,), name="b")
    scales = tt.stack([s.sigma, s.sigma * s.tau])
    return [mu, b], [seen(mu + tt.dot(COVARIATES, b), scales[OTHER % 2] * (1.0 + OTHER))]


def groups_with_a_scale_for_each_kind_of_row(s):
    mu = normal(0.0, 20.0, name="mu")
    theta = normal(mu, s.tau, shape=(3,), name="theta")
    return [mu, theta], [seen(theta[OTHER], tt.stack([s.sigma, 2.0 * s.tau])[GROUPS % 2])]


def a_walk(s):
    x = GaussianRandomWalk.dist(0.1, s.tau, init_dist=Normal.dist(0.0, 30.0), shape=(12,), name="x")
    return [x], [seen(x[TIME], s.sigma)]


def a_walk_with_regression(s):
    x = GaussianRandomWalk.dist(0.0, s.tau, init_dist=Normal.dist(0.0, 30.0), shape=(13,), name="x")
    beta = normal(0.0, 2.0, shape=(2,), name="beta")
    return [x, beta], [seen(x[TIME] + tt.dot(COVARIATES, beta), s.sigma)]


def an_autoregression(s):
    rho = tt.as_tensor(np.array([0.8])) * tt.exp(-s.tau)
    x = AR.dist(rho, s.tau, init_dist=Normal.dist(0.0, 1.0), shape=(12,), name="x")
    return [x], [seen(38.0 + x[TIME], s.sigma)]


def an_autoregression_of_order_three(s):
    x = AR.dist(np.array([0.5, -0.2, 0.3]), s.tau, init_dist=Normal.dist(0.0, 1.0), shape=(14,), name="x")
    mu = normal(0.0, 50.0, name="mu")
    return [mu, x], [seen(mu + x[TIME], s.sigma)]


def two_walks(s):
    level = GaussianRandomWalk.dist(0.0, s.tau, init_dist=Normal.dist(0.0, 30.0), shape=(12,), name="level")
    season = AR.dist(np.array([0.4]), 0.8, init_dist=Normal.dist(0.0, 1.0), shape=(12,), name="season")
    return [level, season], [seen(level[TIME] + season[TIME] * COVARIATES[:, 0], s.sigma)]


def a_walk_of_its_neighbors(s):
    x = GaussianRandomWalk.dist(0.0, s.tau, init_dist=Normal.dist(0.0, 30.0), shape=(12,), name="x")
    return [x], [seen(x[1:] + 0.5 * x[:-1], s.sigma, Y[:11])]


def walks_side_by_side(s):
    x = GaussianRandomWalk.dist(0.0, s.tau, init_dist=Normal.dist(20.0, 30.0), shape=(2, 12), name="x")
    return [x], [seen(x[0, TIME] + x[1, TIME] * COVARIATES[:, 0], s.sigma)]


def a_walk_of_vectors(s):
    first = MvNormal.dist(np.array([40.0, 0.0]), chol=5.0 * np.eye(2))
    x = MvGaussianRandomWalk.dist(np.array([0.1, 0.0]), chol=CHOL * s.tau, init_dist=first, shape=(12, 2), name="x")
    return [x], [seen((x[TIME] * COVARIATES).sum(axis=-1), s.sigma)]


def a_trend_of_noises(s):
    drift = normal(0.0, 2.0, name="drift")
    step, bend = normal(drift, 0.5, shape=(12,), name="step"), normal(0.0, 1.0, shape=(12,), name="bend")
    level = 40.0 + tt.cumsum(step + tt.cumsum(s.tau * bend))
    return [drift, step, bend], [seen(level[TIME], s.sigma)]


def a_trend_and_a_regression(s):
    slope = GaussianRandomWalk.dist(0.0, 0.3, init_dist=Normal.dist(0.0, 2.0), shape=(12,), name="slope")
    level = GaussianRandomWalk.dist(0.0, s.tau, init_dist=Normal.dist(0.0, 30.0), shape=(12,), name="level")
    beta = normal(0.0, 2.0, shape=(2,), name="beta")
    whole = level + tt.concatenate([np.zeros(1), tt.cumsum(slope[:-1])])
    return [slope, level, beta], [seen(whole[TIME] + tt.dot(COVARIATES, beta), s.sigma)]


def many_coefficients(s):
    x = np.concatenate([COVARIATES, COVARIATES**2, COVARIATES**3], axis=1)
    alpha, beta = normal(0.0, 50.0, name="alpha"), normal(0.2, 2.0, shape=(6,), name="beta")
    return [alpha, beta], [seen(alpha + tt.dot(x, beta), s.sigma)]


def many_coefficients_of_one_scale(s):
    x = np.concatenate([COVARIATES, COVARIATES**2, COVARIATES**3], axis=1)
    beta = normal(0.2, s.tau, shape=(6,), name="beta")
    return [beta], [seen(40.0 + tt.dot(x, beta), s.sigma)]


def many_coefficients_and_an_intercept_of_known_scale(s):
    x = np.concatenate([COVARIATES, COVARIATES**2, COVARIATES**3], axis=1)
    alpha, beta = normal(0.0, 50.0, name="alpha"), normal(0.2, s.tau, shape=(6,), name="beta")
    return [alpha, beta], [seen(alpha + tt.dot(x, beta), np.linspace(0.5, 2.0, 30))]


def many_coefficients_and_a_flat_one(s):
    x = np.concatenate([COVARIATES, COVARIATES**2, COVARIATES**3], axis=1)
    alpha, beta = Flat.dist(name="alpha"), normal(0.2, s.tau, shape=(6,), name="beta")
    return [alpha, beta], [seen(alpha + tt.dot(x, beta), s.sigma)]


BASIS = np.cos(np.linspace(0, 3, 30)[:, None] * np.arange(1, 6))


def basis_functions(s):
    mu, z = normal(0.0, 200.0, name="mu"), normal(0.0, 1.0, shape=(5,), name="z")
    return [mu, z], [seen(mu + BASIS @ (s.tau * tt.exp(-s.tau * np.arange(5)) * z), s.sigma)]


def basis_functions_and_groups(s):
    theta, z = normal(40.0, s.tau, shape=(5,), name="theta"), normal(0.0, 1.0, shape=(4,), name="z")
    smooth = (BASIS[:, 1:] * s.tau ** np.arange(4)) @ z
    return [theta, z], [seen(theta[GROUPS] + smooth - s.tau * np.sin(np.arange(30)), s.sigma)]


def two_bases_of_the_same_coefficients(s):
    z = normal(0.0, 1.0, shape=(3,), name="z")
    mean = BASIS[:, :3] @ (s.tau * np.arange(1, 4) * z) + BASIS[:, 3:5] @ (tt.exp(-s.tau * np.arange(2)) * z[1:])
    return [z], [seen(mean, s.sigma, Y - 40.0), seen(z[0] - z[2], s.tau, np.array(0.3), name="other")]


def groups_beside_a_slope_that_stays(s):
    mu = normal(0.0, 20.0, name="mu")
    theta = normal(mu, s.tau, shape=(5,), name="theta")
    return [mu, theta], [seen(theta[GROUPS] + s.tau * COVARIATES[:, 0] - s.sigma, s.sigma)]


def a_group_to_compare_with(s):
    a = normal(0.0, s.tau, shape=(4,), name="a")
    by_group = tt.index_update(40.0 + tt.zeros((5,)), 40.0 + a, slice(1, None))
    return [a], [seen(by_group[GROUPS], s.sigma)]


def a_choice_by_data(s):
    a, b = normal(40.0, s.tau, name="a"), normal(0.0, 2.0, shape=(5,), name="b")
    return [a, b], [seen(tt.switch(COVARIATES[:, 0] > 0, a, 40.0 + b[GROUPS]), s.sigma)]


def deviations_from_a_mean(s):
    mu, a = normal(0.0, 20.0, name="mu"), normal(0.0, s.tau, shape=(5,), name="a")
    return [mu, a], [seen(mu + (a - a.mean())[GROUPS], s.sigma)]


def on_a_grid(s):
    """The factors of a covariance over 5 rows and 6 columns, the first with a scale of its own."""
    rows, columns = np.arange(5.0), np.arange(6.0) ** 1.3
    first = tt.exp(-abs(rows[:, None] - rows) / s.tau)
    return [first, np.exp(-abs(columns[:, None] - columns))]


def a_process_on_a_grid(s):
    mu, beta = normal(0.0, 20.0, name="mu"), normal(0.0, 2.0, shape=(2,), name="beta")
    f = KroneckerNormal.dist(mu + tt.zeros((30,)), covs=on_a_grid(s), name="f")
    return [mu, beta, f], [seen(tt.dot(COVARIATES, beta) - 0.6 * f, s.sigma)]


def an_observed_grid(s):
    mu, beta = normal(0.0, 20.0, name="mu"), normal(0.0, 2.0, shape=(2,), name="beta")
    y = KroneckerNormal.dist(mu + tt.dot(COVARIATES, beta), covs=on_a_grid(s), sigma=s.sigma, name="y")
    return [mu, beta], [Observation(y, tt.as_tensor(Y))]


def an_observed_matrix(s):
    mu, rows = normal(0.0, 20.0, name="mu"), normal(0.0, 2.0, shape=(5, 1), name="rows")
    first, second = on_a_grid(s)
    y = MatrixNormal.dist(mu + rows + tt.zeros((5, 6)), rowcov=first, colcov=second, name="y")
    return [mu, rows], [Observation(y, tt.as_tensor(Y.reshape(5, 6)))]


CASES = [
    many_coefficients, many_coefficients_of_one_scale, many_coefficients_and_an_intercept_of_known_scale,
    many_coefficients_and_a_flat_one, a_scale_for_each_kind_of_row, groups_with_a_scale_for_each_kind_of_row,
    a_process_of_unknown_length_about_a_mean, coefficients_of_unknown_covariance,
    nested_intercepts, regression_and_varying_slopes, crossed_effects, known_scales_of_rows, three_levels,
    three_levels_of_many,
    correlated_intercepts_and_slopes, correlated_non_centered, correlated_non_centered_by_rows, intercepts_non_centered,
    a_normal_vector_and_its_observation, a_process, a_walk, a_walk_with_regression, an_autoregression,
    an_autoregression_of_order_three, two_walks, a_walk_of_its_neighbors, walks_side_by_side, a_walk_of_vectors,
    a_trend_of_noises, a_trend_and_a_regression, a_group_to_compare_with, a_choice_by_data, deviations_from_a_mean,
    a_process_on_a_grid, an_observed_grid, an_observed_matrix, basis_functions, basis_functions_and_groups,
    two_bases_of_the_same_coefficients, groups_beside_a_slope_that_stays,
]  # fmt: skip
each_model = pytest.mark.parametrize("model", CASES, ids=lambda c: c.__name__)


def made(model):
    """The latent variables, what is observed, the values of the scales, and the plan."""
    s = Scales()
    variables, observed = model(s)
    used = ancestors([p for f in [*variables, *[o.variable for o in observed]] for p in f.inputs])
    fixed = {x: v for x, v in s.fixed.items() if x in used}
    result = plan(Program((*fixed, *variables), tuple(observed)), protect=[x.name for x in fixed])
    return variables, observed, fixed, result


def dense_law(variables, observed, fixed):
    """Log of the integral of the joint density over the variables, their mean and their covariance."""
    sizes = [int(np.prod(rv.type.shape)) for rv in variables]
    flat = tt.dvector("flat")
    values, at = dict(fixed), 0
    for rv, size in zip(variables, sizes, strict=True):
        values[rv] = flat[at : at + size].reshape(rv.type.shape)
        at += size
    total = 0.0
    for rv in variables:
        total = total + tt.sum(rv.family.log_density(rv, *rv.parameters))
    for o in observed:
        total = total + tt.sum(o.variable.family.log_density(o.value, *o.variable.parameters))
    joint = to_jax([flat], substitute(total, values))
    quadratic = jax.jit(lambda q: (joint(q), jax.grad(joint)(q), jax.hessian(joint)(q)))
    with jax.enable_x64(True):
        _, slope, curvature = map(np.asarray, quadratic(np.zeros(at)))
        precision = -curvature
        mean = np.linalg.solve(precision, slope)
        top = float(quadratic(mean)[0])
    log_marginal = top + 0.5 * at * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    return log_marginal, mean, np.linalg.inv(precision)


def recovered_law(variables, fixed, result):
    """Mean and covariance of the recovered variables: their draws are affine in standard normal noise."""
    values = dict(fixed)
    for back in reversed(result.program.recoveries):  # the last elimination is undone first
        values.setdefault(back.variable, substitute(back.draw, values))
    recovered = tt.concatenate([values[rv].reshape((-1,)) for rv in variables])
    draws = [n for n in ancestors(recovered) if n.op.name == "draw"]
    noise = [tt.tensor(None, "float64", shape=d.type.shape) for d in draws]
    expression = substitute(recovered, dict(zip(draws, noise, strict=True)))
    zero = [np.zeros(n.type.shape) for n in noise]
    mean, *slopes = function(noise, [expression, *tt.jacobian(expression, noise)])(*zero)
    slope = np.concatenate([j.reshape(len(mean), -1) for j in slopes], axis=1)
    return mean, slope @ slope.T


@pytest.mark.parametrize("model", every(2, CASES), ids=lambda c: c.__name__)
def test_joint_is_marginal_times_conditional(model):
    variables, observed, fixed, result = made(model)
    assert {rv.name for rv in result.program.free} == {rv.name for rv in fixed}, str(result)
    log_marginal, mean, cov = dense_law(variables, observed, fixed)
    found = substitute(sum(t.density for t in result.program.terms), fixed).eval()
    np.testing.assert_allclose(found, log_marginal, rtol=1e-9)
    back, spread = recovered_law(variables, fixed, result)
    np.testing.assert_allclose(back, mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(spread, cov, rtol=1e-6, atol=1e-8)


PLANES = {  # of effects that add up to zero along each axis: a basis
    (5,): null_space(np.ones((1, 5))),
    (3, 4): np.kron(null_space(np.ones((1, 3))), null_space(np.ones((1, 4)))),
}


@pytest.mark.parametrize("shape", PLANES)
def test_effects_that_add_up_to_zero_go_as_independent_ones_along_a_basis_of_their_plane(shape):
    basis = PLANES[shape]

    def effects(s):
        mu, z = (
            normal(0.0, 20.0, name="mu"),
            ZeroSumNormal.dist(s.tau, n_zerosum_axes=len(shape), shape=shape, name="z"),
        )
        return [mu, z], [seen(mu + z.ravel()[GROUPS], s.sigma)]

    def along_basis(s):
        mu, w = normal(0.0, 20.0, name="mu"), normal(0.0, s.tau, shape=basis.shape[1:], name="w")
        return [mu, w], [seen(mu + tt.dot(basis, w)[GROUPS], s.sigma)]

    variables, _, fixed, result = made(effects)
    assert {rv.name for rv in result.program.free} == {"tau", "sigma"}, str(result)
    s = Scales()
    log_marginal, mean, cov = dense_law(*along_basis(s), s.fixed)
    there = block_diag(1.0, basis)
    found = substitute(sum(t.density for t in result.program.terms), fixed).eval()
    np.testing.assert_allclose(found, log_marginal, rtol=1e-9)
    back, spread = recovered_law(variables, fixed, result)
    np.testing.assert_allclose(back, there @ mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(spread, there @ cov @ there.T, rtol=1e-6, atol=1e-8)


# --- a variance that goes with its block
def regression(scale):
    beta = normal(0.0, 10.0 * scale, shape=(2,), name="beta")
    return [beta], [seen(40.0 + tt.dot(COVARIATES, beta), scale)]


def nested(scale):
    mu = Flat.dist(name="mu")
    theta = normal(mu, 0.5 * scale, shape=(5,), name="theta")
    return [mu, theta], [seen(theta[GROUPS], scale)]


def walk(scale):
    x = GaussianRandomWalk.dist(0.0, scale * 0.3, init_dist=Normal.dist(40.0, scale), shape=(12,), name="x")
    return [x], [seen(x[TIME], scale)]


ROOTS = {"variance": (InverseGamma, tt.sqrt), "precision": (Gamma, lambda x: 1 / tt.sqrt(x))}


@pytest.mark.parametrize("kind", ROOTS)
@pytest.mark.parametrize("shared", [regression, nested, walk], ids=lambda f: f.__name__)
def test_a_shared_variance_goes_with_its_block(shared, kind):
    family, root = ROOTS[kind]
    v = family.dist(3.0, 2.0, name="v")
    variables, observed = shared(root(v))
    result = plan(Program((v, *variables), tuple(observed)))
    assert result.free == (), str(result)
    marginal = function([], sum(t.density for t in result.program.terms))()
    posterior = {r.variable: r.draw for r in result.program.recoveries}[v]
    for at in (0.4, 1.7):
        fixed = {v: tt.as_tensor(at)}
        given, mean, cov = dense_law(variables, observed, fixed)
        prior, back = (law.family.log_density(fixed[v], *law.parameters).eval() for law in (v, posterior))
        np.testing.assert_allclose(given + prior - back, marginal, rtol=1e-9)
        found = recovered_law(variables, fixed, result)
        np.testing.assert_allclose(found[0], mean, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(found[1], cov, rtol=1e-6, atol=1e-8)


def test_a_variance_with_another_use_stays():
    v = InverseGamma.dist(3.0, 2.0, name="v")
    beta = normal(0.0, 1.0, name="beta")
    made = plan(Program((v, beta), (seen(beta, tt.sqrt(v)),)))
    assert made.free == ("v",)


# --- limits
def density_at(model, **scales):
    """The marginal of a model and its gradient at given scales."""
    f, names = density_of(model)
    return f(*[scales[name] for name in names])


def density_of(model):
    """The marginal of a model and its gradient, as a function of its scales, and their names."""
    _, _, fixed, result = made(model)
    inputs = {x: tt.dscalar(x.name) for x in fixed}
    term = substitute(sum(t.density for t in result.program.terms), inputs)
    return function(list(inputs.values()), [term, *tt.grad(term, list(inputs.values()))]), [x.name for x in fixed]


@pytest.mark.parametrize(
    "model",
    [
        regression_and_varying_slopes,
        a_walk_with_regression,
        many_coefficients,
        a_process_on_a_grid,
        an_observed_grid,
        an_observed_matrix,
    ],
)
def test_slopes_are_those_of_the_marginal(model):
    """Though the most likely values are held while slopes are taken."""
    f, names = density_of(model)
    at = np.array([{"tau": 0.7, "sigma": 1.3}[name] for name in names])
    for slope, way in zip(f(*at)[1:], 1e-4 * np.eye(len(at)), strict=True):
        np.testing.assert_allclose(slope, (f(*at + way)[0] - f(*at - way)[0]) / 2e-4, rtol=1e-6)


def test_second_derivatives_are_refused():
    _, _, fixed, result = made(nested_intercepts)
    at = {x: tt.dscalar(x.name) for x in fixed}
    density = to_jax(list(at.values()), substitute(sum(t.density for t in result.program.terms), at))
    with jax.enable_x64(True), pytest.raises(NotImplementedError, match="as written"):
        jax.hessian(density)(0.7, 1.3)


@pytest.mark.parametrize("model", [nested_intercepts, known_scales_of_rows, correlated_intercepts_and_slopes])
def test_a_scale_near_zero_is_the_limit(model):
    """The marginal is even and smooth in the scale of the groups: it levels off, with slope zero."""
    at = {tau: density_at(model, tau=tau, sigma=1.3) for tau in (1e-4, 1e-7, 1e-12)}
    for tau in (1e-7, 1e-12):
        np.testing.assert_allclose(at[tau][0], at[1e-4][0], rtol=1e-5)
        assert abs(at[tau][1]) * tau < 1e-3


@pytest.mark.parametrize("model", [nested_intercepts, a_walk, regression_and_varying_slopes])
def test_a_wide_prior_is_the_limit(model):
    """For a scale τ of n free numbers the marginal falls like -n log τ."""
    low, high = (density_at(model, tau=tau, sigma=1.3) for tau in (1e5, 1e7))
    slopes = [f[1] * tau for f, tau in ((low, 1e5), (high, 1e7))]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-4)
    np.testing.assert_allclose(high[0] - low[0], slopes[0] * np.log(100.0), rtol=1e-4)


# --- costs
STRUCTURES = [
    "coefficients", "groups", "groups by deviations", "pairs", "pairs by deviations", "basis functions",
    "groups and a slope that stays",
]  # fmt: skip


def of_rows(structure, n):
    """A model with n rows in the place of 30."""
    rng = np.random.default_rng(3)
    g, x, y = rng.integers(0, 5, n), rng.normal(size=(n, 6)), rng.normal(size=n)
    s = Scales()
    if structure == "coefficients":
        beta = normal(0.0, 2.0, shape=(6,), name="beta")
        variables, mean = [beta], tt.dot(x, beta)
    elif structure == "groups":
        mu = normal(0.0, 20.0, name="mu")
        theta = normal(mu, s.tau, shape=(5,), name="theta")
        variables, mean = [mu, theta], theta[g]
    elif structure == "groups by deviations":
        mu, z = normal(0.0, 20.0, name="mu"), normal(0.0, 1.0, shape=(5,), name="z")
        variables, mean = [mu, z], (mu + s.tau * z)[g]
    elif structure == "basis functions":
        mu, z = normal(0.0, 20.0, name="mu"), normal(0.0, 1.0, shape=(6,), name="z")
        variables, mean = [mu, z], mu + x @ (tt.exp(-s.tau * np.arange(6)) * z)
    elif structure == "groups and a slope that stays":
        theta = normal(0.0, s.tau, shape=(5,), name="theta")
        variables, mean = [theta], theta[g] + s.tau * x[:, 0]
    elif structure == "pairs by deviations":
        z = normal(0.0, 1.0, shape=(2, 5), name="z")
        ab = tt.dot(tt.as_tensor(CHOL) * s.tau, z).T
        variables, mean = [z], ab[g, 0] + ab[g, 1] * x[:, 0]
    else:
        mu = normal(0.0, 20.0, shape=(2,), name="mu")
        ab = MvNormal.dist(mu, chol=CHOL * s.tau, shape=(5, 2), name="ab")
        variables, mean = [mu, ab], ab[g, 0] + ab[g, 1] * x[:, 0]
    return plan(Program((s.tau, s.sigma, *variables), (seen(mean, s.sigma, y),)), protect=["tau", "sigma"])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_an_evaluation_costs_the_same_whatever_the_number_of_rows(structure):
    programs = [of_rows(structure, n).program for n in (1000, 10_000)]
    few, many = (arithmetic(optimize(densities(p.factors), once=is_data)) for p in programs)
    assert few == pytest.approx(many, abs=2)  # a difference may be written as a sum with a negative


def test_crossed_groups_that_would_cost_too_much_are_declined_in_part_unless_asked_for():
    rng = np.random.default_rng(3)
    s = Scales()
    a, b = normal(0.0, s.tau, shape=(400,), name="a"), normal(0.0, 1.0, shape=(250,), name="b")
    mean = a[rng.integers(0, 400, 800)] + b[rng.integers(0, 250, 800)]
    written = Program((s.tau, s.sigma, a, b), (seen(mean, s.sigma, rng.normal(size=800)),))
    made = plan(written)
    assert "a" not in made.free and "b" in made.free
    assert "would cost" in {k.name: k.why for k in made.kept}["b"]
    assert plan(written, eliminate=["b"]).free == ("tau", "sigma", "a")
    assert plan(written, eliminate=["a", "b"]).free == ("tau", "sigma")


# --- the laws have power: a planted fault is found
FAULTS = {
    "links of a chain counted at the wrong group": ("block.ahead", lambda values: values, a_walk),
    "links of a chain left out of its factor": (
        "chain.chain_solution",
        lambda d, b, h, **how: chain_solution(d, 0.0 * b, h, **how),
        a_walk,
    ),
    "columns turned without their volume": (
        "block.turned",
        lambda rows, n: replace(turned(rows, n), log_det=tt.as_tensor(0.0)),
        many_coefficients,
    ),
    "whitening that forgets the entries before": (
        "residuals._entry_by_entry",
        lambda d, chol: ((d[..., i], chol[i, i]) for i in range(d.type.shape[-1])),
        correlated_intercepts_and_slopes,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, monkeypatch):
    place, wrong, model = FAULTS[fault]
    path = f"ppl.rewrites.marginalization.gaussian.{place}"
    monkeypatch.setattr(path, wrong)
    with pytest.raises(AssertionError):
        test_joint_is_marginal_times_conditional(model)


def test_rows_of_a_few_scales_take_as_long_as_few_rows():
    """The arithmetic of an evaluation does not grow with the rows."""

    def work(rows):
        x, b, s = np.linspace(-1, 1, rows), Normal.dist(0.0, 1.0, shape=(2,), name="b"), Scales()
        scales = tt.stack([s.sigma, 2.0 * s.sigma, s.sigma**2])[np.arange(rows) % 3]
        observed = seen(b[0] + b[1] * x, scales, np.sin(x))
        fixed = [s.sigma]
        made = plan(Program((*fixed, b), (observed,)), protect=[s.sigma.name])
        assert made.free == (s.sigma.name,)
        return evaluation(made.program.factors)

    assert work(3000) == work(300)


def test_a_process_without_a_covariance_has_the_density_zero():
    """As it was written: where a parameter makes the covariance indefinite the density is -inf, not nan."""
    away = 1.0 - np.eye(6)
    with pm.Model() as model:
        r = pm.Uniform("r", -1, 1)
        f = pm.MvNormal("f", np.zeros(6), cov=np.eye(6) + r * away)
        pm.Normal("y", f, 1.0, observed=np.arange(6.0))
    density = model.compile_logp(rewrite=True)
    at = lambda r: float(density({"r_interval__": np.log((r + 1) / (1 - r))}))
    assert pm.explain(model).free == ("r",)
    assert np.isfinite(at(0.5)) and at(-0.9) == -np.inf
