"""Indexing and indexed updates, with NumPy's rules.

An index is kept as a *plan*, a tuple with one entry a part of the brackets: `("slice", start, stop, step)` whose
numbers are ints, None or "in" (the next input); `("int", n)`; `("new",)`; or `("array",)` (the next input). Ellipses
are written out, boolean masks known now become integer arrays, and along an axis of known length each place is spelled
in one way: x[-1] of five entries is x[4]. What is known to lie outside raises when the graph is built; an array index
out of range at run time reads nan (or the dtype's fill value), never a neighbor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import GET, Attrs, Node
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.elementwise import logical_and, not_equal
from ppl.tensor.core.elementwise import switch as choice
from ppl.tensor.core.ops import TensorOp, broadcast_shape, normal_axis, unify
from ppl.tensor.core.sizes import filled, known_size, size_along, split_sizes
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import (
    FUNCTIONS,
    WHOLE,
    Dim,
    Tensor,
    TensorType,
    as_tensor,
    function,
    is_constant,
    told,
    value_of,
)
from ppl.xla.later import jnp

Plan = tuple[tuple[Any, ...], ...]


def make_plan(x: Tensor, index: Any) -> tuple[Plan, list[Tensor]]:
    """The plan of an index into `x`, and its tensors."""
    of_parts = isinstance(index, tuple) or (isinstance(index, np.ndarray) and index.dtype == object)
    of_parts = of_parts or (isinstance(index, list) and any(isinstance(part, slice) for part in index))
    parts = list(index) if of_parts else [index]
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError("an index holds at most one ellipsis (...)")
    parts = [_fitting(x, parts, at) for at in range(len(parts))]
    parts = [p for part in parts for p in _spread(part)]
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > x.ndim:
        raise IndexError(f"{used} indices for {x!r}, which has {x.ndim} axes")
    fill = [slice(None)] * (x.ndim - used)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    parts = parts + fill if at is None else parts[:at] + fill + parts[at + 1 :]
    plan: list[tuple[Any, ...]] = []
    tensors: list[Tensor] = []
    axis = 0
    for part in parts:
        if part is None:
            plan.append(("new",))
            continue
        dim = x.type.shape[axis]
        if isinstance(part, slice):
            plan.append(_slice_part([_slice_number(n, tensors) for n in (part.start, part.stop, part.step)], dim))
        elif isinstance(part, Tensor) and not is_constant(part):
            if part.dtype[0] not in "ui":
                raise IndexError(f"an index is made of integers, got {part!r}")
            plan.append(("array",))
            tensors.append(part)
        else:
            array = value_of(part) if isinstance(part, Tensor) else np.asarray(part)
            if array.dtype.kind not in "ui":
                raise IndexError(f"an index is made of integers, slices, None, ... or masks, got {part!r}")
            if dim is not None and array.size and (array.min() < -dim or array.max() >= dim):
                worst = array.max() if array.max() >= dim else array.min()
                where = (
                    ""
                    if array.ndim == 0
                    else f" (at position {int(np.flatnonzero(array.ravel() == worst)[0])} of the index)"
                )
                raise IndexError(
                    f"index {worst}{where} is out of range for axis {axis} of {told(x)}, which has length {dim}"
                )
            if array.ndim == 0:
                plan.append(("int", int(array) if dim is None else int(array) % dim))
            else:
                plan.append(("array",))
                tensors.append(as_tensor(array.astype(np.int64)))
        axis += 1
    return tuple(plan), tensors


class _MaskOf(TensorOp):
    """A mask that has the lengths of the axes it stands for; what is unknown now, the program checks."""

    def __call__(self, mask: Tensor, dims: Sequence[Any]) -> Tensor:
        _, static, symbolic = split_sizes(dims)
        return self.build((mask, *symbolic), {"shape": static}, None)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        own, dims = inputs[0].type.shape, attrs["shape"]
        if len(dims) < len(own) or any(None not in (m, n) and m != n for m, n in zip(own, dims, strict=True)):
            raise IndexError(f"the mask {inputs[0]!r} of shape {own} does not fit axes of lengths {dims}")
        return TensorType("bool", tuple(n if m is None else m for m, n in zip(own, dims, strict=True)))


def _mask_of(mask: Any, *sizes: Any, shape: tuple[int | None, ...]) -> Any:
    dims = filled(shape, sizes)
    if jnp.shape(mask) != dims:
        raise IndexError(f"a mask of shape {jnp.shape(mask)} does not fit axes of lengths {dims}")
    return mask


mask_of = _MaskOf("mask_of", _mask_of)


def _fitting(x: Tensor, parts: Sequence[Any], at: int) -> Any:
    """A part of an index; a mask that is computed is checked against the axes it stands for."""
    mask = parts[at]
    if not isinstance(mask, Tensor) or mask.dtype != "bool" or not mask.ndim or is_constant(mask):
        return mask
    before = any(part is Ellipsis for part in parts[:at])
    taken = [part.ndim if isinstance(part, Tensor | np.ndarray) and part.dtype == "bool" else int(part is not None)
             for part in (parts[at:] if before else parts[:at])]  # fmt: skip
    first = x.ndim - sum(taken) if before else sum(taken)
    return mask_of(mask, FUNCTIONS["shape"](x)[first : first + mask.ndim])


def _spread(part: Any) -> list[Any]:
    """A boolean mask as the integer arrays of its true places; everything else as it is."""
    value = value_of(part) if isinstance(part, Tensor) and is_constant(part) else part
    if isinstance(value, Tensor):
        return list(FUNCTIONS["nonzero"](value)) if value.dtype == "bool" and value.ndim else [value]
    if isinstance(value, list):
        value = [item.item() if isinstance(item, np.generic) else item for item in value]
        if any(isinstance(item, Tensor) for item in value):
            return [as_tensor(value)]
        value = np.asarray(value, dtype=None if value else np.int64)
    if isinstance(value, bool | np.bool_):
        raise IndexError("True and False are no indices here: use x[None] for a new axis")
    if isinstance(value, np.ndarray) and value.dtype == np.bool_:
        return list(np.nonzero(value))
    return [value]


def _slice_part(numbers: Sequence[Any], dim: Dim) -> tuple[Any, ...]:
    if dim is None or "in" in numbers:
        start, stop, step = numbers
        return ("slice", None if start == 0 and step in (None, 1) else start, stop, None if step == 1 else step)
    return slice_of(range(dim)[slice(*numbers)], dim)


def slice_of(places: range, dim: int) -> tuple[Any, ...]:
    """The part of a plan that picks these places of an axis; of all ways to write it the shortest."""
    if not places:
        return ("slice", None, 0, None)
    first, last, step = places[0], places[-1], places.step if len(places) > 1 else 1
    if step > 0:
        return ("slice", first or None, None if last + step >= dim else last + 1, None if step == 1 else step)
    return ("slice", None if first == dim - 1 else first, None if last + step < 0 else last - 1, step)


def _slice_number(n: Any, tensors: list[Tensor]) -> Any:
    if n is None:
        return None
    if isinstance(n, Tensor) and not is_constant(n):
        if n.ndim or n.dtype[0] not in "ui":
            raise TypeError(f"the ends of a slice are integer scalars, got {n!r}")
        tensors.append(n)
        return "in"
    value = value_of(n).item() if isinstance(n, Tensor) else n
    if not isinstance(value, int | np.integer):
        raise TypeError(f"the ends of a slice are integers, got {n!r}")
    return int(value)


def indexed_shape(x: TensorType, plan: Plan, tensors: tuple[Node, ...]) -> tuple[Dim, ...]:
    """NumPy's shape of an indexed array."""
    rest = iter(tensors)
    arrays: list[Node] = []
    places: list[int] = []  # positions in the plan that arrays and ints take, for NumPy's adjacency rule
    dims: list[tuple[int, Dim]] = []
    axis = 0
    for at, part in enumerate(plan):
        kind = part[0]
        if kind == "new":
            dims.append((at, 1))
            continue
        if kind == "slice":
            numbers = [next(rest) if n == "in" else n for n in part[1:]]
            dims.append((at, _slice_length(x.shape[axis], numbers)))
        else:
            places.append(at)
            if kind == "array":
                arrays.append(next(rest))
        axis += 1
    if not arrays:
        return tuple(dim for _, dim in dims)
    block = list(broadcast_shape("index", tuple(arrays)))
    adjacent = places == list(range(places[0], places[-1] + 1))
    first = places[0] if adjacent else -1
    before = [dim for at, dim in dims if at < first]
    after = [dim for at, dim in dims if at >= first]
    return tuple(before + block + after)


def _slice_length(dim: Dim, numbers: list[Any]) -> Dim:
    if any(isinstance(n, Node) for n in numbers):
        return None
    if dim is None:
        return None
    return len(range(*slice(*numbers).indices(dim)))


def real_index(plan: Plan, values: Any) -> tuple[Any, ...]:
    """The plan as an index of JAX arrays."""
    rest = iter(values)
    index: list[Any] = []
    for part in plan:
        if part[0] == "slice":
            index.append(slice(*(known_size(next(rest)) if n == "in" else n for n in part[1:])))
        else:
            index.append({"int": lambda: part[1], "new": lambda: None, "array": lambda: next(rest)}[part[0]]())  # noqa: B023
    return tuple(index)


def slice_ends(plan: Plan, tensors: tuple[Node, ...]) -> tuple[Node, ...]:
    """Those of an index's tensors that are ends of slices, which decide lengths."""
    kinds = [part[0] for part in plan for n in part if n == "in" or part[0] == "array"]
    return tuple(x for x, kind in zip(tensors, kinds, strict=True) if kind == "slice")


def refuse_outside(shape: tuple[int, ...], plan: Plan) -> None:
    """Raise where a number lies outside an axis whose length was not known before: JAX would take a neighbor."""
    axis = 0
    for part in plan:
        if part[0] == "int" and not -shape[axis] <= part[1] < shape[axis]:
            raise IndexError(f"index {part[1]} is out of range for axis {axis} of an array of shape {shape}")
        axis += part[0] != "new"


class _GetItem(TensorOp):
    """x[index]."""

    def __call__(self, x: Any, index: Any, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        plan, tensors = make_plan(x, index)
        if all(part == WHOLE for part in plan):
            return x if name is None else x.copy(name)
        return self.build((x, *tensors), {"plan": plan}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x = inputs[0].type
        return TensorType(x.dtype, indexed_shape(x, attrs["plan"], inputs[1:]))

    def size_inputs(self, inputs: tuple[Node, ...], attrs: Attrs) -> tuple[Node, ...]:
        return slice_ends(attrs["plan"], inputs[1:])


def _getitem(x: Any, *tensors: Any, plan: Plan) -> Any:
    refuse_outside(jnp.shape(x), plan)
    index = real_index(plan, tensors)
    if any(part[0] == "array" for part in plan):
        return jnp.asarray(x).at[index].get(mode="fill")
    return jnp.asarray(x)[index]


GETITEM = getitem = _GetItem("getitem", _getitem)


class _Update(TensorOp):
    """x with the entries at an index set, or changed by `y`; with repeated places every change counts but for "set"."""

    def __call__(self, x: Any, y: Any, index: Any, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        result = self.at(x, y, *make_plan(x, index))
        return result if name is None else result.copy(name)

    def at(self, x: Tensor, y: Any, plan: Plan, tensors: Sequence[Tensor]) -> Tensor:
        """The update by a plan. Where a mask that is computed decides which entries change, and `y` does not range over
        them, it is a choice for each entry: how many there are is known to no compiled program."""
        x, y = unify((x, y))
        whole = self.build((x, y, *tensors), {"plan": plan}, None)
        changed = {"index_update": lambda old, new: new, "index_add": lambda old, new: old + new}.get(self.name)
        masked = under_mask(x, y, plan, tensors) if changed else None
        return whole if changed is None or masked is None else choice(masked[0], changed(x, masked[1]), x)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, y = inputs[:2]
        place = indexed_shape(x.type, attrs["plan"], inputs[2:])
        fits = len(y.type.shape) <= len(place) and all(
            a in (1, None) or b is None or a == b for a, b in zip(reversed(y.type.shape), reversed(place), strict=False)
        )
        if not fits:
            raise ValueError(
                f"{self.name}: {y!r} of shape {y.type.shape} does not fit into x[index] of shape {place}, x = {x!r}"
            )
        return x.type

    def size_inputs(self, inputs: tuple[Node, ...], attrs: Attrs) -> tuple[Node, ...]:
        return slice_ends(attrs["plan"], inputs[2:])


def _updating(method: str) -> Callable[..., Any]:
    def lower(x: Any, y: Any, *tensors: Any, plan: Plan) -> Any:
        refuse_outside(jnp.shape(x), plan)
        return getattr(jnp.asarray(x).at[real_index(plan, tensors)], method)(y, mode="drop")

    return lower


index_update = _Update("index_update", _updating("set"))
index_add = _Update("index_add", _updating("add"))
index_multiply = _Update("index_multiply", _updating("multiply"))
index_min = _Update("index_min", _updating("min"))
index_max = _Update("index_max", _updating("max"))


def _place(view: Any, what: str) -> tuple[Tensor, Any]:
    """The array and the index of `x[index]`."""
    if not isinstance(view, Node) or view.op is not GETITEM:
        raise TypeError(f"{what} takes an indexed tensor, as {what}(x[i], y); got {view!r}")
    return view.inputs[0], view  # type: ignore[return-value]


def _updated(op: _Update, view: Any, y: Any) -> Tensor:
    x, where = _place(view, op.name)
    return op.at(x, y, where.attrs["plan"], where.inputs[1:])


def under_mask(x: Tensor, y: Tensor, plan: Plan, tensors: Sequence[Any]) -> tuple[Tensor, Tensor] | None:
    """Which entries of `x` a plan of whole axes and one mask picks, and `y` beside them; None of other plans, and where
    `y` has an entry for each place of the mask."""
    kinds = [part[0] for part in plan]
    if len(plan) != x.ndim or "array" not in kinds or any(kind not in ("array", "slice") for kind in kinds):
        return None
    if any(part[1:] != (None, None, None) for part in plan if part[0] == "slice"):
        return None
    first, count = kinds.index("array"), len(tensors)
    if kinds[first : first + count] != ["array"] * count or kinds.count("array") != count:
        return None
    after = x.ndim - first - count  # axes behind those of the mask
    hit = _picked(tensors, x.shape[first])
    if hit is None or (y.ndim > after and y.type.shape[y.ndim - after - 1] != 1):
        return None
    if y.ndim > after:
        y = y.reshape((*shape_of(y)[: y.ndim - after - 1], *(1,) * count, *shape_of(y)[y.ndim - after :]))
    return hit.reshape((*shape_of(hit), *(1,) * after)), y


def _picked(positions: Sequence[Any], n: Any) -> Tensor | None:
    """The mask whose places these positions are; of twice those of one vector, the diagonal under it."""
    masks = [t.inputs[0].inputs[0] if t.op is GET and t.inputs[0].op.name == "nonzero_op" else None for t in positions]
    if any(mask is None for mask in masks) or len({id(_unchecked(mask)) for mask in masks}) > 1:
        return None
    axes, mask = [t.attrs["position"] for t in positions], not_equal(masks[0], 0)
    if axes == [0, 0] and mask.ndim == 1:
        return logical_and(expand_dims(mask, 1), FUNCTIONS["eye"](n, dtype="bool"))
    return mask if axes == list(range(mask.ndim)) else None


def _unchecked(mask: Any) -> Node:
    """A mask without the check of its length, which is another one for each axis."""
    return mask.inputs[0] if isinstance(mask.op, _MaskOf) else mask


@function()
def set_subtensor(x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False) -> Tensor:
    """x with x[i] = y, written set_subtensor(x[i], y); nothing is changed in place, whatever `inplace` says."""
    return _updated(index_update, x, y)


@function()
def inc_subtensor(x: Any, y: Any, inplace: bool = False, ignore_duplicates: bool = False) -> Tensor:
    """x with x[i] += y, repeated places added up."""
    if ignore_duplicates:
        raise NotImplementedError("inc_subtensor adds repeated places up: ignore_duplicates=True is not supported")
    return _updated(index_add, x, y)


@function()
def set(view: Any, y: Any) -> Tensor:
    """`x[i].set(y)`: x with those entries replaced."""
    return set_subtensor(view, y)


@function()
def inc(view: Any, y: Any) -> Tensor:
    """`x[i].inc(y)`: x with `y` added to those entries."""
    return inc_subtensor(view, y)


class _Index:
    """`index[1:3, None]` is the index itself, to be passed to `index_update` and its kin."""

    def __getitem__(self, index: Any) -> Any:
        return index


index = _Index()


def inside(name: str, positions: Any, count: Any, mode: str) -> Any:
    """Positions among `count` entries: those outside stay, and raise, or are brought inside by "wrap" or "clip"."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"{name}: mode is 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "raise":
        return positions
    return as_tensor(positions) % count if mode == "wrap" else as_tensor(positions).clip(0, count - 1)


@function()
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Tensor:
    """Entries of `a` along an axis; of the flattened array where None. A position outside is an error, or is brought
    inside by `mode`: "wrap" counts on from the other end, "clip" takes the last one."""
    a = as_tensor(a)
    indices = inside("take", indices, size_along(a, axis), mode)
    if axis is None:
        return getitem(a.reshape((-1,)), indices if isinstance(indices, Tensor) else np.asarray(indices))
    where = normal_axis("take", a, axis)
    return getitem(a, (slice(None),) * where + (indices if isinstance(indices, Tensor) else np.asarray(indices),))


class _TakeAlongAxis(TensorOp):
    """Entries of `x` picked along one axis by an array of positions of the same rank."""

    def __call__(self, arr: Any, indices: Any, axis: int = 0, *, name: str | None = None) -> Tensor:
        arr, indices = as_tensor(arr), as_tensor(indices)
        if indices.ndim != arr.ndim or indices.dtype[0] not in "ui":
            raise ValueError(f"take_along_axis: positions are integers with {arr.ndim} axes, got {indices!r}")
        return self.build((arr, indices), {"axis": normal_axis(self.name, arr, axis)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        (x, i), axis = (node.type for node in inputs), attrs["axis"]
        dims = tuple(i.shape[a] if a == axis else (i.shape[a] if d == 1 else d) for a, d in enumerate(x.shape))
        return TensorType(x.dtype, dims)


take_along_axis = _TakeAlongAxis("take_along_axis", lambda x, i, axis: jnp.take_along_axis(x, i, axis=axis))


@function()
def diff(x: Any, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbors, `n` times."""
    x = as_tensor(x)
    where = (slice(None),) * normal_axis("diff", x, axis)
    for _ in range(n):
        later, sooner = getitem(x, (*where, slice(1, None))), getitem(x, (*where, slice(None, -1)))
        x = not_equal(later, sooner) if x.dtype == "bool" else later - sooner
    return x
