r"""Affine extraction: an expression as :math:`\sum_k c_k\, u_k[s_k] + X_k u_k + b` in given variables.

`Select` parts pick entries of a variable (an index map into its flat entries, repeated entries allowed) with a
coefficient; `Dense` parts multiply it by a matrix. Index maps are NumPy arrays: an index that comes from data is read
at its present value, and a plan is made anew when data change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node, ancestors
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import HOST, NotAffine, Shape, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.maps import (
    Affine,
    Dense,
    Part,
    Select,
    added,
    few_or_dense,
    gathered,
    is_zero,
    merged,
    one_by_one,
    one_hot,
    scaled,
    spread,
    where,
)
from ppl.rewrites.marginalization.expressions.products import number_and_data
from ppl.tensor.arrays.indexing import real_index
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


def affine(expression: Tensor, variables: Collection[Node]) -> Affine:
    """The expression as an affine map of the variables; raises `NotAffine` with the reason."""
    return merged(Extraction(variables).of(expression))


class Extraction:
    """The maps of expressions, found bottom up by a rule for each operation."""

    def __init__(self, variables: Collection[Node]) -> None:
        self.variables = set(variables)
        self.known: dict[Node, bool] = {}
        self.rules = RULES

    def depends(self, node: Node) -> bool:
        if node not in self.known:
            self.known[node] = not self.variables.isdisjoint(ancestors(node, self.variables))
        return self.known[node]

    def of(self, e: Any) -> Affine:
        shape = e.type.shape
        if None in shape:
            raise NotAffine(f"the shape of {e!r} is only known when the program runs")
        if e in self.variables:
            positions = np.arange(prod(shape)).reshape(shape)
            return Affine(shape, (Select(e, positions, as_tensor(1.0)),), as_tensor(0.0))
        if not self.depends(e):
            return Affine(shape, (), e)
        rule = self.rules.get(e.op.name)
        if rule is None:
            raise NotAffine(f"{e.op.name} is not linear in it")
        return rule(self, e)


class _InAtoms(Extraction):
    """Maps with data for coefficients, of whatever is not affine itself."""

    def depends(self, node: Node) -> bool:
        if node not in self.known:
            self.known[node] = not is_data(node)
        return self.known[node]

    def of(self, e: Any) -> Affine:
        try:
            return super().of(e)
        except NotAffine:
            if e in self.variables:
                raise
            self.variables.add(e)
            return super().of(e)


def affine_in_atoms(expression: Tensor) -> Affine:
    """An expression as an affine map, with data for coefficients, of the expressions below which it is none."""
    return merged(_InAtoms(()).of(expression))


def _add(x: Extraction, e: Any) -> Affine:
    return added(e.type.shape, x.of(e.inputs[0]), x.of(e.inputs[1]))


def _multiply(x: Extraction, e: Any) -> Affine:
    a, b = e.inputs
    if x.depends(a) and x.depends(b):
        raise NotAffine("a product of two expressions that both depend on it")
    return scaled(x.of(a), b, e.type.shape) if x.depends(a) else scaled(x.of(b), a, e.type.shape)


def _divide(x: Extraction, e: Any) -> Affine:
    a, b = e.inputs
    if x.depends(b):
        raise NotAffine("a division by it")
    return scaled(x.of(a), 1.0 / b, e.type.shape)


def _through(x: Extraction, e: Any) -> Affine:
    return x.of(e.inputs[0])


def _cast(x: Extraction, e: Any) -> Affine:
    """A change of precision, or from whole numbers to real ones, which is none of the map."""
    if e.dtype[0] != "f" or e.inputs[0].dtype[0] not in "fiu":
        raise NotAffine(f"a cast to {e.dtype}")
    inner = x.of(e.inputs[0])
    return Affine(inner.shape, inner.parts, tt.cast(inner.offset, e.dtype))


def _structural(x: Extraction, e: Any) -> Affine:
    """Indexing, reshaping, transposing: the same on positions, coefficients, designs and offset."""
    if any(x.depends(i) for i in e.inputs[1:]):
        raise NotAffine(f"{e.op.name} whose arguments depend on it")
    if not all(is_data(i) for i in e.inputs[1:]):
        raise NotAffine(f"{e.op.name} at places that are themselves random")
    inner = x.of(e.inputs[0])
    move = HOST[e.op.name](e)

    def again(t: Tensor) -> Tensor:
        spread = tt.broadcast_to(t, inner.shape) if t.type.shape != inner.shape else t
        return _rebuild(e, spread)

    parts: list[Part] = []
    for part in inner.parts:
        if isinstance(part, Select):
            moved = move(np.broadcast_to(part.positions, inner.shape))
            coefficient = part.coefficient if part.coefficient.ndim == 0 else again(part.coefficient)
            parts.append(Select(part.variable, moved, coefficient))
        else:
            where = move(np.arange(prod(inner.shape)).reshape(inner.shape))
            parts.append(part.moved(partial(_rows_moved, where=where.ravel(), shape=e.type.shape)))
    offset = inner.offset if inner.offset.ndim == 0 else again(inner.offset)
    return Affine(e.type.shape, tuple(parts), offset)


def _rows_moved(matrix: Tensor, where: np.ndarray, shape: Shape) -> Tensor:
    """The rows of a matrix that came to these places."""
    *before, width = known_shape(matrix)
    flat = matrix.reshape((prod(before), width))
    same = where.size == prod(before) and np.array_equal(where, np.arange(where.size))
    return (flat if same else flat[where]).reshape((*shape, width))


def _rebuild(e: Any, new: Tensor) -> Tensor:
    return Node(e.op, (new, *e.inputs[1:]), e.attrs)  # type: ignore[return-value]


def _matmul(x: Extraction, e: Any) -> Affine:
    """X @ u for u a vector (as a column) or u @ X (as a row)."""
    left, right = e.inputs
    if x.depends(left) and x.depends(right):
        raise NotAffine("a matrix product of two expressions that both depend on it")
    column = x.depends(right)
    matrix, vector = (left, right) if column else (right, left)
    if e.type.ndim != 2 or e.type.shape[1 if column else 0] != 1:
        return x.of(_written_out(left, right))
    inner = x.of(vector)
    rows = matrix if column else matrix.T
    shape: Shape = e.type.shape
    m = rows.type.shape[1]
    parts: list[Part] = []
    for part in inner.parts:
        if isinstance(part, Select):
            parts.append(_of_columns(part, rows, m).moved(lambda x: x.reshape((*shape, x.type.shape[-1]))))
        else:
            parts.append(part.moved(partial(_product, rows, shape)))
    offset = inner.offset
    spread = tt.broadcast_to(offset, inner.shape) if offset.ndim < 2 or offset.type.shape != inner.shape else offset
    product = left @ spread if column else spread @ right
    return Affine(shape, tuple(parts), product)


def _product(rows: Tensor, shape: Shape, matrix: Tensor) -> Tensor:
    """The matrix of a product with rows, which has that shape."""
    size = known_shape(matrix)[-1]
    return (rows @ matrix.reshape((known_shape(rows)[1], size))).reshape((*shape, size))


def _of_columns(part: Select, rows: Tensor, m: int) -> Dense:
    """The product of a matrix and a selection of m entries: what the coefficients are that are no data stays apart."""
    size, positions = prod(known_shape(part.variable)), np.broadcast_to(part.positions.ravel(), (m,))
    in_order = np.array_equal(positions, np.arange(size))
    c = part.coefficient
    if c.ndim:
        c = tt.broadcast_to(c.reshape((-1,)), (m,))
    if c.ndim and not is_data(c):
        return Dense(part.variable, rows, c, None if in_order else positions)
    matrix = rows if is_constant(c) and np.all(value_of(c) == 1) else rows * c
    if not in_order:
        matrix = matrix @ as_tensor((positions[:, None] == np.arange(size)[None, :]).astype(float))
    return Dense(part.variable, matrix)


def _kron_times(x: Extraction, e: Any) -> Affine:
    """A Kronecker product of matrices with a vector: the same on each column of a design."""
    vector, *matrices = e.inputs
    if any(x.depends(m) for m in matrices):
        raise NotAffine("a Kronecker product of matrices that depend on it")
    inner = x.of(vector)
    again = lambda t: tt.kron_times(t, *matrices)
    parts: list[Part] = []
    for part in inner.parts:
        if isinstance(part, Select):
            part = Dense(part.variable, one_hot(part, inner.shape, "a Kronecker product with"))
        parts.append(part.moved(lambda m: tt.moveaxis(again(tt.moveaxis(m, -1, 0)), 0, -1)))
    offset = inner.offset if is_zero(inner.offset) else again(tt.broadcast_to(inner.offset, inner.shape))
    return Affine(e.type.shape, tuple(parts), offset)


def _written_out(left: Any, right: Any) -> Tensor:
    """A product of (stacks of) matrices with few inner entries, as a sum of outer products."""
    inner = left.type.shape[-1]
    if inner > LIMITS.few_summands:
        raise NotAffine("a matrix product with a large matrix of it")
    total: Any = 0.0
    for i in range(inner):
        outer = tt.expand_dims(left[..., :, i], -1) * tt.expand_dims(right[..., i, :], -2)
        total = outer if i == 0 else total + outer
    return total


def _reduce_sum(x: Extraction, e: Any) -> Affine:
    """A sum over axes: each entry of the result is a combination of entries of the variable."""
    inner = x.of(e.inputs[0])
    axes, keep = e.attrs["axis"], e.attrs["keepdims"]
    parts: list[Part] = []
    for part in inner.parts:
        if isinstance(part, Dense):
            parts.append(part.moved(lambda m: tt.sum(m, axis=axes, keepdims=keep)))
            continue
        if prod(inner.shape[a] for a in axes) <= LIMITS.few_summands:
            parts += one_by_one(part, inner.shape, axes, e.type.shape)
            continue
        design = one_hot(part, inner.shape, "a sum over")
        parts.append(Dense(part.variable, tt.sum(design, axis=axes, keepdims=keep)))
    offset = tt.sum(tt.broadcast_to(inner.offset, inner.shape), axis=axes, keepdims=keep)
    return Affine(e.type.shape, tuple(parts), offset)


def _mean(x: Extraction, e: Any) -> Affine:
    count = prod(known_shape(e.inputs[0])) / max(1, prod(known_shape(e)))
    total = tt.sum(e.inputs[0], axis=e.attrs["axis"], keepdims=e.attrs["keepdims"])
    return scaled(x.of(total), as_tensor(1.0 / count), e.type.shape)


def _switch(x: Extraction, e: Any) -> Affine:
    """A choice by data: each side counts where it is chosen."""
    condition, *sides = e.inputs
    if not is_data(condition):
        raise NotAffine("a choice that is itself random")
    then, otherwise = (spread(x.of(side), e.type.shape) for side in sides)
    parts = where(condition, then) + where(~condition, otherwise)
    return Affine(e.type.shape, parts, tt.switch(condition, then.offset, otherwise.offset))


def _update(x: Extraction, e: Any) -> Affine:
    """What is set at some places: the new values where they went, by the place that each came from, else the old."""
    old, new, *index = e.inputs
    if not all(is_data(i) for i in index):
        raise NotAffine("index_update at places that are themselves random")
    shape: Shape = e.type.shape
    at = real_index(e.attrs["plan"], [data_value(i) for i in index])
    source, touched = np.zeros(shape, dtype=int), np.zeros(shape, dtype=bool)
    places = np.arange(prod(known_shape(new))).reshape(known_shape(new))
    source[at], touched[at] = np.broadcast_to(places, source[at].shape), True
    here = as_tensor(touched)
    kept, put = x.of(old), gathered(x.of(new), source)
    offset = tt.switch(here, put.offset, kept.offset)
    return Affine(shape, where(here, put) + where(~here, spread(kept, shape)), offset)


def _concatenate(x: Extraction, e: Any) -> Affine:
    """Arrays one after the other: each variable keeps its rows, the others get zero."""
    axis, shape = e.attrs["axis"], e.type.shape
    pieces = [x.of(i) for i in e.inputs]
    parts: list[Part] = []
    start = 0
    for piece in pieces:
        around = [start, shape[axis] - start - piece.shape[axis]]

        def among_zeros(t: Tensor, around: list[int] = around) -> Tensor:
            blank = lambda n: tt.zeros((*t.type.shape[:axis], n, *t.type.shape[axis + 1 :]))
            return tt.concatenate([blank(around[0]), t, blank(around[1])], axis=axis)

        for part in piece.parts:
            if isinstance(part, Dense):
                parts.append(part.moved(among_zeros))
                continue
            edges = [(around[0], around[1]) if i == axis else (0, 0) for i in range(len(shape))]
            positions = np.pad(np.broadcast_to(part.positions, piece.shape), edges)
            inside = np.pad(np.ones(piece.shape), edges)
            scale = part.coefficient
            mask = as_tensor(inside) * scale if scale.ndim == 0 else among_zeros(tt.broadcast_to(scale, piece.shape))
            parts.append(Select(part.variable, positions, mask))
        start += piece.shape[axis]
    offset = tt.concatenate([tt.broadcast_to(p.offset, p.shape) for p in pieces], axis=axis)
    return Affine(shape, tuple(parts), offset)


def _running_total(x: Extraction, e: Any) -> Affine:
    """Running totals: sums in which all but a few entries of a variable cancel stay selections."""
    inner, axis = x.of(e.inputs[0]), e.attrs["axis"]
    shape = inner.shape
    parts: list[Part] = []
    sums: dict[tuple[Tensor, Tensor], np.ndarray] = {}
    for part in inner.parts:
        if isinstance(part, Dense):
            parts.append(part.moved(lambda m: tt.cumsum(m, axis=axis)))
            continue
        size, found = prod(known_shape(part.variable)), number_and_data(part.coefficient)
        if found is None:
            raise NotAffine("a running total of multiples of it that depend on other variables row by row")
        if prod(shape) * size > 10_000_000:
            raise NotAffine("a running total of too many entries of it")
        table = sums.setdefault((part.variable, found[0]), np.zeros((prod(shape), size)))
        rows, columns = np.arange(prod(shape)), np.broadcast_to(part.positions, shape).ravel()
        np.add.at(table, (rows, columns), np.broadcast_to(found[1], shape).ravel())
    for (variable, number), table in sums.items():
        steps = table.reshape((*shape, -1))
        total = np.cumsum(steps, axis=axis)
        total[np.abs(total) <= 1e-14 * np.cumsum(np.abs(steps), axis=axis)] = 0.0
        parts += few_or_dense(variable, number, total)
    return Affine(shape, tuple(parts), tt.cumsum(tt.broadcast_to(inner.offset, shape), axis=axis))


RULES: dict[str, Callable[[Extraction, Any], Affine]] = {
    "add": _add,
    "subtract": lambda x, e: added(
        e.type.shape,
        x.of(e.inputs[0]),
        scaled(spread(x.of(e.inputs[1]), e.type.shape), as_tensor(-1.0), e.type.shape),
    ),
    "negative": lambda x, e: scaled(x.of(e.inputs[0]), as_tensor(-1.0), e.type.shape),
    "multiply": _multiply,
    "true_divide": _divide,
    "named": _through,
    "positive": _through,
    "cast": _cast,
    "matmul": _matmul,
    "kron_times": _kron_times,
    "sum": _reduce_sum,
    "mean": _mean,
    "switch": _switch,
    "index_update": _update,
    "concatenate": _concatenate,
    "cumsum": _running_total,
    **dict.fromkeys(HOST, _structural),
}
