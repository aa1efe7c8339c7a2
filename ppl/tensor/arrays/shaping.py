"""Operations that change shapes: axes moved, added, taken away and joined, arrays repeated along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp, broadcast_shape, normal_axes, normal_axis, unify
from ppl.tensor.core.sizes import common_shape, filled, shape, sizes_of, split_sizes
from ppl.tensor.tensor import Dim, Tensor, TensorType, as_tensor, function, is_constant, value_of
from ppl.xla.later import jnp


class _Reshape(TensorOp):
    def __call__(self, x: Any, newshape: Any, ndim: int | None = None, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        dims, static, symbolic = split_sizes(newshape)
        if ndim is not None and ndim != len(dims):
            raise ValueError(f"reshape: asked for {ndim} dimensions with a shape of {len(dims)}")
        if not symbolic and None not in x.type.shape:
            static = dims = _resolved(x, static)
            if dims == x.type.shape:
                return x if name is None else x.copy(name)
        return self.build((x, *symbolic), {"shape": tuple(static)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        static = attrs["shape"]
        if None in static or (-1 in static and None in x.shape):
            return TensorType(x.dtype, tuple(None if n == -1 else n for n in static))
        return TensorType(x.dtype, _resolved(inputs[0], static) if -1 in static else static)


def _resolved(x: Any, sizes: Sequence[Any]) -> tuple[int, ...]:
    total = math.prod(x.type.shape)
    known = math.prod(n for n in sizes if n != -1)
    if list(sizes).count(-1) > 1 or any(n < -1 for n in sizes):
        raise ValueError(f"reshape: {tuple(sizes)} is no shape; at most one entry may be -1, the others not negative")
    if -1 in sizes and known and total % known == 0:
        return tuple(total // known if n == -1 else n for n in sizes)
    if -1 in sizes or known != total:
        raise ValueError(f"reshape: {x!r} has {total} entries, which do not fill the shape {tuple(sizes)}")
    return tuple(sizes)


RESHAPE = reshape = _Reshape("reshape", lambda x, *sizes, shape: jnp.reshape(x, filled(shape, sizes)))


class _Transpose(TensorOp):
    """The axes in another order."""

    def __call__(self, x: Any, axes: Any = None, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        order = tuple(reversed(range(x.ndim))) if axes is None else tuple(normal_axis("transpose", x, a) for a in axes)
        if sorted(order) != list(range(x.ndim)):
            raise ValueError(f"transpose: {axes!r} is no order of the {x.ndim} axes of {x!r}")
        if order == tuple(range(x.ndim)):
            return x if name is None else x.copy(name)
        return self.build((x,), {"axes": order}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        return TensorType(x.dtype, tuple(x.shape[a] for a in attrs["axes"]))


TRANSPOSE = transpose = _Transpose("transpose", lambda x, axes: jnp.transpose(x, axes), also=("permute_dims",))


class _ExpandDims(TensorOp):
    """New axes of length one, at the given positions of the result."""

    def __call__(self, a: Any, axis: Any, *, name: str | None = None) -> Tensor:
        a = as_tensor(a)
        given = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
        rank = a.ndim + len(given)
        if any(not -rank <= i < rank for i in given) or len({i % rank for i in given}) < len(given):
            raise ValueError(f"expand_dims: {axis!r} are no distinct positions among {rank} axes")
        axes = tuple(sorted(i % rank for i in given))
        return self.build((a,), {"axis": axes}, name) if axes else a

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        dims = list(x.shape)
        for a in attrs["axis"]:
            dims.insert(a, 1)
        return TensorType(x.dtype, tuple(dims))


EXPAND_DIMS = expand_dims = _ExpandDims("expand_dims", lambda x, axis: jnp.expand_dims(x, axis))


class _Squeeze(TensorOp):
    """Without some axes of length one (all known ones where None)."""

    def __call__(self, x: Any, axis: Any = None, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        axes = (
            tuple(i for i, d in enumerate(x.type.shape) if d == 1) if axis is None else normal_axes("squeeze", x, axis)
        )
        for a in axes:
            if x.type.shape[a] not in (1, None):
                raise ValueError(f"squeeze: axis {a} of {x!r} has length {x.type.shape[a]}, not 1")
        return self.build((x,), {"axis": axes}, name) if axes else x

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        return TensorType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in attrs["axis"]))


SQUEEZE = squeeze = _Squeeze("squeeze", lambda x, axis: jnp.squeeze(x, axis))


def shape_checked(name: str, dims: Sequence[Dim], wanted: Sequence[Dim], given: Sequence[Node]) -> None:
    """Raise where arrays of shape `dims` do not broadcast to the shape `wanted`, naming those that were `given`."""
    pairs = zip(reversed(dims), reversed(wanted), strict=False)
    if len(wanted) < len(dims) or any(d not in (1, None) and n is not None and d != n for d, n in pairs):
        who = " and ".join(f"{node!r} of shape {node.type.shape}" for node in given)
        raise ValueError(f"{name}: {who} does not broadcast to {tuple(wanted)}")


class _BroadcastTo(TensorOp):
    def __call__(self, x: Any, shape: Any, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        dims, static, symbolic = split_sizes(shape)
        if not symbolic and dims == x.type.shape:
            return x if name is None else x.copy(name)
        return self.build((x, *symbolic), {"shape": static}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, shape = inputs[0].type, attrs["shape"]
        shape_checked("broadcast_to", x.shape, shape, inputs[:1])
        return TensorType(x.dtype, shape)


BROADCAST_TO = broadcast_to = _BroadcastTo(
    "broadcast_to", lambda x, *sizes, shape: jnp.broadcast_to(x, filled(shape, sizes))
)


class _Concatenate(TensorOp):
    """Arrays one after the other along an axis."""

    def __call__(self, tensor_list: Any, axis: Any = 0, *, name: str | None = None) -> Tensor:
        tensor_list = tuple(as_tensor(t) for t in tensor_list)
        if not tensor_list:
            raise ValueError("concatenate needs at least one array")
        parts = unify(tensor_list)
        if axis is None:
            parts, axis = tuple(part.reshape((-1,)) for part in parts), 0
        return self.build(parts, {"axis": normal_axis("concatenate", parts[0], axis)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        axis, first = attrs["axis"], inputs[0].type
        dims: list[Dim] = list(first.shape)
        for node in inputs[1:]:
            if node.type.ndim != first.ndim:
                raise ValueError(f"concatenate: {inputs[0]!r} and {node!r} have {first.ndim} and {node.type.ndim} axes")
            for i, dim in enumerate(node.type.shape):
                if i == axis:
                    dims[i] = None if dims[i] is None or dim is None else dims[i] + dim
                elif dims[i] is None:
                    dims[i] = dim
                elif dim is not None and dim != dims[i]:
                    raise ValueError(
                        f"concatenate: {inputs[0]!r} and {node!r} differ along axis {i}: {dims[i]} and {dim}"
                    )
        return TensorType(first.dtype, tuple(dims))


CONCATENATE = concatenate = _Concatenate(
    "concatenate", lambda *xs, axis: jnp.concatenate(xs, axis=axis), also=("concat",)
)


@function("join_")
def join(axis: Any, *tensors: Any) -> Tensor:
    """`concatenate` in Theano's argument order."""
    return concatenate(tensors, axis)


@function()
def stack(tensors: Any, axis: int = 0, *, name: str | None = None) -> Tensor:
    """Arrays of one shape along a new axis."""
    parts = tuple(as_tensor(t) for t in tensors)
    if not parts:
        raise ValueError("stack needs at least one array")
    return concatenate([expand_dims(part, axis) for part in unify(parts)], axis, name=name)


@function()
def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Some axes at other positions, the rest in their order."""
    a = as_tensor(a)
    sources = [normal_axis("moveaxis", a, i) for i in (source if isinstance(source, tuple | list) else (source,))]
    targets = [
        normal_axis("moveaxis", a, i)
        for i in (destination if isinstance(destination, tuple | list) else (destination,))
    ]
    order = [i for i in range(a.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(a, order)


@function()
def swapaxes(y: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    y = as_tensor(y)
    order = list(range(y.ndim))
    a, b = normal_axis("swapaxes", y, axis1), normal_axis("swapaxes", y, axis2)
    order[a], order[b] = order[b], order[a]
    return transpose(y, order)


@function()
def dimshuffle(x: Any, *pattern: Any) -> Tensor:
    """Theano's rearrangement: axis numbers in their new order, "x" for a new axis; a dropped axis has length one."""
    x = as_tensor(x)
    order = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], tuple | list) else pattern
    kept = [normal_axis("dimshuffle", x, p) for p in order if p != "x"]
    dropped = tuple(a for a in range(x.ndim) if a not in kept)
    if dropped:
        x = squeeze(x, dropped)
    ranks = {a: i for i, a in enumerate(sorted(kept))}
    moved = transpose(x, [ranks[a] for a in kept])
    return expand_dims(moved, tuple(i for i, p in enumerate(order) if p == "x"))


@function()
def flatten(x: Any, ndim: int = 1) -> Tensor:
    """The last axes merged into one so that `ndim` remain."""
    x = as_tensor(x)
    if not 1 <= ndim <= max(x.ndim, 1):
        raise ValueError(f"flatten: {x!r} has {x.ndim} axes, of which {ndim} cannot remain")
    return reshape(x, (*shape(x)[: ndim - 1], -1)) if x.ndim != ndim else x


@function()
def flatten2d(x: Any) -> Tensor:
    """All axes but the first merged into one (SymJAX's name for `flatten(x, 2)`)."""
    return flatten(x, 2)


@function()
def flatten3d(x: Any) -> Tensor:
    """All axes but the first two merged into one."""
    return flatten(x, 3)


@function()
def flatten4d(x: Any) -> Tensor:
    """All axes but the first three merged into one."""
    return flatten(x, 4)


@function()
def reshape_weight_to_matrix(x: Any, axis: int = 0) -> Tensor:
    """One axis as rows, all others merged into columns."""
    return flatten(moveaxis(x, axis, 0), 2)


@function()
def ravel(x: Any) -> Tensor:
    """All entries in one row."""
    return reshape(as_tensor(x), (-1,))


@function()
def broadcast_arrays(*tensors: Any) -> list[Tensor]:
    """All arrays at their common shape."""
    parts = [as_tensor(t) for t in tensors]
    common = broadcast_shape("broadcast_arrays", tuple(parts))
    if None not in common:
        return [broadcast_to(part, common) for part in parts]
    symbolic = common_shape(parts)
    return [broadcast_to(part, symbolic) for part in parts]


def atleast(rank: int, *tensors: Any) -> Any:
    """Tensors with axes of length one in front until they have `rank`."""
    results = [expand_dims(t, tuple(range(rank - t.ndim))) if t.ndim < rank else t for t in map(as_tensor, tensors)]
    return results[0] if len(results) == 1 else results


@function()
def shape_padleft(t: Any, n_ones: int = 1) -> Tensor:
    """`n_ones` axes of length one in front."""
    return expand_dims(t, tuple(range(n_ones)))


@function()
def shape_padright(t: Any, n_ones: int = 1) -> Tensor:
    """`n_ones` axes of length one at the end."""
    return expand_dims(t, tuple(range(-n_ones, 0)))


class _SpecifyShape(TensorOp):
    """The same array with more of its shape known; the program checks it. A length that is None, or that is computed,
    says nothing of the type."""

    def __call__(self, x: Any, shape: Any, *, name: str | None = None) -> Tensor:
        known = [value_of(n) if isinstance(n, Tensor) and is_constant(n) else n for n in sizes_of(shape)]
        lengths = tuple(None if n is None or isinstance(n, Tensor) else int(n) for n in known)
        return self.build((as_tensor(x),), {"shape": lengths}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, wanted = inputs[0].type, attrs["shape"]
        agree = len(wanted) == x.ndim and all(
            d == n or d is None or n is None for d, n in zip(x.shape, wanted, strict=True)
        )
        if not agree:
            raise ValueError(f"specify_shape: {inputs[0]!r} has shape {x.shape}, not {wanted}")
        return TensorType(x.dtype, tuple(d if n is None else n for d, n in zip(x.shape, wanted, strict=True)))

    def size_inputs(self, inputs: tuple[Node, ...], attrs: Attrs) -> tuple[Node, ...]:
        return ()  # None stands for any length


def _check_shape(x: Any, shape: tuple[int | None, ...]) -> Any:
    if any(n is not None and n != d for d, n in zip(jnp.shape(x), shape, strict=True)):
        raise ValueError(f"specify_shape: got an array of shape {jnp.shape(x)} where {shape} was promised")
    return x


specify_shape = _SpecifyShape("specify_shape", _check_shape)
