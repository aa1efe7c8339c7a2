"""Normal numbers by polynomials: the functions to the last places, the numbers by their law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from ppl.samplers.programs.box_muller import logarithm, normals_from, sine_and_cosine
from ppl.samplers.programs.randomness import chain_key, normals, own_settings


@pytest.fixture(autouse=True)
def _settings():
    with own_settings():
        yield


def test_the_logarithm_is_exact_to_a_few_units():
    rng = np.random.default_rng(0)
    u = np.concatenate([1 - np.arange(1000) * 2.0**-52, np.geomspace(2.0**-52, 1, 1000), rng.uniform(size=20_000)])
    found = np.asarray(jax.jit(logarithm)(jnp.asarray(u)))
    np.testing.assert_allclose(found, np.log(u), rtol=1e-15)


def test_sine_and_cosine_are_exact_to_a_few_units():
    x = np.linspace(-np.pi / 4, np.pi / 4, 20_001)
    sine, cosine = jax.jit(sine_and_cosine)(jnp.asarray(x))
    np.testing.assert_allclose(sine, np.sin(x), rtol=1e-15, atol=1e-17)
    np.testing.assert_allclose(cosine, np.cos(x), rtol=1e-15)


def test_the_extreme_bits_give_finite_numbers():
    bits = jnp.asarray([0, 2**64 - 1, 2**51, 2**12 - 1], jnp.uint64)
    found = np.asarray(normals_from(jnp.repeat(bits, 4), jnp.tile(bits, 4)))
    assert np.all(np.isfinite(found))
    assert 8.4 < np.abs(found).max() < 8.5  # √(2·52·log 2)


def test_the_numbers_are_standard_normal():
    """Error rate 1e-4 each; neighbors, and the two numbers of a pair, are independent."""
    n = 400_001
    z = np.asarray(jax.jit(lambda key: normals(key, n, jnp.float64))(jnp.asarray(chain_key(3, 1))))
    assert z.shape == (n,)
    assert stats.kstest(z, "norm").pvalue > 1e-4
    tail = (stats.norm.sf(np.abs(z[np.abs(z) > 2.5])) / stats.norm.sf(2.5)).clip(0, 1)
    assert stats.kstest(tail, "uniform").pvalue > 1e-4
    half = (n + 1) // 2
    for a, b in ((z[: half - 1], z[half:]), (z[:-1], z[1:])):
        radius, angle = np.hypot(a, b), np.arctan2(b, a)
        assert stats.kstest(angle[::2] / (2 * np.pi) + 0.5, "uniform").pvalue > 1e-4
        assert stats.kstest(np.exp(-0.5 * radius[::2] ** 2), "uniform").pvalue > 1e-4
        assert abs(np.corrcoef(a**2, b**2)[0, 1]) < 4 / np.sqrt(len(a))


@pytest.mark.parametrize("dim", [0, 1, 2, 7])
def test_any_length(dim):
    assert normals(jnp.asarray(chain_key(0, 0)), dim, jnp.float32).shape == (dim,)
