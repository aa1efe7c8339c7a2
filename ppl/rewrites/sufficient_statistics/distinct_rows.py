"""The rows of observed data: what distinguishes them, cells of rows that are alike, and expressions at some rows."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import is_draw
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import draw
from ppl.graph import Node
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import HOST, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.products import ONE, Product, Products
from ppl.rewrites.marginalization.program import NoMatch, Observation
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor


@record
class Rows:
    """The rows of an array: what distinguishes them, and how an expression looks at some of them. A parameter that is
    an array itself has `own` last axes in each row; a `law` stands for its parameters."""

    count: int
    own: int = 0
    law: bool = False

    def same(self, e: Any) -> bool:
        """Whether an expression is the same for all rows."""
        return e.ndim <= self.own or (e.type.shape[0] == 1 and self.count != 1)

    def key(self, e: Any, into: list[np.ndarray]) -> None:
        """Collect the columns of numbers that an expression takes from each row: rows where these agree are alike,
        whatever function of them the expression is, which a reading of its form (`products`) does not tell."""
        if self.same(e):
            if not is_data(e) and e.ndim > self.own + 1:
                raise NoMatch("a parameter has more axes than rows")
            return
        if e.type.shape[0] != self.count:
            raise NoMatch("a parameter is no column of rows")
        if is_data(e):
            into.append(np.asarray(data_value(e)).reshape(self.count, -1))
            return
        if self.law:
            for look, p in looks(e, self.count):
                look.key(p, into)
            return
        if isinstance(e.op, Elementwise) or e.op.name in ("named", "squeeze", "expand_dims", "broadcast_to"):
            for i in e.inputs:
                self.key(i, into)
            return
        if e.op.name == "getitem" and all(map(is_data, e.inputs[1:])):
            into.append(_picked(e).reshape(self.count, -1))
            return
        if e.op.name == "matmul" and is_data(e.inputs[0]):
            into.append(np.asarray(data_value(e.inputs[0])).reshape(self.count, -1))
            return
        if is_draw(e):
            raise NoMatch(f'each row has an entry of "{e.name}" of its own')
        raise NoMatch(f"how {e.op.name} treats rows is not understood")

    def indices(self, e: Any, into: list[np.ndarray]) -> None:
        """Collect the indices by which an expression picks entries for each row; data are no part of what groups of
        rows share."""
        if self.same(e) or is_data(e):
            return
        if e.op.name == "getitem" or not e.inputs or is_draw(e):
            self.key(e, into)
            return
        for i in e.inputs:
            self.indices(i, into)

    def products(self) -> Products:
        """Reads expressions as sums of products of data and of what the rows of a group share."""

        def plain(e: Any) -> list[Product] | None:
            if not self._has_data(e):
                return [Product(e, ONE)]
            if is_data(e):
                return [Product(ONE, e)]
            return reader.of(e.inputs[0]) if e.op.name == "broadcast_to" else None

        reader = Products(plain, LIMITS.products_of_a_row)
        return reader

    def _has_data(self, e: Any) -> bool:
        """Whether data that differ by rows enter, other than as indices."""
        if self.same(e):
            return False
        return is_data(e) or (e.op.name != "getitem" and any(map(self._has_data, e.inputs)))

    def at(self, e: Any, rows: np.ndarray) -> Tensor:
        """The expression at some rows only."""
        if self.same(e):
            return e
        if is_data(e):
            return e[rows]
        name = e.op.name
        if self.law:
            return draw(e.family, tuple(look.at(p, rows) for look, p in looks(e, self.count)), (len(rows),))
        if name == "broadcast_to":
            inner = e.inputs[0]
            return inner if inner.ndim == 0 else self.at(inner, rows)
        if name == "getitem":
            return e.inputs[0].reshape((-1,))[_picked(e)[rows]]
        if name == "matmul":
            return tt.matmul(e.inputs[0][rows], e.inputs[1])
        inputs = tuple(self.at(i, rows) for i in e.inputs)
        return Node(e.op, inputs, e.attrs)  # type: ignore[return-value]


def _picked(e: Any) -> np.ndarray:
    """The places in the flat array that an index by data picks."""
    shape = known_shape(e.inputs[0])
    return HOST["getitem"](e)(np.arange(prod(shape)).reshape(shape))


def looks(variable: Any, count: int) -> list[tuple[Rows, Any]]:
    """Each parameter of a draw, and how it looks by rows. A law that is no column is the same for all of them."""
    laws = set(laws_of(variable))
    own = variable.family.event_axes(variable.parameters)
    return [
        (Rows(count, 0 if p.type.shape[:1] in ((count,), (None,)) else p.ndim, law=True), p)
        if p in laws
        else (Rows(count, axes), p)
        for p, axes in zip(variable.parameters, own, strict=True)
    ]


def cells(columns: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each cell one of its rows, and for each row its cell. Raises `NoMatch` where nearly all rows differ."""
    if not columns:
        return np.zeros(1, dtype=int), np.zeros(count, dtype=int)
    table = np.ascontiguousarray(np.concatenate([np.asarray(c, dtype=np.float64) for c in columns], axis=1) + 0.0)
    rows = table.view([("", table.dtype)] * table.shape[1]).ravel()
    probe = rows[: LIMITS.rows_looked_at_first]
    if len(np.unique(probe)) > len(probe) / 1.2 and count > LIMITS.rows_looked_at_first:
        raise NoMatch(f"nearly all of the first {LIMITS.rows_looked_at_first} rows differ")
    _, first, cell = np.unique(rows, return_index=True, return_inverse=True)
    if count < LIMITS.rows_a_cell * len(first):
        raise NoMatch(f"{len(first)} of {count} rows differ")
    return first, cell.ravel()


def in_one_axis(observation: Observation) -> Observation:
    """A table of observations as rows along one axis."""
    variable = observation.variable
    shape = known_shape(variable)
    batch, event = shape[: len(shape) - variable.event_ndim], shape[len(shape) - variable.event_ndim :]
    if len(batch) < 2:
        return observation
    if laws_of(variable) or observation.rows is not None:
        raise NoMatch("only rows along one axis are reduced")
    own = variable.family.event_axes(variable.parameters)
    flat = tuple(_flat(p, batch, axes) for p, axes in zip(variable.parameters, own, strict=True))
    rows = draw(variable.family, flat, (prod(batch),), variable.name)
    return replace(observation, variable=rows, value=observation.value.reshape((prod(batch), *event)))


def _flat(e: Any, batch: tuple[int, ...], own: int) -> Any:
    """A parameter of a table as one of rows: entries that repeat along axes are picked by an index."""
    if e.ndim <= own:
        return e
    if None in e.type.shape:
        raise NoMatch("the length of a parameter is only known when the program runs")
    lead, event = known_shape(e)[: e.ndim - own], known_shape(e)[e.ndim - own :]
    if prod(lead) == 1:
        return e.reshape(event)
    if is_data(e):
        return tt.broadcast_to(e, (*batch, *event)).reshape((prod(batch), *event))
    if not own and isinstance(e.op, Elementwise):
        return Node(e.op, tuple(_flat(i, batch, 0) for i in e.inputs), e.attrs)
    if e.op.name in ("named", "broadcast_to"):
        return _flat(e.inputs[0], batch, own)
    place = np.broadcast_to(np.arange(prod(lead)).reshape(lead), batch).ravel()
    return e.reshape((prod(lead), *event))[place]
