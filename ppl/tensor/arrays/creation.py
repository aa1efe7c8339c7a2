"""Tensors from nothing: inputs of every kind, filled arrays, ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.shaping import broadcast_to, expand_dims, moveaxis
from ppl.tensor.config import config
from ppl.tensor.core.elementwise import maximum
from ppl.tensor.core.ops import TensorOp, cast_to, floats, normal_axis, unify
from ppl.tensor.core.sizes import common_shape, filled, shape, split_sizes
from ppl.tensor.tensor import (
    Tensor,
    TensorType,
    as_tensor,
    constant,
    dtype_name,
    function,
    is_constant,
    placeholder,
    value_of,
)
from ppl.xla.later import jnp
from ppl.xla.private import is_traced


# --- inputs, by Theano's names
@function()
def tensor(
    name: Any = None,
    dtype: Any = None,
    shape: Any = None,
    *,
    ndim: int | None = None,
    broadcastable: Sequence[bool] | None = None,
) -> Tensor:
    """An input of the given dtype and shape (None for an unknown dimension). `broadcastable` is the older way to give a
    shape: an axis is of length 1 where it is true, and of unknown length elsewhere."""
    if name is not None and dtype is not None and shape is None and not isinstance(dtype, str | type | np.dtype):
        name, dtype, shape = None, name, dtype
    if broadcastable is not None:
        if shape is not None:
            raise TypeError(f"tensor() takes shape= or broadcastable=, not both: got {shape!r} and {broadcastable!r}")
        shape = tuple(1 if one else None for one in broadcastable)
    if ndim is not None and shape is not None and ndim != np.size(shape):
        raise TypeError(f"tensor() has ndim={ndim} for a shape of {np.size(shape)} entries, {shape!r}")
    if shape is None:
        if ndim is None:
            raise TypeError("tensor() needs shape=(...) with None for unknown dimensions, or ndim=")
        shape = (None,) * ndim
    dims = (shape,) if isinstance(shape, int) or shape is None else tuple(shape)
    return placeholder(TensorType(dtype_name(dtype or "floatX"), dims), name)


def _constructor(dims: tuple[int | None, ...], dtype: str) -> Callable[..., Tensor]:
    def make(name: str | None = None, dtype: str = dtype, shape: Any = None) -> Tensor:
        if shape is not None and len(shape) != len(dims):
            raise ValueError(f"a shape of {len(dims)} entries is needed, got {shape!r}")
        return placeholder(TensorType(dtype_name(dtype), dims if shape is None else tuple(shape)), name)

    make.__doc__ = f"An input of shape ({', '.join('?' if d is None else str(d) for d in dims)}), dtype {dtype}."
    return make


_KINDS: dict[str, tuple[int | None, ...]] = {
    "scalar": (),
    "vector": (None,),
    "row": (1, None),
    "col": (None, 1),
    "matrix": (None, None),
    **{f"tensor{n}": (None,) * n for n in range(3, 8)},
}
_PREFIXES = {
    "": "floatX", "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64",
    "c": "complex64", "z": "complex128",
}  # fmt: skip


def _several(make: Callable[..., Tensor]) -> Callable[..., list[Tensor]]:
    def each(*names: Any) -> list[Tensor]:
        if len(names) == 1 and isinstance(names[0], int):
            return [make() for _ in range(names[0])]
        return [make(name) for name in names]

    each.__doc__ = f"Several inputs, one for each name. {make.__doc__}"
    return each


_PLURALS = {"scalar": "scalars", "vector": "vectors", "row": "rows", "col": "cols", "matrix": "matrices"}
CONSTRUCTORS: dict[str, Callable[..., Any]] = {}
for _prefix, _dtype in _PREFIXES.items():
    for _kind, _dims in _KINDS.items():
        _make = _constructor(_dims, _dtype)
        CONSTRUCTORS[_prefix + _kind] = _make
        CONSTRUCTORS[_prefix + _PLURALS.get(_kind, _kind + "s")] = _several(_make)


def Placeholder(shape: Any, dtype: Any, name: str | None = None) -> Tensor:
    """An input, by SymJAX's name and argument order; 0 or None marks a dimension of any length."""
    return placeholder(TensorType(dtype_name(dtype), tuple(dim or None for dim in shape)), name)


def Constant(value: Any, name: str | None = None) -> Tensor:
    """A constant, by SymJAX's name."""
    return constant(value, name)


# --- filled arrays
@function("alloc_full")
def full(shape: Any, fill_value: Any, dtype: Any = None, *, name: str | None = None) -> Tensor:
    """`fill_value` at every place of `shape`."""
    value = as_tensor(fill_value) if dtype is None else cast_to(as_tensor(fill_value), dtype_name(dtype))
    return broadcast_to(value, shape, name=name)


@function()
def alloc(value: Any, *shape: Any) -> Tensor:
    """`full` in Theano's argument order."""
    return full(shape, value)


@function()
def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """An array of zeros."""
    return full(shape, 0, dtype or config.floatX)


@function()
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """An array of ones."""
    return full(shape, 1, dtype or config.floatX)


@function()
def empty(shape: Any, dtype: Any = None) -> Tensor:
    """An array whose values do not matter: zeros."""
    return zeros(shape, dtype)


def _like(x: Any, value: Any, dtype: Any) -> Tensor:
    x = as_tensor(x)
    return full(shape(x), value, dtype or x.dtype)


@function()
def empty_like(prototype: Any, dtype: Any = None) -> Tensor:
    """An array of the shape of `x` whose values do not matter: zeros."""
    return zeros_like(prototype, dtype)


@function()
def zeros_like(model: Any, dtype: Any = None) -> Tensor:
    """Zeros of the shape (and dtype) of `x`."""
    return _like(model, 0, dtype)


@function()
def ones_like(model: Any, dtype: Any = None) -> Tensor:
    """Ones of the shape (and dtype) of `x`."""
    return _like(model, 1, dtype)


@function()
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """`fill_value` everywhere, of the shape (and dtype) of `x`."""
    return _like(a, fill_value, dtype)


@function("second")
def fill(x: Any, value: Any) -> Tensor:
    """`value` broadcast to the shape it has together with `x`."""
    return broadcast_to(as_tensor(value), common_shape([x, value]))


class _Arange(TensorOp):
    """Evenly spaced integers or numbers; the ends must be known when the program is compiled."""

    def __call__(
        self, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, name: str | None = None
    ) -> Tensor:
        if stop is None:
            start, stop = 0, start
        ends = [value_of(n).item() if isinstance(n, Tensor) and is_constant(n) else n for n in (start, stop, step)]
        if not any(isinstance(n, Tensor) for n in ends):
            return constant(np.arange(*ends, dtype=None if dtype is None else dtype_name(dtype)), name)
        kinds = [n.dtype if isinstance(n, Tensor) else np.asarray(n).dtype.name for n in ends]
        result = dtype_name(dtype) if dtype is not None else np.result_type(*kinds).name
        return self.build(tuple(as_tensor(n) for n in ends), {"dtype": result}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(attrs["dtype"], (None,))

    def size_inputs(self, inputs: tuple[Node, ...], attrs: Attrs) -> tuple[Node, ...]:
        return inputs


def _number(n: Any) -> Any:
    """A number that must be known when the program is compiled."""
    if is_traced(n):
        raise TypeError(
            "arange: an end depends on the values of arrays, not only on their shapes, so the length of the result is "
            "not fixed. Compute it before, and pass it as a Python number."
        )
    return np.asarray(n).item()


arange = _Arange("arange", lambda a, b, c, dtype: np.arange(_number(a), _number(b), _number(c), dtype=dtype),
                 ("range",))  # fmt: skip


class _Eye(TensorOp):
    """Ones on a diagonal, zeros elsewhere."""

    def __call__(self, n: Any, m: Any = None, k: int = 0, dtype: Any = None, *, name: str | None = None) -> Tensor:
        _, static, symbolic = split_sizes((n, n if m is None else m))
        return self.build(tuple(symbolic), {"shape": static, "k": int(k), "dtype": dtype_name(dtype or "floatX")}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(attrs["dtype"], attrs["shape"])


def _eye(*sizes: Any, shape: tuple[int | None, ...], k: int, dtype: str) -> Any:
    rows, columns = filled(shape, sizes)
    return jnp.eye(rows, columns, k, dtype=dtype)


eye = _Eye("eye", _eye)


@function()
def identity(n: Any, dtype: Any = None) -> Tensor:
    """The identity matrix."""
    return eye(n, dtype=dtype)


@function()
def identity_like(x: Any, dtype: Any = None) -> Tensor:
    """The identity matrix of the shape of `x`."""
    rows, columns = shape(x)[-2:]
    return eye(rows, columns, dtype=dtype or as_tensor(x).dtype)


@function()
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, along an axis; with `retstep` their distance too."""
    start, stop = unify(floats((start, stop)))
    last = num - 1 if endpoint else num
    steps = arange(num) / maximum(last, 1) if isinstance(num, Tensor) else as_tensor(np.arange(num) / max(last, 1))
    weights = expand_dims(
        cast_to(steps, np.finfo(start.dtype).dtype.name), tuple(range(1, 1 + max(start.ndim, stop.ndim)))
    )
    result = expand_dims(start, 0) * (1 - weights) + expand_dims(stop, 0) * weights
    result = first_axis_at(result if dtype is None else cast_to(result, dtype_name(dtype)), axis)
    return (result, (stop - start) / maximum(last, 1)) if retstep else result


def first_axis_at(x: Tensor, axis: int) -> Tensor:
    """The first axis in another place."""
    return moveaxis(x, 0, axis) if axis else x


@function()
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    base: Any = 10.0,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Powers of `base`, whose exponents go evenly from `start` to `stop`."""
    result = as_tensor(base) ** linspace(start, stop, num, endpoint, axis=axis)
    return result if dtype is None else cast_to(result, dtype_name(dtype))


@function()
def meshgrid(*axes: Any, indexing: str = "xy") -> list[Tensor]:
    """Coordinate arrays from coordinate vectors."""
    vectors = [as_tensor(a) for a in axes]
    rank = len(vectors)
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', got {indexing!r}")
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    lifted = [expand_dims(v, tuple(a for a in range(rank) if a != order[i])) for i, v in enumerate(vectors)]
    common = common_shape(lifted)
    return [broadcast_to(v, common) for v in lifted]


@function()
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each entry several times, along an axis or of the flattened array."""
    a = as_tensor(a)
    if axis is None:
        a, axis = a.reshape((-1,)), 0
    where = normal_axis("repeat", a, axis)
    if isinstance(repeats, int | np.integer) or (isinstance(repeats, Tensor) and repeats.ndim == 0):
        lifted = expand_dims(a, where + 1)
        sizes = list(shape(lifted))
        sizes[where + 1] = repeats
        flat = list(shape(a))
        flat[where] = flat[where] * repeats
        return broadcast_to(lifted, sizes).reshape(tuple(flat))
    counts = value_of(repeats) if isinstance(repeats, Tensor) and is_constant(repeats) else repeats
    if isinstance(counts, Tensor):
        raise TypeError("repeat: an array of counts must be constant, its sum is the size of the result")
    places = np.repeat(np.arange(len(counts)), counts)
    return a[(slice(None),) * where + (places,)]
