"""Kernels of normal approximations are exact for normal targets, and know when they have arrived."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from ppl.samplers.approximate.draws import antithetic
from ppl.samplers.approximate.full_rank import at_mode, full_rank
from ppl.samplers.approximate.lbfgs import minimize
from ppl.samplers.approximate.mean_field import mean_field
from ppl.samplers.approximate.normal import Normal, quality
from ppl.samplers.approximate.pareto import generalized_pareto, smoothed
from ppl.samplers.approximate.pathfinder import law_at, next_diagonal, path, pooled
from ppl.samplers.approximate.target import Target


def log_normal(x, precision, mean):
    away = x - mean
    return -0.5 * away @ precision @ away


@pytest.fixture(scope="module", params=[2, 12])
def gaussian(request):
    """A badly scaled, correlated normal target, its mean and covariance."""
    dim, rng = request.param, np.random.default_rng(request.param)
    root = rng.standard_normal((dim, dim))
    scale = 10.0 ** rng.uniform(-1, 1, dim)
    precision = (root @ root.T / dim + 0.1 * np.eye(dim)) * np.outer(scale, scale)
    mean = rng.standard_normal(dim) * 3
    return Target(log_normal, dim, (precision, mean), key="a normal target"), mean, np.linalg.inv(precision)


def test_mean_field_has_the_precisions_and_linear_response_the_variances(gaussian):
    target, mean, covariance = gaussian
    found = mean_field(target, np.zeros(len(mean)))
    assert found.converged
    np.testing.assert_allclose(found.sd, 1 / np.sqrt(np.diagonal(np.linalg.inv(covariance))), rtol=1e-6)
    sd = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(found.mean / sd, mean / sd, atol=1e-5)
    np.testing.assert_allclose(found.response.covariance / np.outer(sd, sd), covariance / np.outer(sd, sd), atol=1e-6)


def test_full_rank_has_the_covariance(gaussian):
    target, mean, covariance = gaussian
    before = target.evaluations
    found = full_rank(target, np.zeros(len(mean)))
    sd = np.sqrt(np.diagonal(covariance))
    assert found.converged and target.evaluations - before < 600
    np.testing.assert_allclose(found.law.covariance / np.outer(sd, sd), covariance / np.outer(sd, sd), atol=1e-6)
    np.testing.assert_allclose(found.law.mean / sd, mean / sd, atol=1e-6)
    good = quality(target, found.law)
    assert good.pareto_k < 0 and good.elbo_error < 1e-6
    evidence = 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    assert good.elbo == pytest.approx(evidence, abs=1e-6) == good.log_evidence


def test_batch_and_match_needs_no_good_start(gaussian):
    target, mean, covariance = gaussian
    far = Normal(mean + 5, np.eye(len(mean)))
    found = full_rank(target, mean, law=far)
    sd = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(found.law.covariance / np.outer(sd, sd), covariance / np.outer(sd, sd), atol=1e-5)


def test_laplace_is_exact(gaussian):
    target, mean, covariance = gaussian
    point, factor, converged, _ = at_mode(target, np.zeros(len(mean)))
    sd = np.sqrt(np.diagonal(covariance))
    assert converged
    np.testing.assert_allclose(point / sd, mean / sd, atol=1e-6)
    np.testing.assert_allclose(factor @ factor.T / np.outer(sd, sd), covariance / np.outer(sd, sd), atol=1e-6)


def test_pathfinder_draws_from_it(gaussian):
    target, mean, covariance = gaussian
    rng = np.random.default_rng(0)
    paths = [path(target, mean + rng.uniform(-2, 2, len(mean)), seed=i) for i in range(4)]
    found = pooled(target, paths, 2000, 4000)
    sd = np.sqrt(np.diagonal(covariance))
    assert found.pareto_k < 0.5
    assert np.max(np.abs(found.points.mean(axis=0) - mean) / sd) < 0.1
    np.testing.assert_allclose(found.points.std(axis=0), sd, rtol=0.08)


def test_the_law_of_a_path_is_that_of_bfgs():
    """Against the dense recursion, with the same diagonal; its density against SciPy's."""
    rng, dim = np.random.default_rng(3), 7
    root = rng.standard_normal((dim, dim))
    precision = root @ root.T / dim + 0.2 * np.eye(dim)
    steps = rng.standard_normal((4, dim))
    changes = steps @ precision
    alpha = np.ones(dim)
    for s, z in zip(steps, changes, strict=True):
        alpha = next_diagonal(alpha, s, z)
    inverse = np.diag(alpha)
    for s, z in zip(steps, changes, strict=True):
        left = np.eye(dim) - np.outer(z, s) / (s @ z)
        inverse = left.T @ inverse @ left + np.outer(s, s) / (s @ z)
    slope = rng.standard_normal(dim)
    law = law_at(np.ones(dim), slope, alpha, steps.T, changes.T)
    np.testing.assert_allclose(law.covariance, inverse, atol=1e-12)
    np.testing.assert_allclose(law.mean, 1 + inverse @ slope, atol=1e-12)
    points = law.at(rng.standard_normal((5, dim)))
    np.testing.assert_allclose(law.log_density(points), stats.multivariate_normal(law.mean, inverse).logpdf(points))
    assert np.cov(law.at(rng.standard_normal((200_000, dim))).T) == pytest.approx(inverse, abs=0.05)


def test_a_funnel_is_not_taken_for_normal():
    """The importance ratios of a normal law have a long tail here, and are said to."""
    funnel = Target(lambda x: -0.5 * x[0] ** 2 / 9 - 0.5 * (x[1:] ** 2 * np.e ** (-x[0])).sum() - 2 * x[0], 5)
    assert quality(funnel, Normal(np.zeros(5), np.ones(5))).pareto_k > 0.7


def test_full_rank_fits_end_where_there_is_no_mode():
    """A centered hierarchy, whose density rises without end in the neck of the funnel."""

    def density(x):
        return (
            -0.5 * x[0] ** 2
            + x[1]
            - 0.5 * (x[1] / 2) ** 2
            - 4 * x[1]
            - 0.5 * (((x[2:] - x[0]) ** 2).sum() * jnp.exp(-2 * x[1]) + ((x[2:] - 1.0) ** 2).sum() / 9)
        )

    found = full_rank(Target(density, 6), np.zeros(6))
    assert np.all(np.isfinite(found.law.sd)) and len(found.losses) > 1


@pytest.mark.parametrize("shape", [-0.3, 0.2, 0.8])
def test_the_shape_of_a_tail_is_found(shape):
    excess = np.sort(stats.genpareto(shape, scale=2.0).rvs(4000, random_state=1))
    k, scale = generalized_pareto(excess)
    assert k == pytest.approx(shape, abs=0.05)
    assert scale == pytest.approx(2.0, rel=0.1)


def test_smoothed_weights_are_those_of_arviz():
    arviz = pytest.importorskip("arviz")
    ratios = np.random.default_rng(4).standard_t(3, size=2000)
    found = smoothed(ratios)
    weights, shape = arviz.psislw(ratios)
    assert found.shape == pytest.approx(float(shape), abs=0.02)
    np.testing.assert_allclose(found.log_weights, np.asarray(weights), atol=0.05)


def test_opposite_draws_have_exact_moments():
    z = antithetic(16, 5, seed=1)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(z.T @ z / 16, np.eye(5), atol=1e-12)


def rosenbrock(x):
    slope = np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, slope


def test_searches_end_at_the_minimum_and_remember_their_way():
    found = minimize(rosenbrock, np.array([-1.2, 1.0]))
    np.testing.assert_allclose(found.point, [1, 1], atol=1e-6)
    assert found.converged and found.looks < 80
    assert np.all(np.diff(found.values) < 0) and len(found.points) == len(found.gradients)


def test_searches_back_away_from_where_there_is_no_value():
    """log x - x, whose minimum lies beside a wall."""
    found = minimize(lambda x: (float(x[0] - np.log(x[0])) if x[0] > 0 else np.nan, 1 - 1 / x), np.array([20.0]))
    np.testing.assert_allclose(found.point, 1, atol=1e-6)


def test_a_search_without_an_end_says_so():
    assert not minimize(lambda x: (-float(x[0]), -np.ones(1)), np.zeros(1), most=20).converged
