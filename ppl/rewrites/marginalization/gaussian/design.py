r"""Dense columns of rows, data apart from parameters: :math:`X (T v - c)`.

X is data, so that sums over rows are. T holds what depends on parameters column by column, the deviations of the
coefficients of basis functions for instance: mostly a factor for each entry of v, else a matrix. The last columns of X
may belong to numbers of other variables, which are known where the block is integrated out: these are in -c, whose
other entries say from where the columns are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import affine_in_atoms
from ppl.rewrites.marginalization.expressions.data import NotAffine, is_data, known_shape
from ppl.rewrites.marginalization.expressions.maps import Affine, Part, Select, written_out
from ppl.rewrites.marginalization.expressions.products import NoProducts, Product, Products
from ppl.tensor.tensor import Tensor, as_tensor

ONE = as_tensor(1.0)


class Piece(NamedTuple):
    """Columns of data, which entries of v they belong to, and a factor for each; None where all are one."""

    data: Tensor
    entries: np.ndarray
    factor: Tensor | None


@record
class Turn:
    """T and c, for X of so many columns, of which the first belong to v; the `factor` is T itself or its diagonal."""

    columns: int
    first: int
    ndense: int
    factor: Tensor | None
    moved: np.ndarray  # which entries of v have factors that are not one
    away: Tensor | None = None  # c

    @property
    def in_place(self) -> bool:
        """Whether the first columns are the dense columns of the block in their order."""
        return self.first == self.ndense and (self.factor is None or self.factor.ndim == 1)

    def of(self, v: Tensor | None) -> Tensor:
        """Tv - c."""
        pieces: list[Tensor] = []
        if v is not None and self.first:
            pieces.append(v if self.factor is None else self.factor * v if self.factor.ndim == 1 else self.factor @ v)
        rest = self.columns - (self.first if pieces else 0)
        if rest:
            pieces.append(tt.zeros((rest,)))
        found = tt.concatenate(pieces, axis=0) if len(pieces) > 1 else pieces[0]
        return found if self.away is None else found - self.away

    def back(self, h: Tensor) -> Tensor:
        """T'h, for a vector or for a matrix with a row for each column of X."""
        if not self.first:
            return tt.zeros((self.ndense, *h.type.shape[1:]))
        mine = h[: self.first] if self.first < self.columns else h
        if self.factor is None:
            return mine
        if self.factor.ndim == 1:
            return mine * (self.factor if h.ndim == 1 else tt.expand_dims(self.factor, 1))
        return self.factor.T @ mine

    def both(self, square: Tensor) -> Tensor:
        """T'GT."""
        return self.back(self.back(square).T)

    def measured_from(self, there: Tensor) -> Turn:
        """The same columns, measured from a point."""
        return replace(self, away=there if self.away is None else self.away + there)


class Turned(NamedTuple):
    """The columns of some rows, and how they go with the dense columns of a block; what is left to explain."""

    x: Tensor
    turn: Turn
    e: Tensor


def taken_apart(parts: Sequence[Part], starts: Any, shape: Any, ndense: int, e: Tensor) -> Turned | None:
    """Rows with data apart from parameters; None where that is not possible, or where nothing depends on parameters, or
    where it does not pay."""
    n = prod(shape)
    found = _added([piece for part in parts for piece in _pieces(part, starts[part.variable], shape)])
    others = None if is_data(e) else _others(e, n)
    if not all(is_data(piece.data) for piece in found) or not (others is not None or is_data(e)):
        return None
    if others is None and all(piece.factor is None for piece in found):
        return None
    x: list[Tensor] = []
    factor, first, moved = None, 0, np.zeros(ndense, dtype=bool)
    if found:
        x.append(as_tensor(0.0))
        x[0], factor = _side_by_side(found, n, ndense)
        first = int(known_shape(x[0])[1])
        for piece in found:
            moved[piece.entries] |= piece.factor is not None
        moved |= factor is not None and factor.ndim == 2
    away = None
    if others is not None:
        x += [written_out(part, n) for part in others.parts]
        numbers = [part.variable.reshape((-1,)) for part in others.parts]
        away = tt.concatenate([tt.zeros((first,)), *numbers], axis=0)
        e = tt.broadcast_to(others.offset, (n,))
    columns = sum(int(known_shape(each)[1]) for each in x)
    if columns > LIMITS.dense_columns or 2 * columns > n:
        return None
    whole = tt.concatenate(x, axis=1) if len(x) > 1 else x[0]
    return Turned(whole, Turn(columns, first, ndense, factor, moved, away), e)


def _pieces(part: Part, start: int, shape: Any) -> list[Piece]:
    """A part as columns of data times factors; columns that are no data where it cannot be taken apart."""
    n, size = prod(shape), prod(known_shape(part.variable))
    if isinstance(part, Select):
        hot = as_tensor((part.positions.ravel()[:, None] == np.arange(size)[None, :]).astype(float))
        coefficient = tt.expand_dims(tt.broadcast_to(part.coefficient, shape).reshape((n,)), 1)
        entries = np.arange(start, start + size)
        return [Piece(p.data * hot, entries, _factor(p.number, None, size)) for p in _apart(coefficient)]
    width = known_shape(part.matrix)[-1]
    entries = (np.arange(size) if part.columns is None else part.columns) + start
    matrix = part.matrix if part.matrix.ndim == 2 else part.matrix.reshape((n, width))
    return [
        Piece(tt.broadcast_to(p.data, (n, width)), entries, _factor(p.number, part.factor, width))
        for p in _apart(matrix)
    ]


def _factor(number: Tensor, more: Tensor | None, width: int) -> Tensor | None:
    """Factors of columns; None for ones."""
    if number is ONE:
        return more
    flat = tt.broadcast_to(number.reshape((-1,)), (width,))
    return flat if more is None else flat * more


def _apart(matrix: Tensor) -> list[Product]:
    """A matrix as a sum of data times rows of parameters, one for each column; as itself where it is none."""

    def plain(e: Any) -> list[Product] | None:
        if is_data(e):
            return [Product(ONE, e)]
        return [Product(e, ONE)] if None not in e.type.shape and prod(e.type.shape[:-1]) == 1 else None

    try:
        return Products(plain, LIMITS.terms_of_a_coefficient).of(matrix)
    except NoProducts:
        return [Product(ONE, matrix)]


def _side_by_side(pieces: Sequence[Piece], n: int, ndense: int) -> tuple[Tensor, Tensor | None]:
    """The columns in the order of v, with their factors, where each entry has at most one; else all of them, with T."""
    at = np.concatenate([piece.entries for piece in pieces])
    ones = lambda piece: tt.ones((len(piece.entries),)) if piece.factor is None else piece.factor
    x = tt.concatenate([piece.data for piece in pieces], axis=1) if len(pieces) > 1 else pieces[0].data
    factor = tt.concatenate([ones(piece) for piece in pieces], axis=0) if len(pieces) > 1 else ones(pieces[0])
    plain = all(piece.factor is None for piece in pieces)
    if len(np.unique(at)) < len(at):
        return x, tt.expand_dims(factor, 1) * as_tensor((at[:, None] == np.arange(ndense)).astype(float))
    if np.array_equal(at, np.arange(ndense)):
        return x, None if plain else factor
    missing = np.setdiff1d(np.arange(ndense), at)
    order = np.argsort(np.concatenate([at, missing]))
    if missing.size:
        x = tt.concatenate([x, tt.zeros((n, missing.size))], axis=1)
        factor = tt.concatenate([factor, tt.ones((missing.size,))], axis=0)
    return x[:, order], None if plain else factor[order]


def _added(pieces: Sequence[Piece]) -> list[Piece]:
    """Pieces of the same entries with the same factor as one."""
    found: dict[tuple[bytes, Tensor | None], Piece] = {}
    for piece in pieces:
        key = piece.entries.tobytes(), piece.factor
        found[key] = piece._replace(data=found[key].data + piece.data) if key in found else piece
    return list(found.values())


def _others(e: Tensor, n: int) -> Affine | None:
    """What rows are to explain as an affine map, with data for coefficients, of few other numbers of the model."""
    try:
        found = affine_in_atoms(tt.broadcast_to(e, (n,)))
    except NotAffine:
        return None
    columns = sum(prod(known_shape(part.variable)) for part in found.parts)
    coefficients = [part.coefficient if isinstance(part, Select) else part.design for part in found.parts]
    return found if 2 * columns <= n and all(map(is_data, [found.offset, *coefficients])) else None
