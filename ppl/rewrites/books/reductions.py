"""Sums along axes: what does not vary along them comes out."""

from __future__ import annotations

import math

import numpy as np

from ppl.graph import Attrs, Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, Weighted, number, terms, weighted
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.statement import rewrites
from ppl.rewrites.limits import LIMITS
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays import shaping
from ppl.tensor.core.elementwise import exp
from ppl.tensor.core.ops import CAST
from ppl.tensor.core.sizes import DIM
from ppl.tensor.tensor import CONSTANT, TensorType, value_of

VECTOR = TensorType("float64", (5,))
GRID = TensorType("float64", (3, 4))
COLUMN = TensorType("float64", (3, 1))


# --- axes
def varies(part: Node, rank: int, axes: tuple[int, ...]) -> bool:
    """Whether an operand of an elementwise expression of `rank` axes may differ along some of them."""
    shape = part.type.shape
    missing = rank - len(shape)
    return any(axis >= missing and shape[axis - missing] != 1 for axis in axes)


def without_axes(engine: Engine, part: Node, rank: int, node: Node) -> Node:
    """An operand that does not vary along the reduced axes, with the shape that the reduction leaves it."""
    missing = rank - part.type.ndim
    axes = tuple(axis - missing for axis in node.attrs["axis"] if axis >= missing)
    return engine.make(shaping.SQUEEZE, (part,), Attrs(axis=axes)) if axes else part


def count(engine: Engine, x: Node, axes: tuple[int, ...]) -> tuple[float, list[Node]]:
    """How many entries are taken together: the known part as a number, and the unknown sizes."""
    known, unknown = 1, []
    for axis in axes:
        dim = x.type.shape[axis]
        if dim is None:
            size = engine.make(DIM, (x,), Attrs(axis=axis))
            unknown.append(engine.make(CAST, (size,), Attrs(dtype=x.type.dtype)))
        else:
            known *= dim
    return known, unknown


def _repeated(engine: Engine, part: Node, x: Node, node: Node) -> Node:
    """The sum of an operand that does not vary along the reduced axes."""
    known, unknown = count(engine, x, node.attrs["axis"])
    single = without_axes(engine, part, x.type.ndim, node)
    parts: Weighted = [(single, 1), *[(size, 1) for size in unknown], (number(known, x.type.dtype), 1)]
    return engine.product(parts, [single])


# --- sums
@rewrites(
    red.sum, example=lambda x, c: red.sum(c + exp(x)), more=[lambda x: red.sum(2.0 + exp(x))], types={"x": VECTOR}
)
def sum_of_sum(node: Node, engine: Engine) -> Node | None:
    """Σᵢ(c + f(xᵢ)) = N·c + Σᵢf(xᵢ): what does not vary is not added up."""
    x = node.inputs[0]
    if x.op is not SUM or x.type.dtype[0] != "f":
        return None
    rank, axes = x.type.ndim, node.attrs["axis"]
    if len(x.inputs) == 1 and not x.attrs["shift"]:
        added_up = _total_of if varies(x, rank, axes) else _repeated
        return engine.total_of(x, [added_up(engine, x.inputs[0], x, node)])
    inside: Weighted = []
    apart: Weighted = []
    for part, weight in weighted(x):
        fixed = not varies(part, rank, axes) or part.op is CONSTANT
        (apart if fixed else inside).append((part, weight))
    shift = x.attrs["shift"]
    if len(inside) > 1 and not apart and not shift:
        return None
    results: Weighted = [
        (_total_of(engine, part, x, node), w) if varies(part, rank, axes) else (_repeated(engine, part, x, node), w)
        for part, w in apart
    ]
    if shift:
        results.append((_repeated(engine, number(shift, x.type.dtype), x, node), 1))
    if len(inside) == 1:
        results.append((_total_of(engine, inside[0][0], x, node), inside[0][1]))
    elif inside:
        rest = engine.total(inside, 0, [part for part, _ in inside])
        results.append((_total_of(engine, rest, x, node), 1))
    return engine.total(results, 0, [node])


def _total_of(engine: Engine, part: Node, x: Node, node: Node) -> Node:
    """The sum of one operand over the axes of the whole; where it lacks some of them, it is repeated along those."""
    if engine.same_size(part, x):
        return engine.make(red.sum, (part,), node.attrs)
    return engine.make(red.sum, (engine.spread(part, [x]),), node.attrs)


@rewrites(red.sum, example=lambda x, a: red.sum(a * exp(x)), more=[lambda x, b: red.sum(b * exp(x), axis=1)],
          types={"x": GRID, "b": COLUMN})  # fmt: skip
def sum_of_product(node: Node, engine: Engine) -> Node | None:
    """Σᵢ a·f(xᵢ) = a·Σᵢf(xᵢ)."""
    x = node.inputs[0]
    if x.op is not PRODUCT or x.type.dtype[0] != "f":
        return None
    rank, axes = x.type.ndim, node.attrs["axis"]
    apart: Weighted = []
    inside: Weighted = []
    for part, power in weighted(x):
        (inside if varies(part, rank, axes) else apart).append((part, power))
    if not apart:
        return None
    outside = [(without_axes(engine, part, rank, node), power) for part, power in apart]
    if not inside:
        return _repeated(engine, engine.product(apart, [x], fit=False), x, node)
    rest = engine.product(inside, [part for part, _ in inside])
    if rest.type.ndim != rank or not engine.same_size(rest, x):
        rest = engine.spread(rest, [x])
    return engine.product([*outside, (engine.make(red.sum, (rest,), node.attrs), 1)], [node])


@rewrites(red.sum, example=lambda x, b: red.sum(b * exp(x)), more=[lambda x, b: red.sum((b * x) ** 2)],
          types={"x": GRID, "b": COLUMN}, one_of=[PRODUCT], saves_work=True)  # fmt: skip
def sum_of_product_by_axes(node: Node, engine: Engine) -> Node | None:
    """Σᵢⱼ aᵢ·xᵢⱼ = Σᵢ aᵢ·Σⱼxᵢⱼ."""
    x, axes = node.inputs[0], node.attrs["axis"]
    if x.op is not PRODUCT or x.type.dtype[0] != "f":
        return None
    rank = x.type.ndim
    longer = [a for a in axes if varies(x, rank, (a,))]
    lacking = [tuple(a for a in longer if not varies(part, rank, (a,))) for part in x.inputs]
    first = max(lacking, key=lambda some: count(engine, x, some)[0] * 1000.0 ** len(count(engine, x, some)[1]))
    if not 0 < len(first) < len(axes):
        return None
    inner = engine.make(red.sum, (x,), node.attrs.but(axis=first))
    rest = tuple(a - sum(b < a for b in first) for a in axes if a not in first)
    return engine.make(red.sum, (inner,), node.attrs.but(axis=rest))


@rewrites(red.sum, example=lambda x: red.sum(shaping.broadcast_to(x, (4, 5))), types={"x": VECTOR})
def sum_of_broadcast(node: Node, engine: Engine) -> Node | None:
    """A sum over an axis along which an array repeats is a multiple."""
    x = node.inputs[0]
    if x.op is not shaping.BROADCAST_TO or x.type.dtype[0] != "f":
        return None
    source, rank, axes = x.inputs[0], x.type.ndim, node.attrs["axis"]
    repeats = tuple(a for a in axes if not varies(source, rank, (a,)))
    if not repeats:
        return None
    missing = rank - source.type.ndim
    known, unknown = count(engine, x, repeats)
    drop = tuple(a - missing for a in repeats if a >= missing)
    lasting = tuple(a - missing for a in axes if a not in repeats)
    lasting = tuple(a - sum(d < a for d in drop) for a in lasting)
    inner = engine.make(shaping.SQUEEZE, (source,), Attrs(axis=drop)) if drop else source
    if lasting:
        inner = engine.make(red.sum, (inner,), Attrs(axis=lasting, keepdims=False))
    total = engine.product([(inner, 1), *[(n, 1) for n in unknown], (number(known, x.type.dtype), 1)], [inner])
    if not total.type.shape and None not in node.type.shape:
        return engine.spread(total, [node])
    shape = tuple(dim for axis, dim in enumerate(x.type.shape) if axis not in axes)
    if total.type.shape != shape:
        if None in shape:
            return None
        total = engine.make(shaping.BROADCAST_TO, (total,), Attrs(shape=shape))
    return total


@rewrites(red.sum, red.max, red.min, red.prod, red.logsumexp, example=lambda x: red.sum(x, axis=1),
          more=[lambda x: red.max(x, axis=1, keepdims=True), lambda x: red.min(x, axis=1),
                lambda x: red.prod(x, axis=1), lambda x: red.logsumexp(x, axis=1)], types={"x": COLUMN})  # fmt: skip
def reduction_over_one(node: Node, engine: Engine) -> Node | None:
    """Along an axis of length one there is nothing to reduce."""
    x, axes = node.inputs[0], node.attrs["axis"]
    if x.type.dtype != node.type.dtype:
        return None
    single = tuple(a for a in axes if x.type.shape[a] == 1)
    if not single:
        return x if not axes else None
    rest = tuple(a for a in axes if a not in single)
    if rest and len(axes) == x.type.ndim:
        return None  # a reduction over everything is in simplest form already
    inner = engine.make(shaping.SQUEEZE, (x,), Attrs(axis=single))
    rest = tuple(a - sum(s < a for s in single) for a in rest)
    return engine.make(node.op, (inner,), Attrs(axis=rest, keepdims=False)) if rest else inner


@rewrites(red.sum, red.max, red.min, red.prod, red.logsumexp, example=lambda x: red.sum(x[:, None], axis=0),
          more=[lambda x: red.max(x[:, None], axis=2), lambda x: red.min(x[:, None], axis=0),
                lambda x: red.prod(x[:, None], axis=2), lambda x: red.logsumexp(x[None], axis=1)],
          types={"x": GRID}, one_of=[shaping.EXPAND_DIMS])  # fmt: skip
def reduction_of_expanded(node: Node, engine: Engine) -> Node | None:
    """New axes are put in after others are reduced."""
    x, axes = node.inputs[0], node.attrs["axis"]
    new = x.attrs["axis"] if x.op is shaping.EXPAND_DIMS else ()
    if not new or any(x.type.shape[a] == 1 for a in axes):
        return None
    before = tuple(a - sum(n < a for n in new) for a in axes)
    total = engine.make(node.op, x.inputs, node.attrs.but(axis=before))
    return engine.make(shaping.EXPAND_DIMS, (total,), Attrs(axis=tuple(n - sum(a < n for a in axes) for n in new)))


@rewrites(red.sum, red.max, red.min, example=lambda x: red.sum(red.sum(x, axis=0)), types={"x": GRID},
          more=[lambda x: red.max(red.max(x, axis=1)), lambda x: red.min(red.min(x, axis=0, keepdims=True), axis=1,
                keepdims=True)])  # fmt: skip
def reduction_chain(node: Node, engine: Engine) -> Node | None:
    """A sum of sums is one sum over all their axes."""
    x = node.inputs[0]
    if x.op is not node.op:
        return None
    inner = x.attrs["axis"]
    left = [a for a in range(x.inputs[0].type.ndim) if a not in inner]
    axes = tuple(sorted({*inner, *(left[a] for a in node.attrs["axis"])}))
    return engine.make(node.op, (x.inputs[0],), Attrs(axis=axes, keepdims=False))


@rewrites(red.sum, red.max, red.min, red.prod, example=lambda x: red.sum(x.T),
          more=[lambda x: red.sum(x.reshape((12,))), lambda x: red.max(x.T), lambda x: red.min(x.reshape((2, 6))),
                lambda x: red.prod(x.T)], types={"x": GRID})  # fmt: skip
def reduction_of_rearranged(node: Node, engine: Engine) -> Node | None:
    """A reduction over everything does not see how the entries are arranged."""
    x = node.inputs[0]
    if x.op not in (shaping.TRANSPOSE, shaping.RESHAPE, shaping.EXPAND_DIMS, shaping.SQUEEZE):
        return None
    if len(node.attrs["axis"]) < x.type.ndim:
        return None
    source = x.inputs[0]
    return engine.make(node.op, (source,), Attrs(axis=tuple(range(source.type.ndim)), keepdims=False))


@rewrites(red.sum, example=lambda x, y: red.sum(shaping.concatenate([x, y])), types={"x": VECTOR, "y": VECTOR})
def sum_of_concatenation(node: Node, engine: Engine) -> Node | None:
    """A sum over arrays joined is the sum of their sums."""
    x = node.inputs[0]
    if x.op is not shaping.CONCATENATE or x.attrs["axis"] not in node.attrs["axis"] or x.type.dtype[0] != "f":
        return None
    return engine.total([(engine.make(red.sum, (part,), node.attrs), 1) for part in x.inputs], 0, [node])


@rewrites(red.mean, example=lambda x: red.mean(x), types={"x": VECTOR})
def mean_as_sum(node: Node, engine: Engine) -> Node | None:
    """A mean is a sum over a count."""
    x = node.inputs[0]
    known, unknown = count(engine, x, node.attrs["axis"])
    if known == 0:
        return None
    total = engine.make(red.sum, (x,), node.attrs)
    return engine.product([(total, 1), *[(n, -1) for n in unknown], (number(known, x.type.dtype), -1)], [total])


@rewrites(red.sum, example=lambda m: red.sum((m - np.arange(5.0)) ** 2))
def sum_of_squared_deviations(node: Node, engine: Engine) -> Node | None:
    """Σᵢ(cᵢ - m)² = Σᵢ(cᵢ - c̄)² + N·(m - c̄)² for data c: its mean and spread say all."""
    x = node.inputs[0]
    if x.op is not PRODUCT or weighted(x) != [(x.inputs[0], 2)] or len(node.attrs["axis"]) != x.type.ndim:
        return None
    parts, shift = terms(x.inputs[0])
    data = [(c, w) for c, w in parts if c.op is CONSTANT]
    rest = [(m, w) for m, w in parts if m.op is not CONSTANT]
    if len(data) != 1 or not rest or any(m.type.shape for m, _ in rest) or x.type.dtype[0] != "f":
        return None
    values = value_of(data[0][0]).astype(np.float64) * data[0][1] + shift
    if (
        values.size > LIMITS.largest_sum_of_squares
        or values.size == 0
        or values.shape != x.type.shape
        or not np.isfinite(values).all()
    ):
        return None
    center = math.fsum(values.ravel()) / values.size
    spread = math.fsum(((values - center) ** 2).ravel())
    deviation = engine.total(rest, center, [m for m, _ in rest])
    square = engine.power(deviation, 2)
    return engine.total([(square, values.size)], spread, [square])


reductions = Book(
    "reductions",
    sum_of_sum, sum_of_product, sum_of_product_by_axes, sum_of_broadcast, reduction_over_one, reduction_of_expanded,
    reduction_chain, reduction_of_rearranged, sum_of_concatenation, mean_as_sum, sum_of_squared_deviations,
)  # fmt: skip
