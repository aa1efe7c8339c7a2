"""Random numbers inside a transition: threefry for what must be excellent, a counter hash for what must be cheap.

A transition draws its momentum from threefry, JAX's cryptographic-style generator, keyed by (seed, chain, draw). Its
many small decisions (go left or right? take this leaf?) come from one 64-bit word of the same key, mixed with a
counter by the finalizer of splitmix64 (Steele, Lea & Flood 2014): a hundred times cheaper, and each decision is a pure
function of (word, counter), so a tree grown in another order makes the same choices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ppl.samplers.programs.box_muller import normals_from
from ppl.xla import threefry
from ppl.xla.apart import apart
from ppl.xla.later import Array, jax, jnp

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


@contextlib.contextmanager
def own_settings() -> Iterator[None]:
    """64-bit numbers and one fixed layout of random bits, in this thread and block only; nothing global changes."""
    with jax.enable_x64(True), jax.threefry_partitionable(True), jax.numpy_dtype_promotion("standard"):
        yield


def chain_key(seed: int, chain: int) -> np.ndarray:
    """Two key words for one chain; they depend on nothing but the seed and the chain's number."""
    return np.random.SeedSequence(seed, spawn_key=(chain,)).generate_state(2, np.uint32)


def fold(key: Array, number: Array | int) -> Array:
    """The key of the ``number``-th child of ``key`` (raw key words in, raw key words out)."""
    return threefry.fold_in(key, number)


def normals(key: Array, dim: int, dtype: jnp.dtype) -> Array:
    """``dim`` standard normal numbers."""
    pairs = (dim + 1) // 2
    # Apart, as XLA would compute the bits anew in each loop that uses them, and the numbers in each that uses those.
    bits = apart(lambda: threefry.bits(key, (2 * pairs,), jnp.uint64))
    return apart(lambda: normals_from(bits[:pairs], bits[pairs:])[:dim].astype(dtype))


def word(key: Array) -> Array:
    """The key's own 64 bits, as the seed of a transition's decisions.

    Momenta are threefry's function of these bits and decisions splitmix's, so the two do not know of each other.
    """
    high, low = key[0].astype(jnp.uint64), key[1].astype(jnp.uint64)
    return (high << np.uint64(32)) | low


def mixed(word: Array, counter: Array) -> Array:
    """The ``counter``-th 64 random bits of ``word``."""
    z = word + (counter.astype(jnp.uint64) + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def uniform(word: Array, counter: Array) -> Array:
    """The ``counter``-th uniform number of ``word``, strictly between 0 and 1."""
    bits = mixed(word, counter) >> np.uint64(11)
    return (bits.astype(jnp.float64) + 0.5) * 2.0**-53
