"""Threefry-2x32 (Salmon, Moraes, Dror & Shaw 2011), written out: the numbers of `jax.random`, bit for bit.

JAX lowers its own as a loop over rounds, or as a call. Written out, the twenty rounds are arithmetic that XLA compiles
sooner. It would also fold them into whatever the bits become, and 32-bit words and doubles do not share one vector loop
well. So many bits at a time are kept apart.

A key is two 32-bit numbers along the last axis, or JAX's own kind of key; what comes back is of the kind that went in.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ppl.xla.apart import apart
from ppl.xla.either import of_numpy
from ppl.xla.later import Functions, jax, jit, jnp, lax

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF
ALONE = 4  # so few words are made one by one, by whole numbers of Python: twenty rounds of NumPy cost as much as five
IN_CACHE = 1 << 14  # words that NumPy makes at a time
FEW = 4096  # words that may be folded into what becomes of them


def words(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Two random words for every counter, whose two halves are given."""
    return _rounds_by_jax(_numbers(key), high, low)


class Arithmetic(NamedTuple):
    """What rounds are made of. JAX traces its own primitives several times as fast as operators between its arrays."""

    add: Callable[..., Any]
    xor: Callable[..., Any]
    union: Callable[..., Any]
    left: Callable[..., Any]
    right: Callable[..., Any]
    word: Callable[[int], Any]  # a constant


_LAX = Functions("jax.lax")
_BY_JAX = Arithmetic(_LAX.add, _LAX.bitwise_xor, _LAX.bitwise_or, _LAX.shift_left, _LAX.shift_right_logical, np.uint32)
_BY_NUMPY = Arithmetic(np.add, np.bitwise_xor, np.bitwise_or, np.left_shift, np.right_shift, np.uint32)
_BY_PYTHON = Arithmetic(
    lambda a, b: a + b & _MASK, operator.xor, operator.or_, lambda a, b: a << b & _MASK, operator.rshift, int
)


def _rounds(numbers: tuple[Any, Any], high: Any, low: Any, by: Arithmetic = _BY_JAX) -> tuple[Any, Any]:
    add, xor, union, left, right, word = by
    first, second = numbers
    parts = (first, second, xor(xor(first, second), word(_PARITY)))
    x, y = add(high, first), add(low, second)
    for i in range(5):
        for turn in _ROTATIONS[i % 2]:
            x = add(x, y)
            y = xor(union(left(y, word(turn)), right(y, word(32 - turn))), x)
        x, y = add(x, parts[(i + 1) % 3]), add(add(y, parts[(i + 2) % 3]), word(i + 1))
    return x, y


def _rounds_by_numpy(numbers: tuple[Any, Any], low: np.ndarray) -> tuple[Any, Any]:
    """Two words for every counter whose higher half is zero, where all of them belong to one key or each to its own."""
    first, second = numbers
    shape = np.broadcast_shapes(first.shape, low.shape)
    if math.prod(shape) > ALONE:
        return _rounds(numbers, np.uint32(0), low, _BY_NUMPY)
    counters = zip(*(part.tolist() for part in map(np.ravel, np.broadcast_arrays(first, second, low))), strict=True)
    found = np.array([_rounds((a, b), 0, c, _BY_PYTHON) for a, b, c in counters], np.uint32).reshape(-1, 2)
    return found[:, 0].reshape(shape), found[:, 1].reshape(shape)


@jit
def _rounds_by_jax(numbers: tuple[Any, Any], high: Any, low: Any) -> tuple[Any, Any]:
    """A function of its own in what is traced: rounds over as many numbers are traced once."""
    return _rounds(numbers, high, low)


class Entries(NamedTuple):
    """In place of a key, by NumPy: for each entry of an array the key of its draw, and its place among the entries of
    that draw. So arrays hold the draws of many keys, and some of their entries are drawn alone."""

    first: np.ndarray
    second: np.ndarray
    place: np.ndarray
    size: int  # entries of a draw

    @classmethod
    def of(cls, keys: np.ndarray, shape: tuple[int, ...]) -> Entries:
        """All entries of a draw of this shape, (*rows, *shape), for keys of rows, (*rows, 2)."""
        first, second = (keys[..., i].reshape(keys.shape[:-1] + (1,) * len(shape)) for i in (0, 1))
        size = math.prod(shape)
        return cls(first, second, np.arange(size, dtype=np.uint32).reshape(shape), size)

    def over(self, shape: tuple[int, ...]) -> Entries:
        """The entries of a draw of another shape by the same keys."""
        rows = self.first.shape[: self.first.ndim - self.place.ndim]
        return Entries.of(np.stack([self.first.reshape(rows), self.second.reshape(rows)], axis=-1), shape)

    def at(self, some: np.ndarray) -> Entries:
        """Some entries, by their places in the flat array."""
        parts = np.broadcast_arrays(*self[:3])
        return Entries(*[part.reshape(-1)[some] for part in parts], self.size)

    def changed(self, number: Any) -> Entries:
        """The same entries by other keys."""
        keys = _rounds_by_numpy((self.first, self.second), np.asarray(number, np.uint32))
        return Entries(*keys, self.place, self.size)

    def bits(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Words for each entry; further axes in front stand for more words of the same draw."""
        own = np.broadcast_shapes(self.first.shape, self.place.shape)
        several = math.prod(shape[: len(shape) - len(own)])
        turns = np.arange(several, dtype=np.uint32).reshape((several,) + (1,) * len(own)) * np.uint32(self.size)
        halves = _rounds_by_numpy((self.first, self.second), self.place + turns)
        return _joined(*halves, dtype).reshape(shape)  # type: ignore[no-any-return]


class HostKey(NamedTuple):
    """In place of a key, by NumPy: arrays of any shape are drawn by it as by the key itself."""

    first: np.ndarray  # both of shape (1,)
    second: np.ndarray

    @classmethod
    def of(cls, key: np.ndarray) -> HostKey:
        """The key of two numbers."""
        return cls(key[:1], key[1:])

    def changed(self, number: Any) -> HostKey:
        """Another key."""
        return HostKey(*_rounds_by_numpy(self, np.asarray(number, np.uint32)))

    def entries(self, shape: tuple[int, ...]) -> Entries:
        """The entries of a draw."""
        return Entries.of(np.concatenate(self), shape)

    def bits(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Words, made so many at a time that they stay in the cache."""
        found = np.empty(math.prod(shape), dtype)
        for start in range(0, found.size, IN_CACHE):
            low = np.arange(start, min(start + IN_CACHE, found.size), dtype=np.uint32)
            found[start : start + IN_CACHE] = _joined(*_rounds_by_numpy(self, low), dtype)
        return found.reshape(shape)


class Words(NamedTuple):
    """In place of a key: the halves of the random words that `bits` would make of it."""

    high: Any
    low: Any


def bits(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform whole numbers over all of uint32 or uint64."""
    if np.dtype(dtype) not in (np.uint32, np.uint64):
        raise TypeError(f"bits: random words are uint32 or uint64, got {np.dtype(dtype).name}")
    if isinstance(key, Entries | HostKey):
        return key.bits(shape, dtype)
    at_once = isinstance(key, Words) and of_numpy(*key)
    if np.dtype(dtype) == np.uint64 and not at_once and not jax.config.jax_enable_x64:
        raise TypeError("bits: words of 64 bits would be cut to 32 here: call it inside `jax.enable_x64(True)`")
    if isinstance(key, Words):
        return _joined(key.high.reshape(shape), key.low.reshape(shape), dtype)
    size = math.prod(shape)
    if size > FEW and jax.default_backend() != "cpu":
        return jax.random.bits(key if _is_typed(key) else _typed(key), shape, dtype)
    x, y = _halves(_numbers(key), shape) if size <= FEW else _many(_numbers(key), shape)
    return _joined(x, y, dtype)


def _joined(x: Any, y: Any, dtype: Any) -> Any:
    return x ^ y if np.dtype(dtype) == np.uint32 else (x.astype(np.uint64) << np.uint64(32)) | y.astype(np.uint64)


def _halves(numbers: tuple[Any, Any], shape: tuple[int, ...]) -> tuple[Any, Any]:
    low = lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _rounds_by_jax(numbers, jnp.zeros_like(low), low)


def _many(numbers: tuple[Any, Any], shape: tuple[int, ...]) -> list[Any]:
    """The halves, apart from what becomes of them.

    They leave as they are: 40 million normals take 0.25 s of processor time, and 0.33 to 0.5 if joined inside. And
    they are an even number, as XLA computes an odd one without vectors, in eight times the time.
    """
    size = math.prod(shape)
    found = apart(lambda: _halves(numbers, (size + size % 2,)))
    return [half[:size].reshape(shape) for half in found]


def fold_in(key: Any, number: Any) -> Any:
    """Another key, a function of a key and a whole number below 2³²."""
    if isinstance(key, Entries | HostKey):
        return key.changed(number)
    low = jnp.asarray(number).astype(jnp.uint32)
    return _like(key, jnp.stack(words(key, jnp.zeros_like(low), low), axis=-1))


def folded(keys: np.ndarray, numbers: Any) -> np.ndarray:
    """`fold_in` for many keys at once, (..., 2), by NumPy; the numbers broadcast."""
    shape = np.broadcast_shapes(keys.shape[:-1], np.shape(numbers))
    low = np.broadcast_to(np.asarray(numbers, np.uint32), shape)
    if not shape or low.size <= IN_CACHE or keys.ndim != len(shape) + 1:
        return np.stack(_rounds_by_numpy((keys[..., 0], keys[..., 1]), low), axis=-1)
    found = np.empty((*shape, 2), np.uint32)
    if len(shape) > 1 and len(low) < shape[1]:  # chains and draws
        for row, result in enumerate(found):
            result[...] = folded(keys[min(row, len(keys) - 1)], low[row])
        return found
    rows = max(1, IN_CACHE // math.prod(shape[1:]))
    for start in range(0, shape[0], rows):
        part = slice(start, start + rows)
        some = keys if len(keys) == 1 else keys[part]
        found[part] = np.stack(_rounds_by_numpy((some[..., 0], some[..., 1]), low[part]), axis=-1)
    return found


def split(key: Any, count: int = 2) -> Any:
    """`count` independent keys."""
    if isinstance(key, Entries | HostKey):
        return [key.changed(i) for i in range(count)]
    low = lax.iota(jnp.uint32, count)
    return _like(key, jnp.stack(words(key, jnp.zeros_like(low), low), axis=-1))


def _is_typed(key: Any) -> bool:
    return bool(jnp.issubdtype(key.dtype, jax.dtypes.prng_key))


def _typed(data: Any) -> Any:
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def _numbers(key: Any) -> tuple[Any, Any]:
    data = jax.random.key_data(key) if _is_typed(key) else jnp.asarray(key)
    return data[0], data[1]


def _like(key: Any, data: Any) -> Any:
    return _typed(data) if _is_typed(key) else data
