"""Affine maps of variables, and what is done to them: sums, multiples, rows picked, parts that are one selection."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import HOST, NotAffine, Shape, data_value, is_read, known_shape
from ppl.rewrites.marginalization.expressions.products import number_and_data
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


@record
class Select:
    """coefficient * variable.ravel()[positions], of the shape of the expression."""

    variable: Tensor
    positions: np.ndarray
    coefficient: Tensor


@record
class Dense:
    """design @ variable.ravel(); the design has the shape of the expression and one axis more.

    What depends on parameters column by column stands apart from a matrix of data: matrix @ (factor * entries), the
    entries `columns` of the variable, or all in their order.
    """

    variable: Tensor
    matrix: Tensor
    factor: Tensor | None = None  # a number for each column
    columns: np.ndarray | None = None

    @cached_property
    def design(self) -> Tensor:
        """The matrix with its factor, and a column for each entry of the variable."""
        whole = self.matrix if self.factor is None else self.matrix * self.factor
        if self.columns is None:
            return whole
        size = prod(known_shape(self.variable))
        return whole @ as_tensor((self.columns[:, None] == np.arange(size)).astype(float))

    def moved(self, rows: Callable[[Tensor], Tensor]) -> Dense:
        """The same columns, the rows of the matrix moved or added up."""
        return replace(self, matrix=rows(self.matrix))


Part = Select | Dense


@record
class Affine:
    """A sum of parts and an offset."""

    shape: Shape
    parts: tuple[Part, ...]
    offset: Tensor


def added(shape: Shape, a: Affine, b: Affine) -> Affine:
    return Affine(shape, (*spread(a, shape).parts, *spread(b, shape).parts), a.offset + b.offset)


def spread(a: Affine, shape: Shape) -> Affine:
    """The same map broadcast to a larger shape."""
    if a.shape == shape:
        return a
    parts: list[Part] = []
    for part in a.parts:
        if isinstance(part, Select):
            parts.append(Select(part.variable, np.broadcast_to(part.positions, shape), part.coefficient))
        else:
            parts.append(part.moved(functools.partial(_lifted, of=a.shape, to=shape)))
    return Affine(shape, tuple(parts), a.offset)


def _lifted(matrix: Tensor, of: Shape, to: Shape) -> Tensor:
    """The matrix of an expression, broadcast to a larger one."""
    whole = tt.expand_dims(matrix, tuple(range(len(to) - len(of))))
    return tt.broadcast_to(whole, (*to, matrix.type.shape[-1]))


def scaled(a: Affine, factor: Tensor, shape: Shape) -> Affine:
    whole = spread(a, shape)
    parts: list[Part] = []
    for part in whole.parts:
        if isinstance(part, Select):
            parts.append(Select(part.variable, part.positions, part.coefficient * factor))
        else:
            parts.append(part.moved(lambda m: m * (tt.expand_dims(factor, -1) if factor.ndim else factor)))
    return Affine(shape, tuple(parts), whole.offset if is_zero(whole.offset) else whole.offset * factor)


def is_zero(t: Tensor) -> bool:
    return is_constant(t) and not np.any(value_of(t))


def where(condition: Any, a: Affine) -> tuple[Part, ...]:
    """The parts of a map, zero where a condition does not hold."""
    found: list[Part] = []
    for part in a.parts:
        if isinstance(part, Select):
            known = number_and_data(part.coefficient)  # the number stays outside, so that sums over rows are of data
            number, rest = (as_tensor(1.0), part.coefficient) if known is None else (known[0], as_tensor(known[1]))
            found.append(Select(part.variable, part.positions, number * tt.switch(condition, rest, 0.0)))
        else:
            chosen = tt.expand_dims(tt.broadcast_to(condition, a.shape), -1)
            found.append(part.moved(functools.partial(_where, chosen)))
    return tuple(found)


def _where(chosen: Tensor, matrix: Tensor) -> Tensor:
    return tt.switch(chosen, matrix, 0.0)


def gathered(a: Affine, source: np.ndarray) -> Affine:
    """The rows of a map at places of its flat result."""

    def picked(t: Tensor, more: Shape = ()) -> Tensor:
        return tt.broadcast_to(t, (*a.shape, *more)).reshape((prod(a.shape), *more))[source]

    parts: list[Part] = []
    for part in a.parts:
        if isinstance(part, Select):
            positions = np.broadcast_to(part.positions, a.shape).ravel()[source]
            parts.append(Select(part.variable, positions, picked(part.coefficient)))
        else:
            parts.append(part.moved(lambda m: picked(m, known_shape(m)[-1:])))
    return Affine(source.shape, tuple(parts), picked(a.offset))


def one_by_one(part: Select, shape: Shape, axes: tuple[int, ...], result: Shape) -> list[Part]:
    """The terms of a short sum over axes, each a selection."""
    positions = np.broadcast_to(part.positions, shape)
    whole = tt.broadcast_to(part.coefficient, shape) if part.coefficient.ndim else None
    found: list[Part] = []
    for at in np.ndindex(*(shape[a] for a in axes)):
        index = tuple(at[axes.index(i)] if i in axes else slice(None) for i in range(len(shape)))
        coefficient = part.coefficient if whole is None else whole[index].reshape(result)
        found.append(Select(part.variable, positions[index].reshape(result), coefficient))
    return found


def one_hot(part: Select, shape: Shape, what: str) -> Tensor:
    """The design of a selection."""
    size = prod(known_shape(part.variable))
    if prod(shape) * size > 10_000_000:
        raise NotAffine(f"{what} too many entries of it")
    hot = as_tensor((np.broadcast_to(part.positions, shape)[..., None] == np.arange(size)).astype(float))
    return tt.expand_dims(tt.broadcast_to(part.coefficient, shape), -1) * hot


def written_out(part: Part, count: int) -> Tensor:
    """The design of a part of a vector of that length."""
    if isinstance(part, Dense):
        return part.design
    size = prod(known_shape(part.variable))
    taken = np.broadcast_to(part.positions, (count,))[:, None] == np.arange(size)
    coefficient = tt.broadcast_to(part.coefficient, (count,))
    return as_tensor(taken.astype(float)) * tt.expand_dims(coefficient, 1)


def few_or_dense(variable: Tensor, number: Tensor, table: np.ndarray) -> list[Part]:
    """The product of a table of numbers with a variable: as selections where few of a row's numbers are not zero."""
    filled = table != 0
    most = int(filled.sum(axis=-1).max(initial=0))
    if most > LIMITS.few_summands:
        return [Dense(variable, number * as_tensor(table))]
    at = np.argsort(~filled, axis=-1, kind="stable")[..., :most]
    kept = np.take_along_axis(table, at, axis=-1)
    return [Select(variable, at[..., i], number * as_tensor(kept[..., i])) for i in range(most)]


def merged(found: Affine) -> Affine:
    """The same map with one selection for parts that together pick one entry of a variable."""
    mine: dict[Tensor, list[Part]] = {}
    for part in found.parts:
        mine.setdefault(part.variable, []).append(part)
    parts = [_one_pick(each, found.shape) or each for each in mine.values()]
    return Affine(found.shape, tuple(part for each in parts for part in each), found.offset)


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
        known = number_and_data(c)
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
