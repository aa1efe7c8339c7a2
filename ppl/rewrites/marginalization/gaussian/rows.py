"""The residuals of a block as rows of numbers: r = e - Σ_a Z_a u[g, a] - X v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node
from ppl.rewrites.marginalization.expressions.data import data_value, is_data, is_read, known_shape
from ppl.rewrites.marginalization.expressions.maps import Dense, Part
from ppl.rewrites.marginalization.expressions.products import Product, collected, terms, total
from ppl.rewrites.marginalization.gaussian.design import Turn, taken_apart
from ppl.rewrites.marginalization.gaussian.layout import Layout, touched
from ppl.rewrites.marginalization.gaussian.residuals import Residual
from ppl.rewrites.marginalization.program import Observation
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.config import config
from ppl.tensor.tensor import Tensor, as_tensor

Key = tuple[int, int]  # how many groups back (0 or 1), and the column there


@dataclass
class Rows:
    """Rows with variance scale² / weight, and for each coefficient of the groups one number a row."""

    count: int
    group: np.ndarray | None  # the (later) group that each row touches, None where rows touch no group
    groups: int
    terms: dict[Key, list[Product]]  # of the coefficients
    x: Tensor | None  # (rows, dense columns), or the data of `turn`
    e: Tensor
    scale: Tensor  # scalar
    weight: Tensor  # of each row
    observed: bool
    turn: Turn | None = None  # how the columns of x go with the dense columns of the block, if not as they are

    @cached_property
    def z(self) -> dict[Key, Tensor]:
        """The coefficients, one number a row."""
        return {key: total(parts) for key, parts in self.terms.items()}

    @property
    def columns(self) -> Tensor | None:
        """The dense columns of the block in these rows."""
        return self.x if self.turn is None or self.x is None else self.turn.back(self.x.T).T

    @property
    def explained(self) -> Tensor:
        """What groups and dense columns are to explain."""
        away = None if self.turn is None else self.turn.away
        return self.e if away is None or self.x is None else self.e + self.x @ away

    def precision(self) -> Tensor:
        """One over the variance, but for the weights."""
        return self.scale**-2.0

    @property
    def in_order(self) -> bool:
        """Whether there is one row for each group, in order."""
        assert self.group is not None
        return self.count == self.groups and np.array_equal(self.group, np.arange(self.groups))

    def summed(self, values: Tensor) -> Tensor:
        """Sums of row values over the rows of each group."""
        assert self.group is not None
        return values if self.in_order else segment_sum(values, self.group, self.groups)

    def gathered(self, values: Tensor, lag: int) -> Tensor:
        """Group values at each row; `lag` 1 for those of the group before."""
        assert self.group is not None
        if not lag and self.in_order:
            return values
        return values[np.maximum(self.group - lag, 0)]

    def at(self, places: np.ndarray, scale: Tensor, weight: Tensor) -> Rows:
        """Some of the rows, of another scale."""
        terms = {
            key: [Product(t.number, t.data[places] if t.data.ndim else t.data) for t in parts]
            for key, parts in self.terms.items()
        }
        group, x = None if self.group is None else self.group[places], None if self.x is None else self.x[places]
        return Rows(len(places), group, self.groups, terms, x, self.e[places], scale, weight, self.observed, self.turn)

    def by_scale(self, scales: Sequence[Product]) -> list[Rows]:
        """The rows of each scale, where each row has one of a few: their sums are sums of data then."""
        if len(scales) < 2 or not all(is_read(s.data) for s in scales):
            return [self]
        sizes = [data_value(s.data) for s in scales]
        if any(np.any(size < 0) for size in sizes) or not np.all(np.sum([size > 0 for size in sizes], axis=0) == 1):
            return [self]
        places = [np.flatnonzero(size) for size in sizes]
        weights = [
            as_tensor(np.asarray(size[at], config.floatX) ** -2.0) for size, at in zip(sizes, places, strict=True)
        ]
        return [self.at(at, s.number, w) for at, s, w in zip(places, scales, weights, strict=True)]

    def is_data(self) -> bool:
        """Whether all but the coefficients of the groups is known before any parameter is."""
        return all(is_data(t) for t in (self.e, self.weight, *([] if self.x is None else [self.x])))


def rows_of(r: Residual, layout: Layout, starts: Mapping[Node, int], ndense: int, few: bool) -> Rows:
    """A residual as rows; `starts` holds the first column of each dense variable. Where rows are not `few`, data are
    kept apart from parameters."""
    n = prod(r.map.shape)
    scale, weight = _scale(r.scale, r.map.shape, n)
    mine = [p for p in r.map.parts if p.variable in layout.places]
    maps = [touched(p, layout.places[p.variable]) for p in mine]
    group = np.maximum(np.stack(maps).max(axis=0), 0) if maps else None
    found: dict[Key, list[Product]] = {}
    for part, at in zip(mine, maps, strict=True):
        assert not isinstance(part, Dense)
        lag = np.where(at < 0, 0, group - at)
        column = layout.places[part.variable].column[part.positions.ravel()]
        pieces = [Product(t.number, _row(t.data, r.map.shape, n)) for t in terms(part.coefficient)]
        keys = {(int(i), int(j)) for i, j in zip(lag, column, strict=True)} if n else set()
        for key in sorted(keys):
            chosen = (lag == key[0]) & (column == key[1])
            mask = as_tensor(1.0 if chosen.all() else chosen.astype(float))
            found.setdefault(key, []).extend(Product(t.number, t.data * mask) for t in pieces)
    together = {key: collected(parts) for key, parts in found.items()}
    observed = isinstance(r.factor, Observation)
    dense = [p for p in r.map.parts if p.variable in starts]
    e = -_row(r.map.offset, r.map.shape, n)
    apart = None if few or not is_data(weight) else taken_apart(dense, starts, r.map.shape, ndense, e)
    if apart is not None:
        return Rows(n, group, layout.count, together, apart.x, apart.e, scale, weight, observed, apart.turn)
    x = _whole(dense, starts, r.map.shape, n)
    return Rows(n, group, layout.count, together, x, e, scale, weight, observed)


def _whole(parts: Sequence[Part], starts: Mapping[Node, int], shape: Any, n: int) -> Tensor | None:
    """The dense columns as they are."""
    blocks: dict[Node, Tensor] = {}
    for part in parts:
        design = _design(part, shape, n)
        blocks[part.variable] = blocks[part.variable] + design if part.variable in blocks else design
    if not blocks:
        return None
    columns = _beside_zeros(blocks, starts, n)
    return tt.concatenate(columns, axis=1) if len(columns) > 1 else columns[0]


def scales_of(r: Residual) -> list[Product]:
    """The scale of a residual as a sum of numbers times data, these one number a row."""
    return [Product(s.number, _row(s.data, r.map.shape, prod(r.map.shape))) for s in terms(r.scale)]


def _beside_zeros(blocks: Mapping[Node, Tensor], starts: Mapping[Node, int], n: int) -> list[Tensor]:
    """The columns of dense variables in their order, with as few blocks of zeros as there are gaps."""
    found: list[Tensor] = []
    gap = 0
    for rv in starts:
        if rv not in blocks:
            gap += prod(known_shape(rv))
            continue
        found += [tt.zeros((n, gap))] if gap else []
        found.append(blocks[rv])
        gap = 0
    return found + ([tt.zeros((n, gap))] if gap else [])


def _row(t: Tensor, shape: Any, n: int) -> Tensor:
    """A tensor that broadcasts to `shape`, one number a row."""
    return tt.broadcast_to(t, shape).reshape((n,))


def _design(part: Part, shape: Any, n: int) -> Tensor:
    """The columns of a dense variable."""
    size = prod(known_shape(part.variable))
    if isinstance(part, Dense):
        return part.design.reshape((n, size))
    coefficient = _row(part.coefficient, shape, n)
    hot = (part.positions.ravel()[:, None] == np.arange(size)[None, :]).astype(float)
    return tt.expand_dims(coefficient, 1) * as_tensor(hot)


def _scale(scale: Tensor, shape: Any, n: int) -> tuple[Tensor, Tensor]:
    """A standard deviation as one number and a weight a row."""
    if prod(d or 1 for d in scale.type.shape) == 1 and None not in scale.type.shape:
        return scale.reshape(()) if scale.ndim else scale, tt.ones((n,))
    found = terms(scale)
    if len(found) == 1 and is_data(found[0].data):  # multiples of one number
        return found[0].number, _row(found[0].data, shape, n) ** -2.0
    return as_tensor(1.0), _row(scale, shape, n) ** -2.0
