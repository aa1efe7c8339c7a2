r"""Affine extraction: an expression as :math:`\sum_k c_k\, u_k[s_k] + X_k u_k + b` in given variables.

`Select` parts pick entries of a variable (an index map into its flat entries, repeated entries allowed) with a
coefficient; `Dense` parts multiply it by a matrix. Index maps are NumPy arrays: an index that comes from data is read
at its present value, and a plan is made anew when data change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import numpy as np

import ppl.tensor as tt
from ppl.distributions import DRAW
from ppl.graph import Attrs, Identity, Node, ancestors
from ppl.graph.node import Op
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.values.folding import on_host
from ppl.rewrites.values.reads import note
from ppl.tensor.arrays.indexing import real_index
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, is_constant, value_of
from ppl.tensor.variables import VARIABLE

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Select:
    """coefficient * variable.ravel()[positions], of the shape of the expression."""

    variable: Tensor
    positions: np.ndarray
    coefficient: Tensor


@dataclass(frozen=True)
class Dense:
    """design @ variable.ravel(); the design has the shape of the expression and one axis more."""

    variable: Tensor
    design: Tensor


Part = Select | Dense


def known_shape(node: Any) -> Shape:
    """The shape of a node, all of which is known."""
    shape = node.type.shape
    assert None not in shape, f"{node!r} has a length that is only known when the program runs"
    return shape


@dataclass(frozen=True)
class Affine:
    """A sum of parts and an offset."""

    shape: Shape
    parts: tuple[Part, ...]
    offset: Tensor


class NotAffine(Exception):  # noqa: N818  an answer, not an error
    """The expression is not affine in the variables, or not in a way that is understood; the message says where."""


def affine(expression: Tensor, variables: Collection[Node]) -> Affine:
    """The expression as an affine map of the variables; raises `NotAffine` with the reason."""
    return merged(Extraction(variables).of(expression))


def merged(found: Affine) -> Affine:
    """The same map with one selection for parts that together pick one entry of a variable."""
    mine: dict[Tensor, list[Part]] = {}
    for part in found.parts:
        mine.setdefault(part.variable, []).append(part)
    parts = [_one_pick(each, found.shape) or each for each in mine.values()]
    return Affine(found.shape, tuple(part for each in parts for part in each), found.offset)


class _Steering(Op):
    """Stands for a discrete latent while other variables are integrated out given its value: data, but which is not
    known yet."""

    name = "steering"
    computed = True

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        found: TensorType = attrs["type"]
        return found


STEERING = _Steering()


def steering(label: Tensor) -> Tensor:
    """What stands for a discrete latent."""
    return Node(STEERING, (), Attrs(type=label.type, identity=Identity()))  # type: ignore[return-value]


def data_value(node: Node) -> np.ndarray:
    """The present value of an expression of constants and data; raises `NotAffine` where a discrete latent steers
    it."""
    if is_constant(node):
        return value_of(node)
    behind = ancestors(node)
    if any(n.op is STEERING for n in behind):
        raise NotAffine("an expression that a discrete latent switches")
    note(behind)
    held = {v: np.asarray(v.attrs["cell"].value) for v in behind if v.op is VARIABLE}
    found = on_host([node], held)  # no program is compiled to read data
    if found is not None:
        return found[0]
    with jax.enable_x64(True):
        return np.asarray(evaluate([node], held)[0])


def is_data(node: Node) -> bool:
    """Whether an expression is made of constants and data alone."""
    seen: set[Node] = {node}
    stack = [node]
    while stack:
        n = stack.pop()
        if n.op is DRAW or not (n.inputs or is_constant(n) or n.op is VARIABLE or n.op.computed):
            return False
        stack += [x for x in n.inputs if x not in seen]
        seen.update(n.inputs)
    return True


def is_read(node: Node) -> bool:
    """Whether an expression is data, the value of which can be read while planning."""
    return is_data(node) and not any(n.op is STEERING for n in ancestors(node))


def is_always(node: Node, value: float) -> bool:
    """Whether an expression is data, and each entry is a value."""
    return is_read(node) and bool(np.all(data_value(node) == value))


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


def _add(x: Extraction, e: Any) -> Affine:
    return _sum(e.type.shape, x.of(e.inputs[0]), x.of(e.inputs[1]))


def _sum(shape: Shape, a: Affine, b: Affine) -> Affine:
    return Affine(shape, (*_spread(a, shape).parts, *_spread(b, shape).parts), a.offset + b.offset)


def _spread(a: Affine, shape: Shape) -> Affine:
    """The same map broadcast to a larger shape."""
    if a.shape == shape:
        return a
    parts: list[Part] = []
    for part in a.parts:
        if isinstance(part, Select):
            parts.append(Select(part.variable, np.broadcast_to(part.positions, shape), part.coefficient))
        else:
            size = part.design.type.shape[-1]
            lifted = tt.expand_dims(part.design, tuple(range(len(shape) - len(a.shape))))
            parts.append(Dense(part.variable, tt.broadcast_to(lifted, (*shape, size))))
    return Affine(shape, tuple(parts), a.offset)


def _scaled(a: Affine, factor: Tensor, shape: Shape) -> Affine:
    spread = _spread(a, shape)
    parts: list[Part] = []
    for part in spread.parts:
        if isinstance(part, Select):
            parts.append(Select(part.variable, part.positions, part.coefficient * factor))
        else:
            parts.append(Dense(part.variable, part.design * (tt.expand_dims(factor, -1) if factor.ndim else factor)))
    return Affine(shape, tuple(parts), spread.offset if _is_zero(spread.offset) else spread.offset * factor)


def _is_zero(t: Tensor) -> bool:
    return is_constant(t) and not np.any(value_of(t))


def _multiply(x: Extraction, e: Any) -> Affine:
    a, b = e.inputs
    if x.depends(a) and x.depends(b):
        raise NotAffine("a product of two expressions that both depend on it")
    return _scaled(x.of(a), b, e.type.shape) if x.depends(a) else _scaled(x.of(b), a, e.type.shape)


def _divide(x: Extraction, e: Any) -> Affine:
    a, b = e.inputs
    if x.depends(b):
        raise NotAffine("a division by it")
    return _scaled(x.of(a), 1.0 / b, e.type.shape)


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
            flat = part.design.reshape((prod(inner.shape), part.design.type.shape[-1]))
            same = where.size == flat.type.shape[0] and np.array_equal(where.ravel(), np.arange(where.size))
            rows = flat if same else flat[where.ravel()]
            parts.append(Dense(part.variable, rows.reshape((*e.type.shape, part.design.type.shape[-1]))))
    offset = inner.offset if inner.offset.ndim == 0 else again(inner.offset)
    return Affine(e.type.shape, tuple(parts), offset)


def _rebuild(e: Any, new: Tensor) -> Tensor:
    return Node(e.op, (new, *e.inputs[1:]), e.attrs)  # type: ignore[return-value]


Move = Callable[[np.ndarray], np.ndarray]


def _host_index(e: Any) -> Move:
    index = real_index(e.attrs["plan"], [data_value(i) for i in e.inputs[1:]])
    return lambda a: np.asarray(a[index])


HOST: dict[str, Callable[[Any], Move]] = {
    "getitem": _host_index,
    "reshape": lambda e: lambda a: a.reshape(e.type.shape),
    "transpose": lambda e: lambda a: a.transpose(e.attrs["axes"]),
    "expand_dims": lambda e: lambda a: np.expand_dims(a, e.attrs["axis"]),
    "squeeze": lambda e: lambda a: np.squeeze(a, e.attrs["axis"]),
    "broadcast_to": lambda e: lambda a: np.broadcast_to(a, e.type.shape),
}


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
            size = prod(known_shape(part.variable))
            c = part.coefficient
            scaled = rows if is_constant(c) and np.all(value_of(c) == 1) else rows * _flat(c, inner.shape)
            positions = part.positions.ravel()
            if np.array_equal(positions, np.arange(size)):
                design = scaled
            else:
                design = scaled @ as_tensor((positions[:, None] == np.arange(size)[None, :]).astype(float))
            parts.append(Dense(part.variable, design.reshape((*shape, size))))
        else:
            size = known_shape(part.design)[-1]
            parts.append(Dense(part.variable, (rows @ part.design.reshape((m, size))).reshape((*shape, size))))
    offset = inner.offset
    spread = tt.broadcast_to(offset, inner.shape) if offset.ndim < 2 or offset.type.shape != inner.shape else offset
    product = left @ spread if column else spread @ right
    return Affine(shape, tuple(parts), product)


def _kron_times(x: Extraction, e: Any) -> Affine:
    """A Kronecker product of matrices with a vector: the same on each column of a design."""
    vector, *matrices = e.inputs
    if any(x.depends(m) for m in matrices):
        raise NotAffine("a Kronecker product of matrices that depend on it")
    inner = x.of(vector)
    again = lambda t: tt.kron_times(t, *matrices)
    parts: list[Part] = []
    for part in inner.parts:
        design = part.design if isinstance(part, Dense) else _hot(part, inner.shape, "a Kronecker product with")
        parts.append(Dense(part.variable, tt.moveaxis(again(tt.moveaxis(design, -1, 0)), 0, -1)))
    offset = inner.offset if _is_zero(inner.offset) else again(tt.broadcast_to(inner.offset, inner.shape))
    return Affine(e.type.shape, tuple(parts), offset)


def _hot(part: Select, shape: Shape, what: str) -> Tensor:
    """The design of a selection."""
    size = prod(known_shape(part.variable))
    if prod(shape) * size > 10_000_000:
        raise NotAffine(f"{what} too many entries of it")
    hot = as_tensor((np.broadcast_to(part.positions, shape)[..., None] == np.arange(size)).astype(float))
    return tt.expand_dims(tt.broadcast_to(part.coefficient, shape), -1) * hot


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


def _flat(t: Tensor, shape: Shape) -> Tensor:
    return tt.broadcast_to(t, shape).reshape((1, prod(shape))) if t.ndim else t


def _reduce_sum(x: Extraction, e: Any) -> Affine:
    """A sum over axes: each entry of the result is a combination of entries of the variable."""
    inner = x.of(e.inputs[0])
    axes, keep = e.attrs["axis"], e.attrs["keepdims"]
    parts: list[Part] = []
    for part in inner.parts:
        if isinstance(part, Dense):
            parts.append(Dense(part.variable, tt.sum(part.design, axis=axes, keepdims=keep)))
            continue
        if prod(inner.shape[a] for a in axes) <= LIMITS.few_summands:
            parts += _one_by_one(part, inner.shape, axes, e.type.shape)
            continue
        design = _hot(part, inner.shape, "a sum over")
        parts.append(Dense(part.variable, tt.sum(design, axis=axes, keepdims=keep)))
    offset = tt.sum(tt.broadcast_to(inner.offset, inner.shape), axis=axes, keepdims=keep)
    return Affine(e.type.shape, tuple(parts), offset)


def _mean(x: Extraction, e: Any) -> Affine:
    count = prod(known_shape(e.inputs[0])) / max(1, prod(known_shape(e)))
    total = tt.sum(e.inputs[0], axis=e.attrs["axis"], keepdims=e.attrs["keepdims"])
    return _scaled(x.of(total), as_tensor(1.0 / count), e.type.shape)


def _switch(x: Extraction, e: Any) -> Affine:
    """A choice by data: each side counts where it is chosen."""
    condition, *sides = e.inputs
    if not is_data(condition):
        raise NotAffine("a choice that is itself random")
    then, otherwise = (_spread(x.of(side), e.type.shape) for side in sides)
    parts = _where(condition, then) + _where(~condition, otherwise)
    return Affine(e.type.shape, parts, tt.switch(condition, then.offset, otherwise.offset))


def _where(condition: Any, a: Affine) -> tuple[Part, ...]:
    """The parts of a map, zero where a condition does not hold."""
    found: list[Part] = []
    for part in a.parts:
        if isinstance(part, Select):
            known = _number_and_data(part.coefficient)  # the number stays outside, so that sums over rows are of data
            number, rest = (as_tensor(1.0), part.coefficient) if known is None else (known[0], as_tensor(known[1]))
            found.append(Select(part.variable, part.positions, number * tt.switch(condition, rest, 0.0)))
        else:
            chosen = tt.expand_dims(tt.broadcast_to(condition, a.shape), -1)
            found.append(Dense(part.variable, tt.switch(chosen, part.design, 0.0)))
    return tuple(found)


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
    kept, put = x.of(old), _gathered(x.of(new), source)
    offset = tt.switch(here, put.offset, kept.offset)
    return Affine(shape, _where(here, put) + _where(~here, _spread(kept, shape)), offset)


def _gathered(a: Affine, source: np.ndarray) -> Affine:
    """The rows of a map at places of its flat result."""

    def picked(t: Tensor, more: Shape = ()) -> Tensor:
        return tt.broadcast_to(t, (*a.shape, *more)).reshape((prod(a.shape), *more))[source]

    parts: list[Part] = []
    for part in a.parts:
        if isinstance(part, Select):
            positions = np.broadcast_to(part.positions, a.shape).ravel()[source]
            parts.append(Select(part.variable, positions, picked(part.coefficient)))
        else:
            parts.append(Dense(part.variable, picked(part.design, known_shape(part.design)[-1:])))
    return Affine(source.shape, tuple(parts), picked(a.offset))


def _one_by_one(part: Select, shape: Shape, axes: tuple[int, ...], result: Shape) -> list[Part]:
    """The terms of a short sum over axes, each a selection."""
    positions = np.broadcast_to(part.positions, shape)
    whole = tt.broadcast_to(part.coefficient, shape) if part.coefficient.ndim else None
    found: list[Part] = []
    for at in np.ndindex(*(shape[a] for a in axes)):
        index = tuple(at[axes.index(i)] if i in axes else slice(None) for i in range(len(shape)))
        coefficient = part.coefficient if whole is None else whole[index].reshape(result)
        found.append(Select(part.variable, positions[index].reshape(result), coefficient))
    return found


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
                parts.append(Dense(part.variable, among_zeros(part.design)))
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
            parts.append(Dense(part.variable, tt.cumsum(part.design, axis=axis)))
            continue
        size, found = prod(known_shape(part.variable)), _number_and_data(part.coefficient)
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
        parts += _few_or_dense(variable, number, total)
    return Affine(shape, tuple(parts), tt.cumsum(tt.broadcast_to(inner.offset, shape), axis=axis))


# --- parts that together pick one entry ---------------------------------------------------------------------------
def _one_pick(parts: Sequence[Part], shape: Shape) -> list[Part] | None:
    """Parts of one variable as one selection, where no entry of the result depends on two entries of it."""
    if len(parts) == 1 and isinstance(parts[0], Select):
        return None
    positions, taken = np.zeros(shape, dtype=int), np.zeros(shape, dtype=bool)
    pieces: list[Tensor] = []
    for part in parts:
        found = _picked(part, shape)
        if found is None:
            return None
        at, there, coefficient = found
        if np.any(positions[taken & there] != at[taken & there]):
            return None
        positions, taken = np.where(there, at, positions), taken | there
        pieces.append(coefficient)
    return [Select(parts[0].variable, positions, _total(pieces, shape))]


def _picked(part: Part, shape: Shape) -> tuple[Any, Any, Tensor] | None:
    """The entry that a part picks, where it picks one, and its coefficient; None where it picks several."""
    if isinstance(part, Select):
        return np.broadcast_to(part.positions, shape), _filled(part.coefficient, shape), part.coefficient
    size = known_shape(part.design)[-1]
    if is_read(part.design) and np.count_nonzero(data_value(part.design).reshape(-1, size)[:1]) > 1:
        return None  # as nearly all designs
    filled = _filled(part.design, (*shape, size))
    if (filled.sum(axis=-1) > 1).any():
        return None
    return filled.argmax(axis=-1), filled.any(axis=-1), tt.sum(part.design, axis=-1)


def _total(pieces: Sequence[Tensor], shape: Shape) -> Tensor:
    """The sum of coefficients, numbers outside of data."""
    numbers: dict[Tensor, Any] = {}
    rest: list[Tensor] = []
    for c in pieces:
        known = _number_and_data(c)
        if known is None:
            rest.append(c)
        else:
            numbers[known[0]] = numbers.get(known[0], 0.0) + np.broadcast_to(known[1], shape)
    for number, data in numbers.items():
        same = data.flat[0] if data.size and np.ptp(data) == 0 else data
        rest.append(as_tensor(same) if is_constant(number) else number * as_tensor(same))
    return functools.reduce(lambda a, b: a + b, rest)


def _filled(c: Any, shape: Shape) -> np.ndarray:
    """Which entries of coefficients, broadcast to a shape, are not known to be zero."""
    if is_read(c):
        return np.broadcast_to(data_value(c) != 0, shape)
    inner = c.op.name
    if inner == "multiply":
        return _filled(c.inputs[0], shape) & _filled(c.inputs[1], shape)
    if inner in ("named", "negative") or inner == "true_divide":
        return _filled(c.inputs[0], shape)
    if inner == "switch" and is_read(c.inputs[0]):
        then, otherwise = (_filled(x, shape) for x in c.inputs[1:])
        return np.where(data_value(c.inputs[0]), then, otherwise)
    if inner in HOST and all(map(is_read, c.inputs[1:])):
        return np.broadcast_to(HOST[inner](c)(_filled(c.inputs[0], known_shape(c.inputs[0]))), shape)
    if inner == "concatenate":
        pieces = [_filled(x, known_shape(x)) for x in c.inputs]
        return np.broadcast_to(np.concatenate(pieces, axis=c.attrs["axis"]), shape)
    return np.ones(shape, dtype=bool)


def _number_and_data(c: Any) -> tuple[Tensor, np.ndarray] | None:
    """A coefficient as a number, which may depend on parameters, times data; None where it is neither."""
    if is_read(c):
        return as_tensor(1.0), data_value(c)
    if not c.ndim:
        return c, np.ones(())
    if c.op.name != "multiply":
        return None
    a, b = map(_number_and_data, c.inputs)
    return None if a is None or b is None else (a[0] if is_constant(b[0]) else a[0] * b[0], a[1] * b[1])


def _few_or_dense(variable: Tensor, number: Tensor, table: np.ndarray) -> list[Part]:
    """The product of a table of numbers with a variable: as selections where few of a row's numbers are not zero."""
    filled = table != 0
    most = int(filled.sum(axis=-1).max(initial=0))
    if most > LIMITS.few_summands:
        return [Dense(variable, number * as_tensor(table))]
    at = np.argsort(~filled, axis=-1, kind="stable")[..., :most]
    kept = np.take_along_axis(table, at, axis=-1)
    return [Select(variable, at[..., i], number * as_tensor(kept[..., i])) for i in range(most)]


RULES: dict[str, Callable[[Extraction, Any], Affine]] = {
    "add": _add,
    "subtract": lambda x, e: _sum(
        e.type.shape,
        x.of(e.inputs[0]),
        _scaled(_spread(x.of(e.inputs[1]), e.type.shape), as_tensor(-1.0), e.type.shape),
    ),
    "negative": lambda x, e: _scaled(x.of(e.inputs[0]), as_tensor(-1.0), e.type.shape),
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
