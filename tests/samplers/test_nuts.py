"""The compiled NUTS transition: integrator laws, and the same tree as the recursive reference."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from sampler_targets import funnel, oscillator, standard_normal
from scipy import stats

from ppl.samplers.adaptation.attend import padded
from ppl.samplers.adaptation.low_rank import Whitening
from ppl.samplers.kernels import hmc, nuts, reference
from ppl.samplers.kernels.integrators import INTEGRATORS, Point, at, leapfrog, step
from ppl.samplers.kernels.metrics import Metric, force, velocity
from ppl.samplers.kernels.nuts import JOIN, SIDE
from ppl.samplers.programs.randomness import mixed, normals, own_settings, uniform, word


@pytest.fixture(autouse=True)
def _settings():
    with own_settings():
        yield


def metric(dim: int, seed: int = 0, rank: int = 2) -> Metric:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(dim, rank)))[0]
    return Metric(
        jnp.asarray(rng.uniform(0.5, 2, dim)), jnp.asarray(basis.T), jnp.asarray(rng.uniform(-0.5, 2, rank)),
        jnp.asarray(rank),
    )  # fmt: skip


def unit(dim: int) -> Metric:
    return Metric(jnp.ones(dim), jnp.zeros((0, dim)), jnp.zeros(0), jnp.asarray(0))


def point(target, dim, seed=1):
    rng = np.random.default_rng(seed)
    x, p = jnp.asarray(rng.normal(size=dim)), jnp.asarray(rng.normal(size=dim))
    logp, g = jax.value_and_grad(target)(x)
    return at(metric(dim), x, p, g, logp)


def test_force_is_the_transpose_of_velocity():
    a = metric(5)
    matrix = jax.vmap(lambda e: velocity(a, e))(jnp.eye(5)).T
    transposed = jax.vmap(lambda e: force(a, e))(jnp.eye(5)).T
    np.testing.assert_allclose(transposed, matrix.T, atol=1e-14)


def test_a_low_rank_metric_is_the_formula_it_states():
    a = metric(5)
    u, c = np.asarray(a.basis).T, np.asarray(a.stretch)
    matrix = np.diag(np.asarray(a.scale)) @ (np.eye(5) + u @ np.diag(c) @ u.T)
    np.testing.assert_allclose(jax.vmap(lambda e: velocity(a, e))(jnp.eye(5)).T, matrix, atol=1e-14)


@pytest.mark.parametrize("rank", [0, 1, 4, 5, 8, 9, 16])
def test_all_columns_in_use_are_read(rank):
    rng = np.random.default_rng(rank)
    basis = np.linalg.qr(rng.normal(size=(20, 20)))[0][:, :rank]
    w = Whitening(rng.uniform(0.5, 2, 20), basis, rng.uniform(-0.5, 2, rank))
    a = padded(w, 16, np.dtype(float))
    matrix = np.diag(w.scale) @ (np.eye(20) + basis @ np.diag(w.stretch) @ basis.T)
    z = rng.normal(size=20)
    np.testing.assert_allclose(velocity(a, z), matrix @ z, atol=1e-13)
    np.testing.assert_allclose(force(a, z), matrix.T @ z, atol=1e-13)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_runs_back_to_its_start(name):
    start = point(oscillator, 4)
    end = travelled(name, -0.1, 20, travelled(name, 0.1, 20, start))
    np.testing.assert_allclose(end.position, start.position, atol=1e-12)
    np.testing.assert_allclose(end.momentum, start.momentum, atol=1e-12)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_preserves_volume(name):
    target = jax.value_and_grad(oscillator)

    def flow(z):
        logp, g = target(z[:3])
        end = step(target, INTEGRATORS[name], metric(3), jnp.asarray(0.1), at(metric(3), z[:3], z[3:], g, logp))
        return jnp.concatenate([end.position, end.momentum])

    jacobian = jax.jit(jax.jacfwd(flow))(jnp.asarray(np.random.default_rng(2).normal(size=6)))
    assert abs(np.linalg.det(jacobian) - 1) < 1e-10


@partial(jax.jit, static_argnums=0)
def travelled(name: str, size, steps, start: Point) -> Point:
    target, a = jax.value_and_grad(oscillator), metric(start.position.shape[0])
    return lax.fori_loop(0, steps, lambda _, s: step(target, INTEGRATORS[name], a, size, s), start)


def energy(s: Point) -> float:
    return float(0.5 * s.momentum @ s.momentum - s.logp)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_energy_error_has_the_declared_order(name):
    start = point(oscillator, 3)
    sizes = [0.05, 0.025, 0.0125]
    errors = [abs(energy(travelled(name, s, round(1 / s), start)) - energy(start)) for s in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert abs(slope - INTEGRATORS[name].order) < 0.3


def compiled(target, max_depth=10):
    """The compiled transition from a position and momentum, by a decision word."""
    both = jax.value_and_grad(target)

    @jax.jit
    def run(x, p, word, size):
        logp, g = both(x)
        start = at(unit(x.shape[0]), x, p, g, logp)
        depth = jnp.asarray(max_depth)
        return nuts.transition(both, leapfrog, max_depth, unit(x.shape[0]), size, depth, word, start)[:2]

    return run


def by_hash(word) -> reference.Decisions:
    """The decisions that the compiled transition hashes from ``word``."""
    number = lambda n: jnp.asarray(n)
    return reference.Decisions(
        to_right=lambda depth: bool(int(mixed(word, number(depth + SIDE))) >> 63),
        leaf_uniform=lambda n: float(uniform(word, number(n))),
        join_uniform=lambda depth: float(uniform(word, number(depth + JOIN))),
    )


CASES = [(standard_normal, 3, 0.15, 40), (standard_normal, 1, 0.4, 40), (oscillator, 2, 0.1, 30), (funnel, 4, 0.3, 40),
         (standard_normal, 2, 0.012, 6)]  # fmt: skip


@pytest.mark.parametrize(("target", "dim", "size", "times"), CASES, ids=lambda c: getattr(c, "__name__", str(c)))
def test_grows_the_same_tree_as_the_recursion(target, dim, size, times):
    rng = np.random.default_rng(dim)
    run = compiled(target)
    both = jax.jit(jax.value_and_grad(target))
    plain = lambda x: tuple(map(np.asarray, both(x)))
    depths = set()
    for _ in range(times):
        x, p = rng.normal(size=dim), rng.normal(size=dim)
        word = jnp.asarray(rng.integers(2**63), jnp.uint64)
        draw, info = run(x, p, word, size)
        logp, g = plain(x)
        expected = reference.transition(plain, size, 10, reference.Leaf(x, p, g, float(logp), 0), by_hash(word))
        found = (int(info.n_steps), int(info.depth), int(draw.offset), bool(info.diverging))
        assert found == (expected.n_steps, expected.depth, expected.draw.offset, expected.diverging)
        np.testing.assert_allclose(draw.position, expected.draw.position, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(info.acceptance, expected.acceptance, rtol=1e-6)
        depths.add(found[1])
    assert len(depths) > 1 or size < 0.1


def test_a_diverging_trajectory_says_so_and_stays():
    run = compiled(standard_normal)
    x = jnp.ones(2)
    draw, info = run(x, jnp.ones(2), jnp.asarray(1, jnp.uint64), 1e3)
    assert bool(info.diverging)
    assert int(info.n_steps) == 1
    np.testing.assert_array_equal(draw.position, x)


def test_a_region_without_density_is_never_entered():
    wall = lambda x: jnp.where(x[0] > 0, -0.5 * jnp.sum(x**2), jnp.nan)
    run = compiled(wall)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        draw, _ = run(jnp.abs(rng.normal(size=2)), rng.normal(size=2), jnp.asarray(seed, jnp.uint64), 0.3)
        assert float(draw.position[0]) > 0
        assert np.isfinite(float(draw.logp))


def test_weights_beyond_the_range_of_numbers_choose_all_the_same():
    """Over the step from 0 to 2000 lie points of weight e²⁰⁰⁰: one of them is taken, and every figure is finite."""
    ledge = lambda x: jnp.where(x[0] > 0, 2000.0, 0.0) - 0.5 * x[0] ** 2
    draw, info = compiled(ledge)(-jnp.ones(1), 2 * jnp.ones(1), jnp.asarray(5, jnp.uint64), 0.05)
    assert float(draw.position[0]) > 0 and float(info.max_energy_error) < -1999
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves((draw, info)))


def test_maximum_depth_is_reported():
    _, info = compiled(standard_normal, max_depth=3)(jnp.ones(2), jnp.ones(2), jnp.asarray(3, jnp.uint64), 1e-3)
    assert bool(info.at_max_depth)
    assert (int(info.depth), int(info.n_steps)) == (3, 7)


# Each kernel leaves its target as it is: draws moved once from exact draws are exact draws


def skewed(x):
    """Two independent coordinates with exact draws at hand: a Gumbel and a logistic one."""
    return -x[0] - jnp.exp(-x[0]) - x[1] - 2 * jnp.log1p(jnp.exp(-x[1]))


KERNELS = {
    "nuts": partial(nuts.transition, levels=5),
    "hmc": partial(hmc.transition, path_length=1.0),
}


@pytest.mark.parametrize("integrator", ["leapfrog", "minimal_norm_3"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("which", "size"), [(unit, 0.9), (metric, 0.4)], ids=["identity", "low_rank"])
def test_leaves_its_target_invariant(kernel, integrator, which, size):
    n = 6_000
    rng = np.random.default_rng(8)
    start = np.stack([rng.gumbel(size=n), rng.logistic(size=n)], axis=1)
    both, a = jax.value_and_grad(skewed), which(2)

    def move(x, key):
        logp, g = both(x)
        draw, info, *_ = KERNELS[kernel](
            both, integrator=INTEGRATORS[integrator], metric=a, step_size=jnp.asarray(size), max_depth=jnp.asarray(5),
            decisions=word(key), start=at(a, x, normals(key, 2, jnp.float64), g, logp),
        )  # fmt: skip
        return draw.position, info.acceptance

    keys = jnp.asarray(rng.integers(2**32, size=(n, 2)), jnp.uint32)
    moved, acceptance = jax.jit(jax.vmap(move))(jnp.asarray(start), keys)
    assert 0.4 < acceptance.mean() < 0.999  # errors large enough that a wrong choice would show
    assert np.mean(np.any(moved != start, axis=1)) > 0.4
    assert stats.kstest(moved[:, 0], "gumbel_r").pvalue > 1e-4
    assert stats.kstest(moved[:, 1], "logistic").pvalue > 1e-4
    both_low = np.mean((stats.gumbel_r.cdf(moved[:, 0]) < 0.5) & (stats.logistic.cdf(moved[:, 1]) < 0.5))
    assert abs(both_low - 0.25) < 4 * np.sqrt(0.1875 / n)
