"""The same entries in other places: stacks, tiles, rolls, flips, splits, pads."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.tensor.arrays.creation import zeros
from ppl.tensor.arrays.indexing import getitem, take_along_axis
from ppl.tensor.arrays.shaping import atleast, broadcast_to, concatenate, expand_dims, transpose
from ppl.tensor.core.elementwise import maximum
from ppl.tensor.core.ops import JaxOp, normal_axes, normal_axis, unify
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.core.sizes import size
from ppl.tensor.tensor import Tensor, as_tensor, function, is_constant, value_of
from ppl.xla.later import jnp


# --- more axes
@function()
def atleast_1d(*tensors: Any) -> Any:
    """Scalars as vectors of one entry."""
    return atleast(1, *tensors)


@function()
def atleast_2d(*tensors: Any) -> Any:
    """Axes of length one in front, to two."""
    return atleast(2, *tensors)


@function()
def atleast_3d(*tensors: Any) -> Any:
    """Axes of length one, to three: a vector becomes (1, n, 1), a matrix (m, n, 1), as in NumPy."""
    results = [_three(as_tensor(t)) for t in tensors]
    return results[0] if len(results) == 1 else results


def _three(t: Tensor) -> Tensor:
    return t if t.ndim > 2 else expand_dims(t, ((0, 1, 2), (0, 2), (2,))[t.ndim])


@function()
def atleast_Nd(*tensors: Any, n: int = 1, left: bool = True) -> Any:
    """Axes of length one, in front or at the end, until there are `n`."""
    if left:
        return atleast(n, *tensors)
    results = [expand_dims(t, tuple(range(t.ndim, n))) if t.ndim < n else t for t in map(as_tensor, tensors)]
    return results[0] if len(results) == 1 else results


@function()
def shape_padaxis(t: Any, axis: int) -> Tensor:
    """An axis of length one at the given place."""
    return expand_dims(t, axis)


# --- one after the other
@function()
def vstack(tensors: Sequence[Any]) -> Tensor:
    """Rows on top of each other."""
    return concatenate([atleast_2d(t) for t in tensors], 0)


@function()
def hstack(tensors: Sequence[Any]) -> Tensor:
    """Side by side: along the second axis, vectors along their only one."""
    parts = [atleast_1d(t) for t in tensors]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1)


@function()
def dstack(tensors: Sequence[Any]) -> Tensor:
    """Behind each other, along the third axis."""
    return concatenate([atleast_3d(t) for t in tensors], 2)


@function()
def column_stack(tensors: Sequence[Any]) -> Tensor:
    """Vectors as the columns of a matrix."""
    return concatenate([expand_dims(t, 1) if t.ndim < 2 else t for t in map(atleast_1d, tensors)], 1)


@function()
def horizontal_stack(*matrices: Any) -> Tensor:
    """Matrices side by side (Theano's name)."""
    return concatenate(matrices, 1)


@function()
def vertical_stack(*matrices: Any) -> Tensor:
    """Matrices on top of each other (Theano's name)."""
    return concatenate(matrices, 0)


@function()
def stacklists(arg: Any) -> Tensor:
    """A tensor from nested lists of tensors."""
    return as_tensor(arg)


@function()
def append(x: Any, values: Any, axis: int | None = None) -> Tensor:
    """Values after those of `x`."""
    return concatenate([x, values], axis)


# --- the other way round
@function()
def flip(arr: Any, axis: Any = None) -> Tensor:
    """The order reversed along some axes, all where None."""
    arr = as_tensor(arr)
    axes = normal_axes("flip", arr, axis)
    return getitem(arr, tuple(slice(None, None, -1) if a in axes else slice(None) for a in range(arr.ndim)))


@function()
def flipud(x: Any) -> Tensor:
    """Rows in reversed order."""
    return flip(x, 0)


@function()
def fliplr(x: Any) -> Tensor:
    """Columns in reversed order."""
    return flip(x, 1)


rot90 = JaxOp("rot90", lambda x, *, k=1, axes=(0, 1): jnp.rot90(x, k, axes))
_roll = JaxOp("roll_op", lambda x, shift, *, axis: jnp.roll(x, shift, axis))


@function()
def roll(x: Any, shift: Any, axis: Any = None) -> Tensor:
    """Entries moved along an axis, those that fall off put back in front; the flattened array where None."""
    return _roll(x, shift, axis=axis)


@function()
def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """One axis moved in front of another (`moveaxis` says it more plainly)."""
    x = as_tensor(x)
    origin = normal_axis("rollaxis", x, axis)
    target = start + x.ndim if start < 0 else start
    order = [a for a in range(x.ndim) if a != origin]
    order.insert(target - 1 if origin < target else target, origin)
    return transpose(x, order)


@function()
def matrix_transpose(x: Any) -> Tensor:
    """The last two axes exchanged."""
    x = as_tensor(x)
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


# --- copies
@function()
def tile(A: Any, reps: Any) -> Tensor:
    """The array repeated as a whole, so often along each axis."""
    A = as_tensor(A)
    counts = list(reps) if isinstance(reps, list | tuple | np.ndarray) else [reps]
    A = atleast(len(counts), A)
    counts = [1] * (A.ndim - len(counts)) + counts
    lengths = shape_of(A)
    lifted = expand_dims(A, tuple(range(0, 2 * A.ndim, 2)))
    spread = [n for pair in zip(counts, lengths, strict=True) for n in pair]
    whole = tuple(c * n for c, n in zip(counts, lengths, strict=True))
    return broadcast_to(lifted, spread).reshape(whole)


_pad = JaxOp("pad_op", lambda x, fill, *, pad_width, mode: jnp.pad(
    x, pad_width, mode, **({"constant_values": fill.astype(x.dtype)} if mode == "constant" else {})))  # fmt: skip


@function()
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """The array with a border: of constants, or one of NumPy's other modes ("edge", "reflect", "symmetric", "wrap")."""
    x = as_tensor(x)
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    return _pad(x, constant_values, pad_width=widths, mode=mode)


# --- pieces
@function()
def split(
    x: Any, splits: Any = None, n_splits: int | None = None, axis: int = 0, *, splits_size: Any = None
) -> list[Tensor]:
    """Pieces along an axis.

    As in NumPy, `splits` is the number of equal pieces or the places to cut at; as in Theano, together with `n_splits`
    it is the list of the sizes of the pieces.
    """
    x = as_tensor(x)
    where = normal_axis("split", x, axis)
    sizes = splits if splits_size is None else splits_size
    if n_splits is not None:
        sizes = value_of(sizes).tolist() if isinstance(sizes, Tensor) and is_constant(sizes) else list(sizes)
        if len(sizes) != n_splits:
            raise ValueError(f"split: {n_splits} pieces need as many sizes, got {sizes!r}")
        ends: list[Any] = []
        for n in sizes:
            ends.append(n if not ends else ends[-1] + n)
        total = x.type.shape[where]
        if total is not None and isinstance(ends[-1], int) and ends[-1] != total:
            raise ValueError(f"split: sizes {sizes} add up to {ends[-1]}, {x!r} has length {total} along axis {where}")
        return _cut(x, where, ends[:-1])
    if not isinstance(sizes, int | np.integer):
        return _cut(x, where, list(np.asarray(sizes)) if not isinstance(sizes, list | tuple) else list(sizes))
    length = x.type.shape[where]
    if length is not None and length % sizes:
        raise ValueError(
            f"split: {x!r} has length {length} along axis {where}, not a multiple of {sizes}: use array_split"
        )
    step = shape_of(x)[where] // sizes
    return _cut(x, where, [step * i for i in range(1, sizes)])


def _cut(x: Tensor, axis: int, places: list[Any]) -> list[Tensor]:
    front = (slice(None),) * axis
    ends = [None, *places, None]
    return [getitem(x, (*front, slice(a, b))) for a, b in itertools.pairwise(ends)]


@function()
def array_split(x: Any, pieces: Any, axis: int = 0) -> list[Tensor]:
    """`split` where the first pieces may be longer by one."""
    x = as_tensor(x)
    where = normal_axis("array_split", x, axis)
    length = x.type.shape[where]
    if not isinstance(pieces, int | np.integer):
        return split(x, pieces, axis=where)
    if length is None:
        raise ValueError(f"array_split: the length of axis {where} of {x!r} must be known: use specify_shape")
    lengths = [len(part) for part in np.array_split(np.arange(length), pieces)]
    return _cut(x, where, np.cumsum(lengths)[:-1].tolist())


@function()
def hsplit(x: Any, pieces: Any) -> list[Tensor]:
    """`split` along the second axis, or the only one."""
    x = as_tensor(x)
    return split(x, pieces, axis=0 if x.ndim == 1 else 1)


@function()
def vsplit(x: Any, pieces: Any) -> list[Tensor]:
    """`split` along the first axis."""
    return split(x, pieces, axis=0)


@function()
def dsplit(x: Any, pieces: Any) -> list[Tensor]:
    """`split` along the third axis."""
    return split(x, pieces, axis=2)


@function()
def unstack(x: Any, axis: int = 0) -> list[Tensor]:
    """The slices along an axis of known length."""
    x = as_tensor(x)
    front = (slice(None),) * normal_axis("unstack", x, axis)
    length = x.type.shape[len(front)]
    if length is None:
        raise ValueError(f"unstack: the length of axis {axis} of {x!r} must be known: use specify_shape")
    return [getitem(x, (*front, i)) for i in range(length)]


@function()
def resize(x: Any, new_shape: Any) -> Tensor:
    """The entries in order, from the start again where they run out."""
    x = as_tensor(x).reshape((-1,))
    count = int(np.prod(new_shape))
    if x.type.shape == (0,):
        return zeros(new_shape, x.dtype)
    return getitem(x, as_tensor(np.arange(count)) % size(x)).reshape(new_shape)


@function()
def permute_row_elements(x: Any, y: Any, inverse: bool = False) -> Tensor:
    """Each row in the order that the row of `y` gives, or back out of it."""
    x, y = as_tensor(x), as_tensor(y)
    rank = max(x.ndim, y.ndim)
    return take_along_axis(atleast(rank, x), atleast(rank, inverse_permutation(y) if inverse else y), -1)


@function()
def inverse_permutation(perm: Any) -> Tensor:
    """The permutation that undoes one."""
    return as_tensor(perm).argsort(-1)


@function()
def broadcast_shape(*arrays: Any, arrays_are_shapes: bool = False) -> tuple[Any, ...]:
    """The shape that arrays (or shapes) broadcast to."""
    if not arrays_are_shapes:
        from_arrays = [shape_of(a) for a in arrays]
        return broadcast_shapes(*from_arrays)
    return broadcast_shapes(*arrays)


@function()
def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape that arrays of the given shapes broadcast to; symbolic lengths are taken to fit."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[Any] = [1] * rank
    for s in shapes:
        for axis, n in enumerate(s, start=rank - len(s)):
            n = int(value_of(n)) if isinstance(n, Tensor) and is_constant(n) else n
            known = result[axis]
            if n is known or (isinstance(n, int) and n == 1):
                continue
            if isinstance(known, Tensor) and isinstance(n, Tensor):
                result[axis] = maximum(known, n)
            elif isinstance(known, Tensor) or (isinstance(known, int) and known == 1):
                result[axis] = n
            elif not isinstance(n, Tensor) and n != known:
                raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not broadcast: lengths {known} and {n}")
    return tuple(result)


@function()
def concat_with_broadcast(tensor_list: Sequence[Any], axis: int = 0) -> Tensor:
    """`concatenate` after broadcasting the other axes."""
    parts = unify(tuple(as_tensor(t) for t in tensor_list))
    where = normal_axis("concat_with_broadcast", parts[0], axis)
    others = [tuple(1 if i == where else n for i, n in enumerate(shape_of(p))) for p in parts]
    common = broadcast_shapes(*others)
    return concatenate(
        [broadcast_to(p, tuple(shape_of(p)[where] if i == where else n for i, n in enumerate(common))) for p in parts],
        where,
    )


@function()
def block(nested: Any) -> Tensor:
    """An array from nested lists of blocks: the innermost lists lie along the last axis."""

    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def joined(part: Any, level: int, rank: int) -> Tensor:
        if not isinstance(part, list):
            return atleast(rank, part)
        return concatenate([joined(each, level - 1, rank) for each in part], -level)

    def ranks(part: Any) -> int:
        return max(map(ranks, part)) if isinstance(part, list) else as_tensor(part).ndim

    levels = depth(nested)
    return joined(nested, levels, max(levels, ranks(nested)))


@function()
def delete(x: Any, places: Any, axis: int | None = None) -> Tensor:
    """Without the entries at places known now; of the flattened array where the axis is None."""
    x, where = _along("delete", x, axis)
    kept = np.delete(np.arange(_length("delete", x, where)), _known_places("delete", places))
    return getitem(x, (slice(None),) * where + (kept,))


@function()
def insert(x: Any, places: Any, values: Any, axis: int | None = None) -> Tensor:
    """With values put in front of places known now; into the flattened array where the axis is None."""
    x, where = _along("insert", x, axis)
    values, length = unify((values, x))[0], _length("insert", x, where)
    at = _known_places("insert", places)
    count = 1 if at.ndim == 0 and values.ndim < x.ndim else (values.type.shape[where] if at.ndim == 0 else at.size)
    if count is None:
        raise ValueError(f"insert: how many values {values!r} holds must be known")
    order = np.insert(np.arange(length), at, length + np.arange(count))
    sizes = tuple(count if i == where else n for i, n in enumerate(shape_of(x)))
    aligned = expand_dims(values, where) if at.ndim == 0 and 0 < values.ndim < x.ndim else values
    whole = concatenate([x, broadcast_to(aligned, sizes)], where)
    return getitem(whole, (slice(None),) * where + (order,))


def _along(name: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    x = as_tensor(x)
    return (x.reshape((-1,)), 0) if axis is None else (x, normal_axis(name, x, axis))


def _length(name: str, x: Tensor, axis: int) -> int:
    length = x.type.shape[axis]
    if length is None:
        raise ValueError(f"{name}: the length of axis {axis} of {x!r} must be known: use specify_shape")
    return length


def _known_places(name: str, places: Any) -> Any:
    if isinstance(places, slice):
        raise TypeError(f"{name}: places are integers, got {places!r}; an array can be indexed by a slice instead")
    if isinstance(places, Tensor) and not is_constant(places):
        raise TypeError(f"{name}: the places must be known when the graph is built, got {places!r}")
    return value_of(places) if isinstance(places, Tensor) else np.asarray(places)
