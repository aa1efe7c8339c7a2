"""Indices: two become one, and move to where there is less to compute."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ppl.distributions.draws.draw import DRAW
from ppl.graph import Attrs, Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import rewrites
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays.indexing import GETITEM, Plan, index_update, slice_of
from ppl.tensor.arrays.shaping import BROADCAST_TO, CONCATENATE, EXPAND_DIMS, broadcast_to, concatenate
from ppl.tensor.core.elementwise import exp
from ppl.tensor.core.ops import Elementwise, Reduction
from ppl.tensor.linalg import MATMUL, matmul
from ppl.tensor.tensor import CONSTANT, TensorType, value_of

VECTOR, GRID = TensorType("float64", (6,)), TensorType("float64", (6, 4))
_ALL = ("slice", None, None, None)


def is_basic(plan: Plan) -> bool:
    """Whether a plan is made of numbers and slices of numbers only."""
    return all(part[0] in ("int", "slice") and "in" not in part for part in plan)


def _is_full(part: tuple[Any, ...]) -> bool:
    return part == _ALL


def _indexed(engine: Engine, inputs: tuple[Node, ...], plan: Plan) -> Node:
    """The part of the first input that a plan picks: that input itself where it picks all."""
    return inputs[0] if all(map(_is_full, plan)) else engine.make(GETITEM, inputs, Attrs(plan=plan))


def _size(node: Node) -> float:
    return math.inf if None in node.type.shape else math.prod(node.type.shape)


@rewrites(GETITEM, example=lambda x: x[:, None], types={"x": VECTOR, "X": GRID}, safety=Safety.exact,
          more=[lambda X: X[None, 1:, None, 2], lambda X: X[None, np.array([2, 0])]])  # fmt: skip
def index_with_new_axes(node: Node, engine: Engine) -> Node | None:
    """x[:, None] is x with a new axis: the index and the axes are two steps."""
    plan = node.attrs["plan"]
    kept = tuple(part for part in plan if part[0] != "new")
    arrays = [part for part in kept if part[0] == "array"]
    if len(kept) == len(plan) or (arrays and len(arrays) + sum(part[0] == "int" for part in kept) > 1):
        return None  # several arrays: where their common axes go depends on the new axes between them
    widths = {"new": 1, "slice": 1, "int": 0, "array": 0}
    widths["array"] = node.type.ndim - sum(widths[part[0]] for part in plan)
    ends = list(itertools.accumulate(widths[part[0]] for part in plan))
    new = tuple(end - 1 for end, part in zip(ends, plan, strict=True) if part[0] == "new")
    return engine.make(EXPAND_DIMS, (_indexed(engine, node.inputs, kept),), Attrs(axis=new))


@rewrites(GETITEM, example=lambda x: x[1:5][0:2], types={"x": VECTOR, "X": GRID}, safety=Safety.exact,
          more=[lambda x: x[1:][2], lambda X: X[1:, 2:][0], lambda x: x[::-1][::-1]])  # fmt: skip
def index_of_index(node: Node, engine: Engine) -> Node | None:
    """An index of an index is one index."""
    x = node.inputs[0]
    if x.op is not GETITEM or len(node.inputs) > 1 or len(x.inputs) > 1:
        return None
    first, second = x.attrs["plan"], node.attrs["plan"]
    source = x.inputs[0]
    if not (is_basic(first) and is_basic(second)) or None in source.type.shape:
        return None
    rest = iter(second)
    plan = []
    for part, dim in zip(first, source.type.shape, strict=True):
        plan.append(part if part[0] == "int" else _composed(range(dim)[slice(*part[1:])], next(rest), dim))
    return _indexed(engine, (source,), tuple(plan))


@rewrites(GETITEM, example=lambda X: X[:, None, :, None][1:, 0], types={"X": GRID}, safety=Safety.exact)
def index_of_expanded(node: Node, engine: Engine) -> Node | None:
    """An index of an array with new axes is taken before these are put in."""
    x, plan = node.inputs[0], node.attrs["plan"]
    if x.op is not EXPAND_DIMS or len(node.inputs) > 1 or not is_basic(plan):
        return None
    new = x.attrs["axis"]
    if any(part[0] == "slice" and not _is_full(part) for axis, part in enumerate(plan) if axis in new):
        return None
    left = [axis for axis, part in enumerate(plan) if part[0] == "slice"]
    kept = tuple(part for axis, part in enumerate(plan) if axis not in new)
    inner = _indexed(engine, x.inputs, kept)
    axes = tuple(i for i, axis in enumerate(left) if axis in new)
    return engine.make(EXPAND_DIMS, (inner,), Attrs(axis=axes)) if axes else inner


def _composed(places: range, part: tuple[Any, ...], dim: int) -> tuple[Any, ...]:
    """The part of a plan that picks out of `places` what the given part picks out of their positions."""
    return ("int", places[part[1]]) if part[0] == "int" else slice_of(places[slice(*part[1:])], dim)


@rewrites(
    GETITEM, example=lambda x: x[np.array([3, 1, 4])][np.array([0, 0, 2])], types={"x": VECTOR}, safety=Safety.exact
)
def gather_of_gather(node: Node, engine: Engine) -> Node | None:
    """x[i][j] = x[i[j]] for known positions."""
    x = node.inputs[0]
    if x.op is not GETITEM or len(node.inputs) != 2 or len(x.inputs) != 2:
        return None
    first, second = x.attrs["plan"], node.attrs["plan"]
    leading = all(plan[0] == ("array",) and all(map(_is_full, plan[1:])) for plan in (first, second))
    source, places = x.inputs
    if not leading or places.type.ndim != 1 or any(i.op is not CONSTANT for i in (places, node.inputs[1])):
        return None
    inner = engine.make(GETITEM, (places, node.inputs[1]), Attrs(plan=(("array",),)))
    return engine.make(GETITEM, (source, inner), Attrs(plan=first))


@rewrites(GETITEM, example=lambda x: x[np.arange(6)], types={"x": VECTOR}, safety=Safety.exact)
def gather_of_everything(node: Node, engine: Engine) -> Node | None:
    """All entries in their order are the array."""
    x = node.inputs[0]
    if len(node.inputs) != 2 or node.inputs[1].op is not CONSTANT or x.type.shape[0] is None:
        return None
    plan, places = node.attrs["plan"], value_of(node.inputs[1])
    if plan[0] != ("array",) or not all(map(_is_full, plan[1:])):
        return None
    return x if np.array_equal(places, np.arange(x.type.shape[0])) else None


@rewrites(GETITEM, example=lambda x, y: index_update(x, y, slice(0, 3))[0:3], safety=Safety.exact,
          types={"x": VECTOR, "y": TensorType("float64", (3,))})  # fmt: skip
def index_of_update(node: Node, engine: Engine) -> Node | None:
    """What was set at a place is found there."""
    x = node.inputs[0]
    if x.op is not index_update or len(x.inputs) != 2 or x.attrs["plan"] != node.attrs["plan"]:
        return None
    if not is_basic(node.attrs["plan"]) or None in node.type.shape:
        return None
    y = x.inputs[1]
    return y if y.type.shape == node.type.shape else None


@rewrites(GETITEM, example=lambda x, y: concatenate([x, y])[7:9], more=[lambda x, y: concatenate([x, y])[2]],
          types={"x": VECTOR, "y": VECTOR}, safety=Safety.exact)  # fmt: skip
def index_of_concatenation(node: Node, engine: Engine) -> Node | None:
    """An index into joined arrays that meets one of them is an index into that one."""
    x, plan = node.inputs[0], node.attrs["plan"]
    if x.op is not CONCATENATE or len(node.inputs) > 1 or not is_basic(plan) or None in x.type.shape:
        return None
    axis = x.attrs["axis"]
    part, total = plan[axis], x.type.shape[axis]
    places = range(total)[slice(*part[1:])] if part[0] == "slice" else range(total)[part[1] : part[1] + 1 or None]
    if len(places) == 0:
        return None
    start = 0
    for each in x.inputs:
        stop = start + each.type.shape[axis]
        if start <= min(places) and max(places) < stop:
            local = range(places.start - start, places.stop - start, places.step)
            moved = ("int", local[0]) if part[0] == "int" else slice_of(local, each.type.shape[axis])
            return engine.make(GETITEM, (each,), Attrs(plan=(*plan[:axis], moved, *plan[axis + 1 :])))
        start = stop
    return None


@rewrites(GETITEM, example=lambda x, y: exp(x + y)[1:3], types={"x": VECTOR, "y": VECTOR},
          more=[lambda x, a: (a * exp(x))[2]], safety=Safety.exact)  # fmt: skip
def index_of_elementwise(node: Node, engine: Engine) -> Node | None:
    """f(x, y)[i] = f(x[i], y[i]): only what is asked for is computed."""
    x, plan = node.inputs[0], node.attrs["plan"]
    if not (isinstance(x.op, Elementwise) or x.op in (SUM, PRODUCT)) or len(node.inputs) > 1 or not is_basic(plan):
        return None
    if None in x.type.shape or _size(node) >= _size(x):
        return None
    inputs = []
    for each in x.inputs:
        local = _local_plan(each.type.shape, x.type.shape, plan)
        if local is None:
            return None
        inputs.append(engine.make(GETITEM, (each,), Attrs(plan=local)) if local else each)
    return engine.on(x, inputs)


@rewrites(GETITEM, example=lambda x: broadcast_to(x, (3, 6))[1:, 2], types={"x": VECTOR}, one_of=[BROADCAST_TO],
          more=[lambda x: broadcast_to(x[:, None], (6, 3))[1:3, ::2]], safety=Safety.exact)  # fmt: skip
def index_of_broadcast(node: Node, engine: Engine) -> Node | None:
    """What repeats is picked from before it is repeated."""
    x, plan = node.inputs[0], node.attrs["plan"]
    source = x.inputs[0] if x.inputs else x
    if x.op is not BROADCAST_TO or len(node.inputs) > 1 or not is_basic(plan):
        return None
    if None in x.type.shape or None in source.type.shape:
        return None
    missing = x.type.ndim - source.type.ndim
    own = zip(plan[missing:], source.type.shape, x.type.shape[missing:], strict=True)
    local = tuple(part if dim == full else ("int", 0) if part[0] == "int" else _ALL for part, dim, full in own)
    picked = source if all(map(_is_full, local)) else engine.make(GETITEM, (source,), Attrs(plan=local))
    return engine.make(BROADCAST_TO, (picked,), Attrs(shape=node.type.shape))


def _local_plan(shape: tuple[int, ...], whole: tuple[int, ...], plan: Plan) -> Plan | None:
    """The plan for an operand that is broadcast to the whole; empty where there is nothing to pick."""
    missing = len(whole) - len(shape)
    if missing and any(part[0] == "slice" for part in plan[:missing]) and len(shape):
        return None
    parts = []
    for part, dim, full in zip(plan[missing:], shape, whole[missing:], strict=True):
        if dim is None and not _is_full(part):
            return None  # it may be one there
        if dim == full or dim is None:
            parts.append(part)
        else:
            parts.append(("int", 0) if part[0] == "int" else _ALL)
    if missing and not len(shape):
        return ()
    return () if all(map(_is_full, parts)) else tuple(parts)


@rewrites(GETITEM, example=lambda A, B: matmul(A, B)[1], types={"A": GRID, "B": TensorType("float64", (4, 3))},
          saves_work=True)  # fmt: skip
def index_of_product(node: Node, engine: Engine) -> Node | None:
    """(A·B)[i] = A[i]·B: only the rows asked for are multiplied."""
    x, plan = node.inputs[0], node.attrs["plan"]
    if x.op is not MATMUL or x.type.ndim != 2 or len(node.inputs) > 1 or not is_basic(plan):
        return None
    if not _is_full(plan[1]) or None in x.type.shape or _size(node) >= _size(x):
        return None
    count = x.inputs[0].type.shape[0]
    kept = plan[0] if plan[0][0] == "slice" else slice_of(range(count)[plan[0][1] :][:1], count)
    rows = engine.make(GETITEM, (x.inputs[0],), Attrs(plan=(kept, _ALL)))
    product = engine.make(MATMUL, (rows, x.inputs[1]))
    return product if plan[0][0] == "slice" else engine.make(GETITEM, (product,), Attrs(plan=(("int", 0), _ALL)))


@rewrites(GETITEM, example=lambda X: red.sum(X, axis=1)[0], saves_work=True, types={"X": GRID},
          more=[lambda X: red.max(exp(X), axis=0)[1:3], lambda X: red.softmax(X, axis=1)[2],
                lambda X: red.logsumexp(X, axis=1, keepdims=True)[1:4]])  # fmt: skip
def index_of_reduction(node: Node, engine: Engine) -> Node | None:
    """(Σⱼ xᵢⱼ)[i] = Σⱼ x[i]ⱼ, and softmax(x)[i] = softmax(x[i]): only the rows asked for are reduced."""
    x, plan = node.inputs[0], node.attrs["plan"]
    if not isinstance(x.op, Reduction | red.AlongAxes) or len(node.inputs) > 1 or not is_basic(plan):
        return None
    source, axes = x.inputs[0], x.attrs["axis"]
    if None in source.type.shape or _size(node) >= _size(x) or source.op is DRAW:  # which is drawn whole anyway
        return None
    kept, rest = source.type.ndim == x.type.ndim, iter(plan)
    whole = tuple(_ALL if axis in axes and not kept else next(rest) for axis in range(source.type.ndim))
    if not all(_is_full(whole[axis]) for axis in axes):
        return None
    left = [axis for axis, part in enumerate(whole) if part[0] != "int"]
    rows = engine.make(GETITEM, (source,), Attrs(plan=whole))
    return engine.make(x.op, (rows,), x.attrs.but(axis=tuple(left.index(axis) for axis in axes)))


indexing = Book(
    "indexing",
    index_with_new_axes, index_of_expanded, index_of_index, gather_of_gather, gather_of_everything, index_of_update,
    index_of_concatenation, index_of_elementwise, index_of_broadcast, index_of_product, index_of_reduction,
)  # fmt: skip
