"""Threefry written out gives the numbers of `jax.random`, bit for bit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ppl.tensor.sampling import standard_draws
from ppl.xla import threefry

KEYS = np.random.default_rng(1).integers(0, 2**32, (3, 2), dtype=np.uint32)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True), jax.threefry_partitionable(True):
        yield


def typed(key):
    return jax.random.wrap_key_data(jnp.asarray(key), impl="threefry2x32")


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (5, 4), (9000,)])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_bits(shape, dtype):
    found = jax.jit(jax.vmap(lambda key: threefry.bits(key, shape, dtype)))(KEYS)
    wanted = [jax.random.bits(typed(key), shape, dtype) for key in KEYS]
    assert found.dtype == dtype and np.array_equal(found, wanted)


@pytest.mark.parametrize("number", [0, 7, 2**31, 2**32 - 1])
def test_keys_of_keys(number):
    for key in KEYS:
        wanted = jax.random.key_data(jax.random.fold_in(typed(key), jnp.uint32(number)))
        assert np.array_equal(threefry.fold_in(key, np.uint32(number)), wanted)
        assert np.array_equal(jax.random.key_data(threefry.fold_in(typed(key), np.uint32(number))), wanted)
        assert np.array_equal(
            threefry.folded(KEYS[None], number), [[threefry.fold_in(k, np.uint32(number)) for k in KEYS]]
        )
        assert np.array_equal(threefry.split(key, 3), jax.random.key_data(jax.random.split(typed(key), 3)))


def test_uniform_doubles():
    found = standard_draws.uniform(typed(KEYS[0]), (9,), np.float64)
    assert np.array_equal(found, jax.random.uniform(typed(KEYS[0]), (9,), np.float64))


def test_other_words_are_refused():
    with pytest.raises(TypeError, match="bits: random words are uint32 or uint64, got uint8"):
        threefry.bits(KEYS[0], (3,), np.uint8)


def test_long_words_are_not_cut():
    with jax.enable_x64(False):
        assert threefry.bits(KEYS[0], (2,), np.uint32).dtype == np.uint32
        with pytest.raises(TypeError, match="cut to 32"):
            threefry.bits(KEYS[0], (2,), np.uint64)
