"""Sampling operations: pure functions of a key, of parameters and of a shape.

A key is a tensor of two uint32 numbers (threefry). The same key gives the same draw; `Key` in keys.py hands out fresh
ones. The inputs of a draw are the key, the parameters and the symbolic ones among the sizes; its attributes are the
other sizes and the dtype. Parameters broadcast to the shape; with no shape given, the result has theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.shaping import shape_checked
from ppl.tensor.config import config
from ppl.tensor.core.ops import JaxOp, TensorOp, broadcast_shape, cast_to, unify
from ppl.tensor.core.sizes import common_shape, filled, split_sizes
from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import MANY, in_blocks, once, until_accepted
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, dtype_name
from ppl.xla import apart, threefry
from ppl.xla.either import cond, xp
from ppl.xla.later import jax, jnp, lax

IN_CACHE = 1 << 14  # entries that NumPy draws at a time
KEY_TYPE = TensorType("uint32", (2,))


def as_key(key: Any) -> Tensor:
    """The tensor of a key; an error that says how to make one."""
    key = as_tensor(key)
    if key.type != KEY_TYPE:
        raise TypeError(f"a key is a tensor of two uint32 numbers, got {key!r}. Make one with Key.from_seed(seed).")
    return key


def typed(key: Any) -> Any:
    """The two numbers as JAX's own kind of key."""
    return jax.random.wrap_key_data(jnp.asarray(key), impl="threefry2x32")


class _KeyOp(TensorOp):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType("uint32", (attrs["n"], 2)) if "n" in attrs else KEY_TYPE


class _FoldIn(_KeyOp):
    """Another key, a function of a key and a whole number."""

    def __call__(self, key: Any, data: Any, *, name: str | None = None) -> Tensor:
        data = as_tensor(data)
        if data.ndim or data.dtype[0] not in "ui":
            raise TypeError(f"key_fold_in: a key is changed by an integer scalar, got {data!r}")
        return self.build((as_key(key), data), {}, name)

    def by_numpy(self, key: np.ndarray, data: np.ndarray) -> np.ndarray:
        return threefry.folded(key, data)


class _Split(_KeyOp):
    """`n` independent keys, as the rows of a matrix."""

    def __call__(self, key: Any, n: int = 2, *, name: str | None = None) -> Tensor:
        return self.build((as_key(key),), {"n": int(n)}, name)

    def by_numpy(self, key: np.ndarray, n: int) -> np.ndarray:
        return threefry.folded(key, np.arange(n))


key_fold_in = _FoldIn(
    "key_fold_in", lambda key, data: jax.random.key_data(threefry.fold_in(typed(key), jnp.asarray(data, jnp.uint32)))
)
key_split = _Split("key_split", lambda key, n: jax.random.key_data(threefry.split(typed(key), n)))


def _held(key: Any, values: Any) -> Any:
    """A few draws, computed once: their bits are not apart, and else all that uses the draws would make them anew."""
    few = values.size <= threefry.FEW and jnp.issubdtype(values.dtype, jnp.floating)
    return apart.held(values, key[0]) if few else values


class Draw(TensorOp):
    """A draw from a law with `count` parameters: entry by entry independent, or of `vectors` along the last axis.

    For rows of keys, (n, 2), the first axis of the shape is theirs, and that of parameters that have as many axes.
    `at_once`: the sampling function also takes NumPy's arrays, and then `threefry.Entries` in place of a key.
    """

    def __init__(
        self,
        name: str,
        sample: Callable[..., Any],
        count: int,
        kind: str,
        vectors: bool = False,
        at_once: bool = False,
    ) -> None:
        super().__init__(name, self._lower)
        self.sample, self.count, self.kind, self.vectors, self.at_once = sample, count, kind, vectors, at_once

    def _lower(self, key: Any, *rest: Any, shape: tuple[int | None, ...], dtype: str) -> Any:
        params, sizes = [jnp.asarray(p) for p in rest[: self.count]], filled(shape, rest[self.count :])
        if jnp.ndim(key) > 1:
            return self._rows(key, params, sizes, dtype)
        if self.vectors or len(sizes) < 2:
            return _held(key, self.sample(typed(key), *params, shape=sizes, dtype=np.dtype(dtype)))
        # in one row: XLA runs along the last axis, which is slow where it is short
        params = [jnp.broadcast_to(p, sizes).reshape(-1) if p.ndim else p for p in params]
        row = self.sample(typed(key), *params, shape=(math.prod(sizes),), dtype=np.dtype(dtype))
        return _held(key, row).reshape(sizes)

    def _rows(self, keys: Any, params: list[Any], sizes: tuple[int, ...], dtype: str) -> Any:
        own = [p.ndim == len(sizes) for p in params]
        given = [
            jnp.broadcast_to(p, (sizes[0], *p.shape[1:])) if row else p for p, row in zip(params, own, strict=True)
        ]
        draw = lambda key, *params: self._lower(key, *params, shape=sizes[1:], dtype=dtype)
        return jax.vmap(draw, in_axes=(0, *[0 if row else None for row in own]))(keys, *given)

    def known_to_numpy(self, node: Node) -> bool:
        """Whether `by_numpy` makes these draws: in single precision, and on other devices than a CPU where there are
        many, programs make them in another way."""
        own = node.attrs["shape"][node.inputs[0].type.ndim - 1 :]
        alike = None not in own and (math.prod(own) < MANY or jax.default_backend() == "cpu")
        return self.at_once and node.attrs["dtype"] != "float32" and alike

    def by_numpy(self, key: np.ndarray, *params: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """The same draws, to rounding; of many rows of keys so many at a time that they stay in the cache."""
        own, kind = shape[key.ndim - 1 :], np.dtype(dtype)
        if math.prod(own) >= MANY:
            return self._many(key, params, shape, kind)
        rows = max(1, IN_CACHE // max(1, math.prod(own)))
        if key.ndim == 1 or len(key) <= rows:
            return np.asarray(self.sample(threefry.Entries.of(key, own), *params, shape=shape, dtype=kind))
        moved = [p.ndim == len(shape) and len(p) > 1 for p in params]
        drawn = np.empty(shape, kind)
        for start in range(0, len(key), rows):
            part = slice(start, start + rows)
            some = [p[part] if row else p for p, row in zip(params, moved, strict=True)]
            drawn[part] = self.by_numpy(key[part], *some, shape=drawn[part].shape, dtype=dtype)
        return drawn

    def _many(self, key: np.ndarray, params: Sequence[Any], shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
        """Many draws of each key, one key after the other, as a program makes them: in one row."""
        if key.ndim > 1:
            own = [p.ndim == len(shape) for p in params]
            some = lambda i: [p[min(i, len(p) - 1)] if row else p for p, row in zip(params, own, strict=True)]
            return np.stack([self._many(each, some(i), shape[1:], kind) for i, each in enumerate(key)])
        host, size = threefry.HostKey.of(key), math.prod(shape)
        if self.vectors or len(shape) < 2:
            return np.asarray(self._few(host, params, shape, kind))
        row = [np.broadcast_to(p, shape).reshape(-1) if p.ndim else p for p in params]
        return np.asarray(self._few(host, row, (size,), kind)).reshape(shape)

    def _few(self, key: threefry.HostKey, params: Sequence[Any], shape: tuple[int, ...], kind: np.dtype[Any]) -> Any:
        """The draws of one key; of laws whose entries are made of one word, so many at a time that they stay in the
        cache."""
        if self not in OF_ONE_WORD:
            return self.sample(key, *params, shape=shape, dtype=kind)
        found = np.empty(shape, kind)
        for start in range(0, len(found), IN_CACHE):
            part = found[start : start + IN_CACHE]
            places = np.arange(start, start + len(part), dtype=np.uint32)
            part[...] = self.sample(threefry.Entries(*key, places, len(found)), shape=part.shape, dtype=kind)
        return found

    def __call__(self, key: Any, *params: Any, shape: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
        if len(params) != self.count:
            raise TypeError(f"{self.name} takes {self.count} parameters after the key, got {len(params)}")
        given = unify(params, to_float=self.kind != "whole") if params else ()
        result = dtype_name(dtype) if dtype is not None else self._dtype(given)
        given = tuple(cast_to(p, result) for p in given) if self.kind == "float" else given
        sizes = shape if shape is not None else (common_shape(given) if given else ())
        _, static, symbolic = split_sizes(sizes)
        return self.build((as_key(key), *given, *symbolic), {"shape": static, "dtype": result}, name)

    def _dtype(self, params: tuple[Tensor, ...]) -> str:
        if self.kind == "float":
            return params[0].dtype if params else config.floatX
        return "uint32" if self.kind == "bits" else "int64"

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        wanted = TensorType(attrs["dtype"], attrs["shape"])
        params = inputs[1 : 1 + self.count]
        if params:
            shape_checked(self.name, broadcast_shape(self.name, params), wanted.shape, params)
        return wanted


# --- continuous


def _uniform(key: Any, *, shape: Any, dtype: Any) -> Any:
    return standard.uniform(key, shape, dtype)


def _von_mises(key: Any, kappa: Any, *, shape: Any, dtype: Any) -> Any:
    """Best and Fisher's rejection from a wrapped Cauchy (1979), all entries at once.

    Where kappa is nearly 0 the law is uniform, where it is huge it is normal: their formulas lose all digits there.
    """
    return in_blocks(_angles, key, tuple(shape), (kappa.astype(np.float64),)).astype(dtype)


def _angles(key: Any, shape: tuple[int, ...], kappa: Any) -> Any:
    flat, peaked = kappa < 1e-6, kappa > 1e6
    between = (kappa >= 1e-6) & (kappa <= 1e6)  # where kappa is nan no proposal would ever be accepted
    k = xp.where(between, kappa, 1)
    tau = 1 + xp.sqrt(1 + 4 * k * k)
    rho = (tau - xp.sqrt(2 * tau)) / (2 * k)
    start_key, loop_key = threefry.split(key)

    def propose(words: Any, k: Any, rho: Any) -> tuple[Any, Any]:
        """The tangent of half an angle by the wrapped Cauchy law: that of half a uniform one, made smaller."""
        sine, cosine = standard.sine_and_cosine_of_quarter_turn(standard.uniform_of(words[0]))
        r = (1 + rho * rho) / (2 * rho)
        c = k * (r * r - 1) / (r + 1 - 2 * sine * sine)
        tangent = (1 - rho) / (1 + rho) * sine / cosine
        side = xp.where(words[0] & np.uint64(1) == 1, -1.0, 1.0)  # a bit that the uniform number does not take
        return side * tangent, standard.log(c / standard.open_uniform_of(words[1])) + 1 - c >= 0

    angle = 2 * standard.arctan(until_accepted(propose, loop_key, shape, (k, rho), between))

    def at_the_ends() -> Any:
        anywhere = np.pi * (2 * standard.uniform(start_key, shape, np.float64) - 1)
        close = standard.normal(start_key, shape, np.float64) / xp.sqrt(xp.where(peaked, kappa, 1))
        return xp.where(flat, anywhere, xp.where(peaked, close, angle))

    angle = cond(xp.any(flat | peaked), at_the_ends, lambda: angle)
    return xp.where(kappa >= 0, angle, np.nan)


def _law(sample: Callable[..., Any]) -> Callable[..., Any]:
    return lambda key, *, shape, dtype: sample(key, tuple(shape), dtype)


uniform = Draw("random_uniform", _uniform, 0, "float", at_once=True)
normal = Draw("random_normal", _law(standard.normal), 0, "float", at_once=True)
exponential = Draw("random_exponential", _law(standard.exponential), 0, "float", at_once=True)
laplace = Draw("random_laplace", _law(standard.laplace), 0, "float", at_once=True)
two_sided = Draw("random_two_sided", standard.two_sided, 1, "float", at_once=True)
gumbel = Draw("random_gumbel", _law(standard.gumbel), 0, "float", at_once=True)
logistic = Draw("random_logistic", _law(standard.logistic), 0, "float", at_once=True)
von_mises = Draw("random_von_mises", _von_mises, 1, "float", at_once=True)

# Each entry of doubles is made of one random word.
OF_ONE_WORD = frozenset({uniform, normal, exponential, laplace, gumbel, logistic})
_BY_NAME = {draw.name: draw for draw in OF_ONE_WORD}


class _OfWords(TensorOp):
    """Entries of a standard law that are made of given words: rows of their two halves."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        if attrs["law"] not in _BY_NAME:
            raise ValueError(f"{self.name}: law is one of {', '.join(sorted(_BY_NAME))}, got {attrs['law']!r}")
        return TensorType("float64", inputs[0].type.shape[:1])


def _of_words(halves: Any, law: str) -> Any:
    words = threefry.Words(halves[:, 0], halves[:, 1])
    return _BY_NAME[law].sample(words, shape=halves.shape[:1], dtype=np.dtype("float64"))


of_words = _OfWords("random_of_words", _of_words)

# --- discrete


def _randint(key: Any, low: Any, high: Any, *, shape: Any, dtype: Any) -> Any:
    """Many of one law with few values by half a word each: their probabilities differ by less than a millionth."""
    if isinstance(key, threefry.Entries | threefry.HostKey):
        return _whole_by_numpy(key, low, high, shape, dtype)
    plain = lambda: jax.random.randint(key, shape, low, high, dtype)
    size = math.prod(shape)
    if size < MANY or low.ndim or high.ndim:
        return plain()
    span = (high - low).astype(jnp.uint64)

    def halves() -> Any:
        words = once(lambda: threefry.bits(key, (-(-size // 2),), jnp.uint64), key, (-(-size // 2),), jnp.uint64)
        parts = lax.bitcast_convert_type(words, jnp.uint32).reshape(-1)[:size].reshape(shape)
        return low.astype(dtype) + ((parts.astype(jnp.uint64) * span) >> np.uint64(32)).astype(dtype)

    return lax.cond((high > low) & (span <= 4096), halves, plain)


def _whole_by_numpy(key: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The numbers of `jax.random.randint`: what two words leave over, the first one times 2⁶⁴."""
    size = math.prod(shape)
    if isinstance(key, threefry.HostKey) and size >= MANY and not low.ndim and not high.ndim and 0 < high - low <= 4096:
        parts = key.bits((-(-size // 2),), np.uint64).astype("<u8").view("<u4")[:size].reshape(shape)
        return low.astype(dtype) + ((parts.astype(np.uint64) * np.uint64(high - low)) >> np.uint64(32)).astype(dtype)
    upper, lower = (part.bits(shape, np.uint64) for part in threefry.split(key))
    low, high = (np.broadcast_to(x, shape).astype(np.int64) for x in (low, high))
    span = np.where(high > low, high - low, 1).astype(np.uint64)
    half = np.uint64(2**32) % span
    return (low + ((upper % span * (half * half % span) + lower % span) % span).astype(np.int64)).astype(dtype)


def _bits(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    wide = np.dtype(dtype) in (np.uint32, np.uint64)
    return threefry.bits(key, shape, dtype) if wide else jax.random.bits(key, shape, dtype)


bits = Draw("random_bits", _bits, 0, "bits", at_once=True)
randint = Draw("random_randint", _randint, 2, "whole", at_once=True)


# --- rearrangements
class _Rearranged(JaxOp):
    """A draw that rearranges or picks entries of an array along an axis."""

    def __call__(self, key: Any, *inputs: Any, name: str | None = None, **attrs: Any) -> Tensor:
        return self.build((as_key(key), *[as_tensor(x) for x in inputs]), attrs, name)


permutation = _Rearranged(
    "random_permutation", lambda key, x, axis: jax.random.permutation(typed(key), jnp.asarray(x), axis)
)


def _choice(key: Any, x: Any, p: Any = None, *, shape: tuple[int, ...], replace: bool, axis: int) -> Any:
    return jax.random.choice(typed(key), jnp.asarray(x), shape, replace, p, axis)


choice = _Rearranged("random_choice", _choice)
