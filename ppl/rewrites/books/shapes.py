"""Rearranging: chains become one step, and what repeats is not written out."""

from __future__ import annotations

import numpy as np

from ppl.graph import Attrs, Node
from ppl.rewrites.book import Book
from ppl.rewrites.engine import Engine
from ppl.rewrites.normal import PRODUCT, SUM
from ppl.rewrites.rule import Safety
from ppl.rewrites.sizes import sizes
from ppl.rewrites.statement import rewrites
from ppl.tensor import reductions as red
from ppl.tensor import shaping
from ppl.tensor.elementwise import exp, maximum, switch
from ppl.tensor.ops import CAST, OPS, Elementwise, Reduction, broadcast_shape, cast
from ppl.tensor.shaping import BROADCAST_TO, DIM, EXPAND_DIMS, RESHAPE, SQUEEZE, TRANSPOSE
from ppl.tensor.tensor import TensorType

VECTOR = TensorType("float64", (5,))
GRID, THIN = TensorType("float64", (3, 4)), TensorType("float64", (1, 5, 1))
_PLAIN = [op for op in OPS.values() if isinstance(op, Elementwise) and op is not CAST]


@rewrites(RESHAPE, example=lambda x: x.reshape((2, 6)).reshape((12,)), types={"x": GRID}, safety=Safety.exact,
          more=[lambda x: x.reshape((12,)).reshape((3, 4))])  # fmt: skip
def reshape_chain(node: Node, engine: Engine) -> Node | None:
    """Only the last shape matters."""
    x = node.inputs[0]
    if x.op in (RESHAPE, EXPAND_DIMS, SQUEEZE) and len(node.inputs) == 1:
        return engine.make(RESHAPE, (x.inputs[0],), node.attrs)
    if len(node.inputs) == 1 and None not in node.type.shape and x.type.shape == node.type.shape:
        return x
    return None


@rewrites(RESHAPE, EXPAND_DIMS, SQUEEZE, example=lambda x: x.reshape((12,))[None], types={"x": GRID, "y": VECTOR},
          more=[lambda y: y.reshape((5, 1)), lambda y: y[:, None].reshape((5,)),
                lambda x: shaping.squeeze(x.reshape((1, 12)), 0)], safety=Safety.exact)  # fmt: skip
def reshape_by_axes(node: Node, engine: Engine) -> Node | None:
    """A reshape that only adds axes of length one, or drops some, says which; other such axes are part of a reshape."""
    x, shape = node.inputs[0], node.type.shape
    if len(node.inputs) > 1 or None in shape or None in x.type.shape:
        return None
    if node.op is not RESHAPE:
        return engine.make(RESHAPE, (x.inputs[0],), Attrs(shape=shape)) if x.op is RESHAPE else None
    if new := _added(x.type.shape, shape):
        return engine.make(EXPAND_DIMS, (x,), Attrs(axis=new))
    if dropped := _added(shape, x.type.shape):
        return engine.make(SQUEEZE, (x,), Attrs(axis=dropped))
    return None


def _added(shape: tuple[int, ...], longer: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of length one that make the longer shape of the other; none where that is not how they differ."""
    new, rest = [], list(shape)
    for axis, dim in enumerate(longer):
        if rest and rest[0] == dim:
            del rest[0]
        elif dim == 1:
            new.append(axis)
        else:
            return ()
    return () if rest else tuple(new)


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


@rewrites(
    SQUEEZE, example=lambda x: shaping.squeeze(shaping.expand_dims(x, 0), 0), types={"x": VECTOR}, safety=Safety.exact
)
def squeeze_of_expanded(node: Node, engine: Engine) -> Node | None:
    """A new axis that is dropped again was not needed."""
    x, drop = node.inputs[0], node.attrs["axis"]
    if x.op is not EXPAND_DIMS:
        return None
    new = x.attrs["axis"]
    if not set(drop) & set(new):
        return None
    origins = [None if a in new else a - sum(n < a for n in new) for a in range(x.type.ndim)]
    inner_drop = tuple(o for a, o in enumerate(origins) if a in drop and o is not None)
    left = [a for a in range(x.type.ndim) if a not in drop]
    inner = engine.make(SQUEEZE, x.inputs, Attrs(axis=inner_drop)) if inner_drop else x.inputs[0]
    fresh = tuple(i for i, a in enumerate(left) if origins[a] is None)
    return engine.make(EXPAND_DIMS, (inner,), Attrs(axis=fresh)) if fresh else inner


@rewrites(SQUEEZE, example=lambda x: shaping.squeeze(x + exp(x), 0),
          more=[lambda x, y: shaping.squeeze(maximum(x, y), (0, 2))],
          types={"x": THIN, "y": TensorType("float64", (1,))}, safety=Safety.exact)  # fmt: skip
def squeeze_of_elementwise(node: Node, engine: Engine) -> Node | None:
    """squeeze(f(x, y)) = f(squeeze(x), squeeze(y)): axes are dropped where they come in."""
    x, drop = node.inputs[0], node.attrs["axis"]
    if not (x.op in (SUM, PRODUCT, CAST) or x.op in _PLAIN) or None in x.type.shape:
        return None
    bare = []
    for each in x.inputs:
        missing = x.type.ndim - each.type.ndim
        axes = tuple(axis - missing for axis in drop if axis >= missing)
        bare.append(engine.make(SQUEEZE, (each,), Attrs(axis=axes)) if axes else each)
    return engine.on(x, bare)


@rewrites(SQUEEZE, example=lambda x: shaping.squeeze(red.sum(x, axis=1, keepdims=True), 1), types={"x": THIN},
          more=[lambda x: shaping.squeeze(red.logsumexp(x, axis=1), 1)], safety=Safety.exact)  # fmt: skip
def squeeze_of_reduction(node: Node, engine: Engine) -> Node | None:
    """Axes that a reduction kept are dropped by it; others before it."""
    x, drop = node.inputs[0], node.attrs["axis"]
    if not isinstance(x.op, Reduction):
        return None
    source, axes = x.inputs[0], x.attrs["axis"]
    if not x.attrs["keepdims"]:
        left = [axis for axis in range(source.type.ndim) if axis not in axes]
        drop = tuple(left[axis] for axis in drop)
    elif not set(axes) <= set(drop):
        return None
    before = tuple(axis for axis in drop if axis not in axes)
    if len(axes) + len(before) == source.type.ndim:
        return engine.make(x.op, (source,), x.attrs.but(axis=tuple(range(source.type.ndim)), keepdims=False))
    if before:
        source = engine.make(SQUEEZE, (source,), Attrs(axis=before))
    axes = tuple(axis - sum(gone < axis for gone in before) for axis in axes)
    return engine.make(x.op, (source,), x.attrs.but(axis=axes, keepdims=False))


@rewrites(EXPAND_DIMS, SQUEEZE, example=lambda x: shaping.expand_dims(shaping.broadcast_to(x, (4, 5)), 1),
          more=[lambda y: shaping.squeeze(shaping.broadcast_to(y, (1, 5)), 0)],
          types={"x": VECTOR, "y": TensorType("float64", ())}, safety=Safety.exact)  # fmt: skip
def axes_of_broadcast(node: Node, engine: Engine) -> Node | None:
    """What repeats is repeated along the axes there are in the end."""
    x, shape, axes = node.inputs[0], node.type.shape, node.attrs["axis"]
    if x.op is not BROADCAST_TO or None in x.type.shape:
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


@rewrites(EXPAND_DIMS, example=lambda x: shaping.expand_dims(shaping.squeeze(x, 0), 0),
          types={"x": THIN}, safety=Safety.exact)  # fmt: skip
def expand_of_squeezed(node: Node, engine: Engine) -> Node | None:
    """A dropped axis that is put back was not dropped."""
    x = node.inputs[0]
    if x.op is SQUEEZE and x.attrs["axis"] == node.attrs["axis"] and x.inputs[0].type.shape == node.type.shape:
        return x.inputs[0]
    return None


@rewrites(EXPAND_DIMS, SQUEEZE, example=lambda x: shaping.squeeze(shaping.squeeze(x, 2), 0),
          more=[lambda x: shaping.expand_dims(shaping.expand_dims(x, 0), 2)], types={"x": THIN},
          safety=Safety.exact)  # fmt: skip
def axes_chain(node: Node, engine: Engine) -> Node | None:
    """New axes in two steps are new axes in one; so are dropped ones."""
    x = node.inputs[0]
    if x.op is not node.op:
        return None
    first, second = x.attrs["axis"], node.attrs["axis"]
    if node.op is EXPAND_DIMS:
        places = [a for a in range(node.type.ndim) if a not in second]
        axes = tuple(sorted({*second, *(places[a] for a in first)}))
    else:
        places = [a for a in range(x.inputs[0].type.ndim) if a not in first]
        axes = tuple(sorted({*first, *(places[a] for a in second)}))
    return engine.make(node.op, x.inputs, Attrs(axis=axes))


@rewrites(BROADCAST_TO, example=lambda x: shaping.broadcast_to(shaping.broadcast_to(x, (4, 5)), (2, 4, 5)),
          types={"x": VECTOR}, safety=Safety.exact)  # fmt: skip
def broadcast_chain(node: Node, engine: Engine) -> Node | None:
    """Repeating twice is repeating once."""
    x = node.inputs[0]
    if x.op is BROADCAST_TO:
        return engine.make(BROADCAST_TO, (x.inputs[0], *node.inputs[1:]), node.attrs)
    if len(node.inputs) == 1 and None not in node.type.shape and x.type.shape == node.type.shape:
        return x
    return None


@rewrites(SUM, PRODUCT, CAST, *_PLAIN, example=lambda x: exp(shaping.broadcast_to(x, (3, 5))), types={"x": VECTOR},
          more=[lambda x, y: x + shaping.broadcast_to(y, (5,))], one_of=[BROADCAST_TO],
          safety=Safety.exact)  # fmt: skip
def elementwise_of_broadcast(node: Node, engine: Engine) -> Node | None:
    """An entry that repeats is computed once: f(broadcast(x), y) = f(x, y), repeated where need be."""
    bare = tuple([x.inputs[0] if x.op is BROADCAST_TO else x for x in node.inputs])
    if node.op is switch and broadcast_shape("switch", bare) != node.type.shape:
        return None
    return engine.spread(engine.on(node, bare), node.inputs)


@rewrites(DIM, example=lambda x: shaping.shape(exp(x))[0], types={"x": TensorType("float64", (None,))},
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
    reshape_chain, reshape_by_axes, transpose_chain, transpose_of_expanded, squeeze_of_expanded,
    squeeze_of_elementwise, squeeze_of_reduction, axes_of_broadcast, expand_of_squeezed, axes_chain, broadcast_chain,
    elementwise_of_broadcast, size_of_computed, cast_chain,
)  # fmt: skip
