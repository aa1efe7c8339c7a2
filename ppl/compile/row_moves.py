"""What becomes of rows in each kind of operation, where a graph is written for some of the rows only.

An operation on arrays that have the rows along an axis gives an array with the rows along an axis, or the sum over
them, or neither: then there is no rule here, and it is computed of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ppl.graph import Node
from ppl.graph.node import Op
from ppl.rewrites.facts.facts import ASSUME
from ppl.tensor.arrays import indexing, reductions, shaping
from ppl.tensor.arrays.reductions import cumprod, cumsum, log_softmax, softmax
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.core.elementwise import switch
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import CAST, Elementwise, Reduction
from ppl.tensor.linear_algebra.products import MATMUL
from ppl.tensor.tensor import Tensor

_WHOLE = ("slice", None, None, None)


class Along(NamedTuple):
    """An array of some of the rows, and the axis that they lie along."""

    array: Any
    axis: int


class Summed(NamedTuple):
    """A sum over some of the rows: over all of them it is the sum of such sums."""

    array: Any


class Rows:
    """The parts of a graph for some of the rows. Subclasses say where these come from."""

    count: int  # rows in all
    some: int  # rows of a part
    real: Tensor  # which rows of a part are rows of the data, and no filling

    def __init__(self) -> None:
        self.along: dict[Node, Along] = {}

    def entering(self, x: Node) -> Any:
        """What stands in a part for an array that is the same for all rows."""
        raise NotImplementedError

    def picked(self, x: Node, axis: int) -> Any:
        """The entries of such an array that belong to the rows of a part."""
        raise NotImplementedError

    def taken_by_group(self, x: Node, groups: Node) -> Any:
        """The rows of such an array that the rows of a part name; None where it is not known which."""
        raise NotImplementedError

    def of(self, x: Node, axis: int) -> Any:
        """An array with its rows along an axis, as it stands in a part."""
        known = self.along.get(x)
        if known is not None and known.axis == axis:
            return known.array
        if x.op is shaping.BROADCAST_TO and len(x.inputs) == 1:
            inner, shape = x.inputs[0], x.type.shape
            at = axis - len(shape) + inner.type.ndim
            if at < 0 or inner.type.shape[at] == 1:
                return shaping.BROADCAST_TO(self.entering(inner), _with(shape, axis, self.some))
        return self.picked(x, axis)

    def only_real(self, x: Along) -> Any:
        """The array with zeros in the place of filling."""
        others = [a for a in range(x.array.type.ndim) if a != x.axis]
        return switch(shaping.expand_dims(self.real, tuple(others)), x.array, 0.0)


Rule = Callable[[Rows, Node], "Along | Summed | None"]


def moved(rows: Rows, node: Node) -> Along | Summed | None:
    """`node` for some of the rows, given those of its inputs that are."""
    if any(None in getattr(x.type, "shape", (None,)) for x in (node, *node.inputs)):
        return None
    if isinstance(node.op, Elementwise):
        return _elementwise(rows, node)
    if isinstance(node.op, Reduction):
        return _reduction(rows, node)
    rule = _RULES.get(node.op)
    return None if rule is None else rule(rows, node)


def _on(node: Node, inputs: Sequence[Any], **changes: Any) -> Any:
    return Node(node.op, tuple(inputs), node.attrs.but(**changes) if changes else node.attrs)


def _with(shape: Sequence[Any], axis: int, count: int) -> tuple[Any, ...]:
    return (*shape[:axis], count, *shape[axis + 1 :])


def _same(rows: Rows, node: Node) -> Along:
    """What leaves the axes as they are."""
    array, axis = rows.along[node.inputs[0]]
    return Along(_on(node, (array, *node.inputs[1:])), axis)


def _elementwise(rows: Rows, node: Node) -> Along | None:
    """Axes are lined up from the last; an array that is the same for all rows gives the entries of these rows."""
    rank = node.type.ndim
    axes = {along.axis + rank - x.type.ndim for x in node.inputs if (along := rows.along.get(x)) is not None}
    if len(axes) > 1:
        return None
    (axis,) = axes
    return Along(_on(node, _lined_up(rows, node.inputs, axis, rank)), axis)


def _lined_up(rows: Rows, inputs: Sequence[Node], axis: int, rank: int) -> list[Any]:
    """Arrays that broadcast, each with the rows along `axis` of the result if it has that axis."""
    found = []
    for x in inputs:
        at = axis - rank + x.type.ndim
        found.append(rows.of(x, at) if at >= 0 and x.type.shape[at] != 1 else rows.entering(x))
    return found


def _reduction(rows: Rows, node: Node) -> Along | Summed | None:
    x, axes = rows.along[node.inputs[0]], node.attrs["axis"]
    if x.axis not in axes:
        before = 0 if node.attrs["keepdims"] else sum(a < x.axis for a in axes)
        return Along(_on(node, [x.array]), x.axis - before)
    if node.op is not reductions.sum or node.type.dtype[0] != "f":
        return None
    return Summed(_on(node, [rows.only_real(x)]))


def _product(rows: Rows, node: Node) -> Along | Summed | None:
    """Rows of the left array, columns of the right one, stacks of both, or the axis that products are summed over."""
    left, right = node.inputs
    summed = [left.type.ndim - 1, max(0, right.type.ndim - 2)]
    where = [None if (along := rows.along.get(x)) is None else along.axis for x in node.inputs]
    if where[0] == summed[0] or where[1] == summed[1]:
        if None not in where and where != summed:
            return None
        first = Along(rows.of(left, summed[0]), summed[0])
        return Summed(_on(node, [rows.only_real(first), rows.of(right, summed[1])]))
    places = {_place(node, side, axis) for side, axis in enumerate(where) if axis is not None}
    if len(places) > 1:
        return None
    (place,) = places
    given = []
    for x, axis in zip(node.inputs, where, strict=True):
        stack = place - node.type.ndim + x.type.ndim
        stacked = x.type.ndim > 2 and 0 <= stack < x.type.ndim - 2 and x.type.shape[stack] != 1
        at = axis if axis is not None else stack if stacked and place < node.type.ndim - 2 else None
        given.append(rows.entering(x) if at is None else rows.of(x, at))
    return Along(_on(node, given), place)


def _place(node: Node, side: int, axis: int) -> int:
    """Where an axis of a factor, other than that of the sum, lies in the product."""
    x, other, rank = node.inputs[side], node.inputs[1 - side], node.type.ndim
    if axis < x.type.ndim - 2:  # of a stack
        return axis if other.type.ndim == 1 else rank - x.type.ndim + axis
    return rank - 2 if side == 0 and other.type.ndim > 1 else rank - 1


def _transposed(rows: Rows, node: Node) -> Along:
    array, axis = rows.along[node.inputs[0]]
    return Along(_on(node, [array]), node.attrs["axes"].index(axis))


def _expanded(rows: Rows, node: Node) -> Along:
    array, axis = rows.along[node.inputs[0]]
    kept = [a for a in range(node.type.ndim) if a not in node.attrs["axis"]]
    return Along(_on(node, [array]), kept[axis])


def _squeezed(rows: Rows, node: Node) -> Along:
    array, axis = rows.along[node.inputs[0]]
    return Along(_on(node, [array]), axis - sum(a < axis for a in node.attrs["axis"]))


def _broadcast(rows: Rows, node: Node) -> Along | None:
    array, axis = rows.along[node.inputs[0]]
    if len(node.inputs) > 1:
        return None
    at = node.type.ndim - node.inputs[0].type.ndim + axis
    return Along(_on(node, [array], shape=_with(node.type.shape, at, rows.some)), at)


def _reshaped(rows: Rows, node: Node) -> Along | None:
    """Where the rows are an axis before and after."""
    array, axis = rows.along[node.inputs[0]]
    before, shape = prod(node.inputs[0].type.shape[:axis]), node.type.shape
    at = [a for a, n in enumerate(shape) if n == rows.count and prod(shape[:a]) == before]
    if len(node.inputs) > 1 or not at:
        return None
    return Along(shaping.RESHAPE(array, _with(shape, at[0], rows.some)), at[0])


def _joined(rows: Rows, node: Node) -> Along | None:
    axes = {along.axis for x in node.inputs if (along := rows.along.get(x)) is not None}
    if len(axes) > 1 or node.attrs["axis"] in axes:
        return None
    (axis,) = axes
    return Along(_on(node, [rows.of(x, axis) for x in node.inputs]), axis)


def _indexed(rows: Rows, node: Node) -> Along | None:
    """Entries of each row, at places that are the same for all; or, for each row, those of an array that it names."""
    x, *places = node.inputs
    plan, known = node.attrs["plan"], rows.along.get(x)
    arrays = [at for at, part in enumerate(plan) if part[0] == "array"]
    if known is not None and not places:
        axis = at = 0
        for part in plan:
            if part[0] == "new":
                at += 1
                continue
            if axis == known.axis:
                if part != _WHOLE:
                    return None
                break
            axis, at = axis + 1, at + (part[0] == "slice")
        else:
            at += known.axis - axis
        return Along(_on(node, [known.array]), at)
    if known is not None or len(arrays) != 1 or len(places) != 1 or any(p != _WHOLE for p in plan if p[0] != "array"):
        return None
    groups = rows.along[places[0]]
    taken = rows.taken_by_group(x, places[0]) if arrays == [0] and places[0].type.ndim == 1 else None
    array = _on(node, [rows.entering(x), groups.array]) if taken is None else taken
    return Along(array, arrays[0] + groups.axis)


def _taken_along(rows: Rows, node: Node) -> Along | None:
    axes = {along.axis for x in node.inputs if (along := rows.along.get(x)) is not None}
    if len(axes) > 1 or node.attrs["axis"] in axes:
        return None
    (axis,) = axes
    if any(x.type.shape[axis] != rows.count for x in node.inputs):
        return None
    return Along(_on(node, [rows.of(x, axis) for x in node.inputs]), axis)


def _summed_by_group(rows: Rows, node: Node) -> Along | Summed | None:
    x, groups = node.inputs
    along = rows.along.get(x)
    if along is not None and along.axis > 0:
        return None if groups in rows.along else Along(_on(node, [along.array, rows.entering(groups)]), along.axis)
    return Summed(_on(node, [rows.only_real(Along(rows.of(x, 0), 0)), rows.of(groups, 0)]))


def _along_another_axis(rows: Rows, node: Node) -> Along | None:
    axis = node.attrs["axis"]
    return (
        None if rows.along[node.inputs[0]].axis in (axis if isinstance(axis, tuple) else (axis,)) else _same(rows, node)
    )


_RULES: dict[Op, Rule] = {
    NAMED: lambda rows, node: rows.along[node.inputs[0]],
    CAST: _same,
    ASSUME: _same,
    MATMUL: _product,
    shaping.TRANSPOSE: _transposed,
    shaping.EXPAND_DIMS: _expanded,
    shaping.SQUEEZE: _squeezed,
    shaping.BROADCAST_TO: _broadcast,
    shaping.RESHAPE: _reshaped,
    shaping.CONCATENATE: _joined,
    indexing.GETITEM: _indexed,
    indexing.take_along_axis: _taken_along,
    segment_sum: _summed_by_group,
    softmax: _along_another_axis,
    log_softmax: _along_another_axis,
    cumsum: _along_another_axis,
    cumprod: _along_another_axis,
}
