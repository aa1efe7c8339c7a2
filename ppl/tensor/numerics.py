"""NumPy's numerical helpers: sums of products, choices, interpolation, polynomials, covariances, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ppl.tensor.creation import arange, zeros_like
from ppl.tensor.elementwise import abs as absolute
from ppl.tensor.elementwise import ceil as ceiling
from ppl.tensor.elementwise import (
    copysign,
    equal,
    floor,
    floor_divide,
    imag,
    isclose,
    isinf,
    isnan,
    logical_and,
    logical_not,
    mod,
    multiply,
    not_equal,
    rint,
    sign,
    sqrt,
    switch,
    trunc,
)
from ppl.tensor.indexing import diff, take_along_axis
from ppl.tensor.ops import Elementwise, JaxOp, cast_to, normal_axis, unify
from ppl.tensor.products import matmul
from ppl.tensor.reductions import all as all_along
from ppl.tensor.reductions import sum as sum_along
from ppl.tensor.shaping import broadcast_to, concatenate, expand_dims, moveaxis, shape_padleft, swapaxes
from ppl.tensor.shaping import shape as shape_of
from ppl.tensor.sorting import nanquantile
from ppl.tensor.tensor import Tensor, as_tensor, constant, function

# --- sums of products
_einsum = JaxOp(
    "einsum_op", lambda *operands, subscripts, optimize: jnp.einsum(subscripts, *operands, optimize=optimize)
)


@function()
def einsum(subscripts: str, *operands: Any, optimize: Any = "optimal") -> Tensor:
    """Einstein's sums of products, as `einsum("ij,jk->ik", A, B)`."""
    if not isinstance(subscripts, str):
        raise TypeError(f'einsum takes subscripts such as "ij,jk->ik" first, got {subscripts!r}')
    return _einsum(*unify(operands), subscripts=subscripts, optimize=optimize)


@function()
def vdot(a: Any, b: Any) -> Tensor:
    """The sum of products of all entries, those of `a` conjugated."""
    return sum_along(as_tensor(a).conj().reshape((-1,)) * as_tensor(b).reshape((-1,)))


@function()
def vecdot(a: Any, b: Any, axis: int = -1) -> Tensor:
    """The sum of products along an axis, those of `a` conjugated."""
    return sum_along(as_tensor(a).conj() * as_tensor(b), axis)


@function()
def matvec(a: Any, v: Any) -> Tensor:
    """Matrices times vectors, stacked."""
    return matmul(a, expand_dims(v, -1))[..., 0]


@function()
def vecmat(v: Any, a: Any) -> Tensor:
    """Vectors times matrices, stacked."""
    return matmul(expand_dims(as_tensor(v).conj(), -2), a)[..., 0, :]


@function()
def dense_dot(a: Any, b: Any) -> Tensor:
    """The matrix product."""
    return matmul(a, b)


@function()
def batched_tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """`tensordot` of each pair of slices along the first axis."""
    a, b = as_tensor(a), as_tensor(b)
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(1, 1 + axes))
    else:
        left, right = ([i % t.ndim for i in side] for side, t in zip(axes, (a, b), strict=True))
    letters = "abcdefghijklmnopqrstuvwxyz"
    of_a = list(letters[1 : a.ndim])
    of_b = [of_a[left[right.index(i)] - 1] if i in right else letters[a.ndim + i] for i in range(1, b.ndim)]
    kept = [x for x in of_a if x not in of_b] + [x for x in of_b if x not in of_a]
    return einsum(f"a{''.join(of_a)},a{''.join(of_b)}->a{''.join(kept)}", a, b)


@function()
def cross(a: Any, b: Any, axis: int = -1) -> Tensor:
    """The vector product in three dimensions."""
    a, b = as_tensor(a), as_tensor(b)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if {a.type.shape[-1], b.type.shape[-1]} - {3, None}:
        raise ValueError(f"cross: vectors have three entries, got {a!r} and {b!r}")
    one, two = np.array([1, 2, 0]), np.array([2, 0, 1])
    return moveaxis(a[..., one] * b[..., two] - a[..., two] * b[..., one], -1, axis)


# --- comparisons and choices
@function()
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether all entries are close."""
    return all_along(isclose(a, b, rtol, atol, equal_nan))


@function()
def array_equal(a: Any, b: Any) -> Tensor:
    """Whether two arrays have one shape and the same entries."""
    a, b = as_tensor(a), as_tensor(b)
    known = zip(a.type.shape, b.type.shape, strict=False)
    if a.ndim != b.ndim or any(None not in (m, n) and m != n for m, n in known):
        return constant(False)
    return all_along(equal(a, b))


@function()
def choose(positions: Any, choices: Any, mode: str = "raise") -> Tensor:
    """Entry by entry from the array whose number stands in `positions`."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: mode is 'raise', 'wrap' or 'clip', got {mode!r}")
    stacked = as_tensor(choices if isinstance(choices, Tensor) else list(choices))
    count, positions = shape_of(stacked)[0], as_tensor(positions)
    if mode != "raise":
        positions = positions % count if mode == "wrap" else positions.clip(0, count - 1)
    rank = max(stacked.ndim - 1, positions.ndim)
    stacked = stacked.reshape((count, *[1] * (rank - stacked.ndim + 1), *shape_of(stacked)[1:]))
    positions = expand_dims(shape_padleft(positions, rank - positions.ndim), 0)
    common = shape_of(stacked[:1] * 0 + positions * 0)[1:]
    picked = take_along_axis(broadcast_to(stacked, (count, *common)), broadcast_to(positions, (1, *common)), 0)
    return picked[0]


@function()
def select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Tensor:
    """Entry by entry from the first array whose condition is true."""
    result: Any = as_tensor(default)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = switch(condition, choice, result)
    return result


@function()
def piecewise(x: Any, conditions: Sequence[Any], functions: Sequence[Any]) -> Tensor:
    """The function (or number) of the last condition that is true; one more function than conditions is the default."""
    x = as_tensor(x)
    values = [f(x) if callable(f) and not isinstance(f, Tensor) else f for f in functions]
    result = values[len(conditions)] if len(values) > len(conditions) else zeros_like(x)
    for condition, value in zip(conditions, values, strict=False):
        result = switch(condition, cast_to(as_tensor(value), x.dtype), result)
    return as_tensor(result)


@function()
def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Numbers in place of nan and of infinities."""
    x = as_tensor(x)
    if x.dtype[0] != "f":
        return x
    limits = np.finfo(x.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    x = switch(isnan(x), np.asarray(nan, x.dtype), x)
    return switch(isinf(x), switch(x > 0, np.asarray(high, x.dtype), np.asarray(low, x.dtype)), x)


@function()
def isposinf(x: Any) -> Tensor:
    """Whether an entry is +infinity."""
    return logical_and(isinf(x), as_tensor(x) > 0)


@function()
def isneginf(x: Any) -> Tensor:
    """Whether an entry is -infinity."""
    return logical_and(isinf(x), as_tensor(x) < 0)


@function()
def isin(x: Any, values: Any) -> Tensor:
    """Whether an entry is among some values."""
    x, values = as_tensor(x), as_tensor(values).reshape((-1,))
    return (expand_dims(x, -1) == values).any(axis=-1)


# --- rounding by other rules
@function()
def iround(x: Any, mode: str = "half_to_even") -> Tensor:
    """Rounded, as integers."""
    if mode not in ("half_to_even", "half_away_from_zero"):
        raise ValueError(f"iround: mode is 'half_to_even' or 'half_away_from_zero', got {mode!r}")
    return cast_to(rint(x) if mode == "half_to_even" else round_half_away_from_zero(x), "int64")


@function()
def round_half_to_even(x: Any) -> Tensor:
    """To the nearest whole number, halves to the even one."""
    return rint(x)


@function()
def round_half_away_from_zero(x: Any) -> Tensor:
    """To the nearest whole number, halves away from zero."""
    x = as_tensor(x)
    return sign(x) * floor(absolute(x) + 0.5)


@function()
def ceil_intdiv(a: Any, b: Any) -> Tensor:
    """The quotient rounded up, in whole numbers."""
    return -floor_divide(-as_tensor(a), b)


@function()
def divmod(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Quotient and remainder."""
    return floor_divide(a, b), mod(a, b)


@function()
def modf(x: Any) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part, both with the sign of the number."""
    x = as_tensor(x) * 1.0
    whole = trunc(x)
    return copysign(switch(isinf(x), 0.0, x - whole), x), whole


@function()
def ldexp(x: Any, exponent: Any) -> Tensor:
    """`x` times two to the power `exponent`."""
    return multiply(x, 2.0 ** as_tensor(exponent))


@function()
def iceil(x: Any) -> Tensor:
    """Rounded up, as integers."""
    return cast_to(ceiling(x), "int64")


# --- functions given by points
interp = JaxOp(
    "interp",
    lambda x, xp, fp, *, left=None, right=None, period=None: jnp.interp(x, xp, fp, left, right, period),
    to_float=True,
)
_trapezoid = JaxOp("trapezoid_at", lambda y, x, *, axis=-1: jnp.trapezoid(y, x, axis=axis), to_float=True)


@function("trapz")
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral by the trapezoidal rule."""
    y = as_tensor(y)
    if x is None:
        where = normal_axis("trapezoid", y, axis)
        return _trapezoid(y, dx * arange(shape_of(y)[where]), axis=where)
    return _trapezoid(y, x, axis=axis)


@function()
def gradient(f: Any, *spacing: float, axis: Any = None) -> Any:
    """Central differences along each axis (the derivative of a graph is `grad`)."""
    f = as_tensor(f)
    axes = range(f.ndim) if axis is None else ([axis] if isinstance(axis, int) else axis)
    steps = spacing * len(list(axes)) if len(spacing) == 1 else (spacing or (1.0,) * len(list(axes)))
    results = [_slopes(f, normal_axis("gradient", f, a), h) for a, h in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else results


_slopes_op = JaxOp("central_differences", lambda f, *, axis, step: jnp.gradient(f, step, axis=axis), to_float=True)


def _slopes(f: Tensor, axis: int, step: float) -> Tensor:
    return _slopes_op(f, axis=axis, step=float(step))


convolve = JaxOp("convolve", lambda a, b, *, mode="full": jnp.convolve(a, b, mode), ("convolve1d",))
correlate = JaxOp("correlate", lambda a, b, *, mode="valid": jnp.correlate(a, b, mode))


# --- covariances
@function()
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Tensor:
    """The covariance matrix of variables in rows (or in columns), observations in the other direction."""
    m = as_tensor(m)
    if m.ndim > 2:
        raise ValueError(f"cov: {m!r} has more than two axes")
    m = m if m.ndim == 2 else m[None, :]
    m = m if rowvar or m.type.shape[0] == 1 else m.T
    if y is not None:
        y = as_tensor(y)
        y = y if y.ndim == 2 else y[None, :]
        m = as_tensor([*_rows(m), *_rows(y if rowvar or y.type.shape[0] == 1 else y.T)])
    degrees = (0 if bias else 1) if ddof is None else ddof
    weights: Any = 1 if fweights is None else as_tensor(fweights)
    weights = weights if aweights is None else weights * as_tensor(aweights)
    weights = broadcast_to(as_tensor(weights) * 1.0, (shape_of(m)[1],))
    total = sum_along(weights)
    centred = m - (sum_along(m * weights, 1) / total)[:, None]
    if aweights is None:
        scale = total - degrees
    else:
        scale = total - degrees * sum_along(weights * as_tensor(aweights)) / total
    result = matmul(centred * weights, swapaxes(centred, 0, 1).conj()) / scale
    return result[0, 0] if result.type.shape == (1, 1) else result


def _rows(m: Tensor) -> list[Tensor]:
    if m.type.shape[0] is None:
        raise ValueError(f"cov: the number of variables in {m!r} must be known")
    return [m[i] for i in range(m.type.shape[0])]


@function()
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Tensor:
    """The matrix of correlations of variables in rows."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    deviations = sqrt(c.diagonal())
    return c / deviations[:, None] / deviations[None, :]


# --- grids and windows
@function()
def bartlett(m: int) -> Tensor:
    """The triangular window of `m` points."""
    return constant(np.bartlett(m))


@function()
def blackman(m: int) -> Tensor:
    """Blackman's window of `m` points."""
    return constant(np.blackman(m))


@function()
def hamming(m: int) -> Tensor:
    """Hamming's window of `m` points."""
    return constant(np.hamming(m))


@function()
def hanning(m: int) -> Tensor:
    """Hann's window of `m` points."""
    return constant(np.hanning(m))


@function()
def kaiser(m: int, beta: float) -> Tensor:
    """Kaiser's window of `m` points."""
    return constant(np.kaiser(m, beta))


@function()
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Tensor:
    """Numbers with a constant ratio from `start` to `stop`, which have one sign."""
    start, stop = as_tensor(start) * 1.0, as_tensor(stop) * 1.0
    steps = np.arange(num) / max(num - 1 if endpoint else num, 1)
    weights = constant(steps.reshape((num,) + (1,) * max(start.ndim, stop.ndim)))
    return expand_dims(start, 0) * (expand_dims(stop / start, 0)) ** weights


@function()
def indices(dimensions: Sequence[int]) -> Tensor:
    """The coordinates of a grid."""
    return constant(np.indices(tuple(dimensions)))


@function()
def unravel_index(positions: Any, dims: Sequence[Any], order: str = "C") -> tuple[Tensor, ...]:
    """Coordinates from positions in the flattened array."""
    if order not in ("C", "F"):
        raise ValueError(f"unravel_index: order is 'C' or 'F', got {order!r}")
    rest, results = as_tensor(positions), []
    for n in reversed(tuple(dims)) if order == "C" else tuple(dims):
        results.append(rest % n)
        rest = rest // n
    return tuple(reversed(results)) if order == "C" else tuple(results)


@function()
def ravel_multi_index(coordinates: Sequence[Any], dims: Sequence[Any], mode: str = "raise", order: str = "C") -> Tensor:
    """Positions in the flattened array from coordinates."""
    if order not in ("C", "F") or mode not in ("raise", "wrap", "clip"):
        raise ValueError(
            f"ravel_multi_index: order is 'C' or 'F', mode 'raise', 'wrap' or 'clip'; got {order!r}, {mode!r}"
        )
    pairs = list(zip(coordinates, dims, strict=True))
    position: Any = constant(0)
    for i, n in pairs if order == "C" else reversed(pairs):
        i = as_tensor(i)
        i = i % n if mode == "wrap" else (i.clip(0, n - 1) if mode == "clip" else i)
        position = position * n + i
    return position


# --- what kind of numbers
@function()
def ndim(x: Any) -> int:
    """The number of axes."""
    return as_tensor(x).ndim


@function()
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return as_tensor(x).dtype.startswith("complex")


@function()
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@function()
def iscomplex(x: Any) -> Tensor:
    """Whether an entry has an imaginary part."""
    return not_equal(imag(x), 0) if iscomplexobj(x) else cast_to(zeros_like(x), "bool")


@function()
def isreal(x: Any) -> Tensor:
    """Whether an entry has no imaginary part."""
    return logical_not(iscomplex(x))


@function()
def array_equiv(a: Any, b: Any) -> Tensor:
    """Whether two arrays are equal after broadcasting."""
    return all_along(equal(a, b))


@function()
def nanpercentile(x: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """`percentile` of the entries that are numbers."""
    return nanquantile(x, as_tensor(q) / 100.0, axis=axis, keepdims=keepdims)


@function()
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours in the flattened array, with numbers before and after."""
    parts = [to_begin, diff(as_tensor(x).reshape((-1,))), to_end]
    return concatenate([as_tensor(part).reshape((-1,)) for part in parts if part is not None])


unwrap = JaxOp("unwrap", lambda x, *, discont=None, axis=-1, period=2 * np.pi: jnp.unwrap(
    x, discont, axis, period), to_float=True)  # fmt: skip
spacing = Elementwise("spacing", jnp.spacing, "float")
bitwise_count = JaxOp("bitwise_count", lambda x: jnp.bitwise_count(x))
frexp = JaxOp("frexp", lambda x: tuple(jnp.frexp(x)), to_float=True)
