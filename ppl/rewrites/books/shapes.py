"""Rearranging: chains become one step, and what repeats is not written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ppl.graph import Attrs, Node
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import rewrites
from ppl.rewrites.values.sizes import sizes
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays import shaping
from ppl.tensor.arrays.shaping import BROADCAST_TO, EXPAND_DIMS, RESHAPE, SQUEEZE, TRANSPOSE
from ppl.tensor.core.elementwise import exp, maximum
from ppl.tensor.core.ops import CAST, OPS, Elementwise, Reduction, cast
from ppl.tensor.core.sizes import DIM
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import CONSTANT, TensorType

VECTOR = TensorType("float64", (5,))
GRID, THIN = TensorType("float64", (3, 4)), TensorType("float64", (1, 5, 1))
THICK = TensorType("float64", (5, 1, 1))
_PLAIN = [op for op in OPS.values() if isinstance(op, Elementwise) and op is not CAST]


# --- axes of length one
@rewrites(RESHAPE, EXPAND_DIMS, SQUEEZE, example=lambda x: x.reshape((2, 6)).reshape((12,)), safety=Safety.exact,
          more=[lambda x: x.reshape((12,))[None], lambda y: y.reshape((5, 1)), lambda z: z.reshape((5, 1)),
                lambda z: shaping.squeeze(z, (0, 2))[:, None], lambda x: shaping.squeeze(x.reshape((1, 12)), 0)],
          types={"x": GRID, "y": VECTOR, "z": THIN})  # fmt: skip
def reshape_by_axes(node: Node, engine: Engine) -> Node | None:
    """Of several reshapes only the last counts; one that but moves axes of length one says which go and which come."""
    source, before, after = _reshaped(node)
    if after is None:
        return None
    moved = _ones_moved(before, after)
    if moved is None:
        known = Node(RESHAPE, (source,), Attrs(shape=node.type.shape))
        return None if known is node else engine.make(RESHAPE, known.inputs, known.attrs)
    steps = [(op, Attrs(axis=axis)) for op, axis in zip((SQUEEZE, EXPAND_DIMS), moved, strict=True) if axis]
    if _applied(steps, source, Node) is node:
        return None
    return _applied(steps, source, engine.make)


Label = int | tuple[str, int]  # of an axis: its length, or which axis of the source it is


def _reshaped(node: Node) -> tuple[Node, list[Label], list[Label] | None]:
    """What a chain of reshapes starts from, and the labels of its axes before and after; none where one is unknown."""
    chain: list[Node] = []
    while node.op in (RESHAPE, EXPAND_DIMS, SQUEEZE):
        chain.append(node)
        node = node.inputs[0]
    before: list[Label] = [("axis", i) if dim is None else dim for i, dim in enumerate(node.type.shape)]
    after: list[Label] | None = list(before)
    for step in reversed(chain):
        if step.op is RESHAPE:
            after = None if None in step.type.shape else list(step.type.shape)
        elif after is None:
            return node, before, None
        elif step.op is SQUEEZE:
            after = [label for axis, label in enumerate(after) if axis not in step.attrs["axis"]]
        else:
            for axis in step.attrs["axis"]:
                after.insert(axis, 1)
    return node, before, after


def _ones_moved(before: Sequence[Label], after: Sequence[Label]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The fewest axes of length one to drop and to add, the first of several; none where others differ too."""
    if [label for label in before if label != 1] != [label for label in after if label != 1]:
        return None
    gaps = list(zip(_gaps(before), _gaps(after), strict=True))
    fewer = lambda axes, kept: axes[: max(0, len(axes) - len(kept))]
    dropped = tuple(axis for old, new in gaps for axis in fewer(old, new))
    return dropped, tuple(axis for old, new in gaps for axis in fewer(new, old))


def _is_told(node: Node) -> bool:
    """Whether axes are dropped or added that `reshape_by_axes` names too: it goes before the rules about them."""
    source, before, after = _reshaped(node)
    if source is not node.inputs[0] or after is None:
        return False
    return _ones_moved(before, after) == ((node.attrs["axis"], ()) if node.op is SQUEEZE else ((), node.attrs["axis"]))


def _gaps(labels: Sequence[Label]) -> list[list[int]]:
    """The axes of length one before the first of the others, after it, and so on."""
    gaps: list[list[int]] = [[]]
    for axis, label in enumerate(labels):
        if label == 1:
            gaps[-1].append(axis)
        else:
            gaps.append([])
    return gaps


def _applied(steps: Sequence[tuple[Op, Attrs]], x: Node, make: Callable[[Op, tuple[Node, ...], Attrs], Node]) -> Node:
    for op, attrs in steps:
        x = make(op, (x,), attrs)
    return x


@rewrites(SQUEEZE, example=lambda x: shaping.squeeze(shaping.transpose(x, (1, 0, 2)), (0, 2)), types={"x": THICK},
          safety=Safety.exact)  # fmt: skip
def squeeze_of_transposed(node: Node, engine: Engine) -> Node | None:
    """Axes are dropped before others are exchanged."""
    x, drop = node.inputs[0], node.attrs["axis"]
    if x.op is not TRANSPOSE or not _is_told(node):
        return None
    axes = x.attrs["axes"]
    gone = tuple(sorted(axes[axis] for axis in drop))
    inner = engine.make(SQUEEZE, x.inputs, Attrs(axis=gone))
    left = [a - sum(g < a for g in gone) for a in axes if a not in gone]
    return engine.make(TRANSPOSE, (inner,), Attrs(axes=tuple(left)))


# --- the order of axes
@rewrites(TRANSPOSE, example=lambda x: x.T.T, types={"x": GRID}, safety=Safety.exact)
def transpose_chain(node: Node, engine: Engine) -> Node | None:
    """Two rearrangements of axes are one."""
    x, axes = node.inputs[0], node.attrs["axes"]
    if axes == tuple(range(len(axes))):
        return x
    if x.op is not TRANSPOSE:
        return None
    return engine.make(TRANSPOSE, x.inputs, Attrs(axes=tuple(x.attrs["axes"][a] for a in axes)))


@rewrites(TRANSPOSE, example=lambda x: shaping.expand_dims(x, 0).T, types={"x": GRID}, safety=Safety.exact)
def transpose_of_expanded(node: Node, engine: Engine) -> Node | None:
    """Axes are exchanged before new ones are put in."""
    x, axes = node.inputs[0], node.attrs["axes"]
    if x.op is not EXPAND_DIMS:
        return None
    new = x.attrs["axis"]
    old = [a for a in range(x.type.ndim) if a not in new]
    order = tuple(old.index(a) for a in axes if a not in new)
    inner = engine.make(TRANSPOSE, x.inputs, Attrs(axes=order))
    return engine.make(EXPAND_DIMS, (inner,), Attrs(axis=tuple(i for i, a in enumerate(axes) if a in new)))


# --- where axes come in
@rewrites(SQUEEZE, example=lambda x: shaping.squeeze(x + exp(x), 0),
          more=[lambda x, y: shaping.squeeze(maximum(x, y), (0, 2))],
          types={"x": THIN, "y": TensorType("float64", (1,))}, safety=Safety.exact)  # fmt: skip
def squeeze_of_elementwise(node: Node, engine: Engine) -> Node | None:
    """squeeze(f(x, y)) = f(squeeze(x), squeeze(y)): axes are dropped where they come in."""
    x, drop = node.inputs[0], node.attrs["axis"]
    if not (x.op in (SUM, PRODUCT, CAST) or x.op in _PLAIN) or None in x.type.shape or not _is_told(node):
        return None
    bare = []
    for each in x.inputs:
        missing = x.type.ndim - each.type.ndim
        axes = tuple(axis - missing for axis in drop if axis >= missing)
        bare.append(engine.make(SQUEEZE, (each,), Attrs(axis=axes)) if axes else each)
    return engine.on(x, bare)


@rewrites(SQUEEZE, example=lambda x: shaping.squeeze(red.logsumexp(x, axis=1), 1), types={"x": THIN},
          safety=Safety.exact)  # fmt: skip
def squeeze_of_reduction(node: Node, engine: Engine) -> Node | None:
    """Axes are dropped before others are reduced."""
    x = node.inputs[0]
    if not isinstance(x.op, Reduction) or not _is_told(node):
        return None
    source, axes = x.inputs[0], x.attrs["axis"]
    left = [axis for axis in range(source.type.ndim) if axis not in axes]
    drop = tuple(left[axis] for axis in node.attrs["axis"])
    if len(axes) + len(drop) == source.type.ndim:
        return engine.make(x.op, (source,), x.attrs.but(axis=tuple(range(source.type.ndim))))
    rows = engine.make(SQUEEZE, (source,), Attrs(axis=drop))
    return engine.make(x.op, (rows,), x.attrs.but(axis=tuple(axis - sum(d < axis for d in drop) for axis in axes)))


@rewrites(EXPAND_DIMS, SQUEEZE, example=lambda x: shaping.expand_dims(shaping.broadcast_to(x, (4, 5)), 1),
          more=[lambda y: shaping.squeeze(shaping.broadcast_to(y, (1, 5)), 0)],
          types={"x": VECTOR, "y": TensorType("float64", ())}, safety=Safety.exact)  # fmt: skip
def axes_of_broadcast(node: Node, engine: Engine) -> Node | None:
    """What repeats is repeated along the axes there are in the end."""
    x, shape, axes = node.inputs[0], node.type.shape, node.attrs["axis"]
    if x.op is not BROADCAST_TO or None in x.type.shape or not _is_told(node):
        return None
    source = x.inputs[0]
    missing = x.type.ndim - source.type.ndim
    if node.op is EXPAND_DIMS:
        first = [axis for axis in range(node.type.ndim) if axis not in axes][missing:]
        if first and max(axes) > first[0]:
            return None  # between the axes of what repeats
    elif own := tuple(axis - missing for axis in axes if axis >= missing):
        source = engine.make(SQUEEZE, (source,), Attrs(axis=own))
    return engine.make(BROADCAST_TO, (source,), Attrs(shape=shape))


# --- what repeats
@rewrites(BROADCAST_TO, example=lambda x: shaping.broadcast_to(shaping.broadcast_to(x, (4, 5)), (2, 4, 5)),
          more=[lambda x: shaping.broadcast_to(x[None], (2, 5))], types={"x": VECTOR}, safety=Safety.exact)  # fmt: skip
def broadcast_chain(node: Node, engine: Engine) -> Node | None:
    """Repeating twice is repeating once, and needs no axes put in before the others."""
    x, sizes_of_it = node.inputs[0], node.inputs[1:]
    if x.op is BROADCAST_TO:
        return engine.make(BROADCAST_TO, (x.inputs[0], *sizes_of_it), node.attrs)
    first = next((axis for axis, dim in enumerate(x.type.shape) if dim != 1), x.type.ndim)
    axes = range(first) if x.op is CONSTANT else x.attrs["axis"] if x.op is EXPAND_DIMS else ()
    if new := tuple(axis for axis in axes if axis < first):
        bare = engine.make(SQUEEZE, (x,), Attrs(axis=new))
        return engine.make(BROADCAST_TO, (bare, *sizes_of_it), node.attrs)
    if len(node.inputs) == 1 and None not in node.type.shape and x.type.shape == node.type.shape:
        return x
    return None


@rewrites(SUM, PRODUCT, CAST, *_PLAIN, example=lambda x: exp(shaping.broadcast_to(x, (3, 5))), types={"x": VECTOR},
          more=[lambda x, y: x + shaping.broadcast_to(y, (5,))], one_of=[BROADCAST_TO],
          safety=Safety.exact)  # fmt: skip
def elementwise_of_broadcast(node: Node, engine: Engine) -> Node | None:
    """An entry that repeats is computed once: f(broadcast(x), y) = f(x, y), repeated where need be."""
    bare = tuple([x.inputs[0] if x.op is BROADCAST_TO else x for x in node.inputs])
    return engine.spread(engine.on(node, bare), node.inputs)


@rewrites(DIM, example=lambda x: shape_of(exp(x))[0], types={"x": TensorType("float64", (None,))},
          safety=Safety.exact)  # fmt: skip
def size_of_computed(node: Node, engine: Engine) -> Node | None:
    """The size of what is computed entry by entry is that of what it is computed from."""
    x = node.inputs[0]
    size = sizes(x, engine.known_sizes)[node.attrs["axis"]]
    if isinstance(size, int) or len(size) != 1:
        return None
    source, axis = next(iter(size))
    return None if source is x else engine.make(DIM, (source,), Attrs(axis=axis))


@rewrites(CAST, example=lambda x: cast(cast(x, "float64"), "float32"), types={"x": TensorType("float32", (5,))},
          safety=Safety.exact)  # fmt: skip
def cast_chain(node: Node, engine: Engine) -> Node | None:
    """A cast that loses nothing, followed by another, is the other."""
    x = node.inputs[0]
    if x.type.dtype == node.type.dtype:
        return x
    if x.op is not CAST:
        return None
    first, between, last = (np.dtype(each.type.dtype) for each in (x.inputs[0], x, node))
    lossless = np.can_cast(first, between, "safe") and not (
        first.kind in "iu" and between.kind == "f" and last.kind in "iu"
    )
    return engine.make(CAST, x.inputs, node.attrs) if lossless else None


shapes = Book(
    "shapes",
    reshape_by_axes, squeeze_of_transposed, transpose_chain, transpose_of_expanded, squeeze_of_elementwise,
    squeeze_of_reduction, axes_of_broadcast, broadcast_chain, elementwise_of_broadcast, size_of_computed, cast_chain,
)  # fmt: skip
