r"""What is kept of rows that are read once: sufficient statistics, taken block by block.

Normal rows about a linear predictor, y = Dθ + σε, are kept as the triangular factor R of [D y]: Σ (yᵢ - Dᵢθ)² is
‖r - Tθ‖² with the columns T and r of R, so that its few rows stand for all, but for how often log σ counts. Factors of
blocks are joined two by two, in an order that the numbers of the blocks alone decide; X'X, whose condition number is
the square of that of X, is never made. Rows of an exponential family are kept as counts and sums by equal parameters,
others as counts of equal rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Normal, RandomVariable
from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.maps import written_out
from ppl.rewrites.marginalization.expressions.positive import unproved
from ppl.rewrites.marginalization.program import NoMatch, where_valid
from ppl.rewrites.sufficient_statistics.compaction import base_of_rows, is_exponential, may_be_at_an_end
from ppl.rewrites.sufficient_statistics.linear_regression import form_of, scale_of
from ppl.sources.source_rows import SourceRows
from ppl.tensor.tensor import Tensor, as_tensor

Blocks = Iterator[Mapping[str, np.ndarray]]


class Kept(NamedTuple):
    """What stands for the rows: a variable with its values, where rows of the same family do, and a term beside it."""

    rows: tuple[Tensor, np.ndarray] | None
    term: Tensor
    count: int
    words: str


class RefusedError(ValueError):
    """Rows that have no statistics of a size that could be kept."""


def statistics_of(variable: RandomVariable, value: Tensor, source: SourceRows, bar: Any) -> Kept:
    """Read the rows of a variable and keep what its density needs; raises `RefusedError` with the reason."""
    own = source.names_of(ancestors([variable, value]))
    if variable.family is Normal:
        return _linear(variable, value, source, own, bar)
    blocks = source.blocks(list(own), bar)
    if is_exponential(variable) and variable.event_ndim == 0 and not _at_ends(variable):
        columns = list(source.names_of(ancestors(list(variable.parameters))))
        return _by_cells(variable, value, blocks, own, columns)
    return _by_counts(variable, value, blocks, own)


def _at_ends(variable: Any) -> bool:
    """Whether a parameter may be at an end of its domain that belongs to it, where the law is a point."""
    return any(map(may_be_at_an_end, variable.family.params.values(), variable.parameters))


def _at(nodes: Sequence[Any], own: Mapping[str, Tensor], block: Mapping[str, np.ndarray]) -> list[Any]:
    """Expressions for the rows of a block."""
    return substitute(list(nodes), {node: as_tensor(block[name]) for name, node in own.items()})  # type: ignore[return-value]


# Normal rows


class Triangle:
    """The triangular factor of rows that come in blocks. Two factors are joined where they stand for as many blocks, as
    bits are carried when one counts: the tree is the same however the blocks come in, and rounding grows with its
    height."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, np.ndarray]] = []

    def add(self, rows: np.ndarray) -> None:
        height, factor = 0, np.linalg.qr(rows, mode="r")
        while self._waiting and self._waiting[-1][0] == height:
            factor = np.linalg.qr(np.concatenate([self._waiting.pop()[1], factor]), mode="r")
            height += 1
        self._waiting.append((height, factor))

    def factor(self) -> np.ndarray:
        """That of all rows."""
        factors = [factor for _, factor in reversed(self._waiting)]
        found = factors[0]
        for factor in factors[1:]:
            found = np.linalg.qr(np.concatenate([factor, found]), mode="r")
        return found


def _linear(variable: Any, value: Tensor, source: SourceRows, own: Mapping[str, Tensor], bar: Any) -> Kept:
    triangle, count, logs = Triangle(), 0, 0.0
    atoms: list[Tensor] = []
    scale: Tensor | None = None
    for block in source.blocks(list(own), bar):
        n = len(next(iter(block.values())))
        mu, sigma, y = _at([*variable.parameters, value], own, block)
        try:
            scale, weights = scale_of(sigma)
            form = form_of(mu, (n,))
        except (NoMatch, NotAffine) as why:
            raise RefusedError(f"{why}, so that there is no triangular factor that all rows could be kept in") from None
        atoms, before = [part.variable for part in form.parts], atoms
        if not ancestors(atoms).isdisjoint(as_tensor(column) for column in block.values()) or (
            before and atoms != before
        ):
            raise RefusedError("its mean is not linear in what all rows share, so that there is no triangular factor")
        columns = sum(prod(known_shape(atom)) for atom in atoms)
        if columns > LIMITS.dense_columns:
            most = LIMITS.dense_columns
            raise RefusedError(f"its predictor has {columns} columns, and {most} are written out at most")
        parts = [np.asarray(data_value(written_out(part, n)), float) for part in form.parts]
        explained = np.asarray(data_value(tt.cast(y, "float64") - form.offset), float)
        table = np.concatenate([*parts, np.broadcast_to(explained, (n,))[:, None]], axis=1)
        if weights is not None:
            given = np.broadcast_to(data_value(weights), (n,))
            table, logs = table / given[:, None], logs + float(np.log(given).sum())
        if not np.isfinite(table).all():
            raise RefusedError(f"a value of {_names_of_wrong(block)} is not finite in rows {count:,} to {count + n:,}")
        triangle.add(table)
        count += n
    if not count or scale is None:
        raise RefusedError("there are no rows")
    factor = triangle.factor()
    # Rows of zeros say nothing. With as many as these a Gaussian block measures its rows from their least squares, as
    # it does with all of them, and in place of squares of large numbers those of small ones are added up.
    blank = np.zeros((LIMITS.few_rows + 4 * factor.shape[1], factor.shape[1]))
    factor = np.concatenate([factor, blank])
    mean, begin = as_tensor(np.zeros(len(factor))), 0
    for atom in atoms:
        size = prod(known_shape(atom))
        mean = mean + tt.matmul(as_tensor(factor[:, begin : begin + size]), atom.reshape((size,)))
        begin += size
    rows = draw(Normal, (mean, scale), (len(factor),), variable.name)
    term = as_tensor(float(len(factor) - count)) * (tt.log(scale) + 0.5 * LOG_2PI) - logs
    words = f"{count:,} rows of a linear predictor with {begin} columns, by the triangular factor of their design"
    return Kept((rows, factor[:, -1]), where_valid(term, [scale > 0]), count, words)


def _names_of_wrong(block: Mapping[str, np.ndarray]) -> str:
    wrong = [f'"{name}"' for name, values in block.items() if not np.isfinite(values).all()]
    return ", ".join(wrong) or "the predictor"


# Rows with the same parameters, and equal rows


def _refuse_outside(variable: Any, parameters: Sequence[Tensor], y: Tensor) -> None:
    """Raise where values cannot come from the family."""
    values = np.asarray(data_value(y))
    inside = variable.family.support_for(tuple(parameters)).contains(values)
    if isinstance(inside, Tensor):
        inside = data_value(inside) if is_data(inside) else True
    wrong = values[~np.broadcast_to(np.isfinite(values) & inside, values.shape)]
    if wrong.size:
        raise RefusedError(f"{wrong.size:,} values, as {wrong.ravel()[0]!s}, are outside the support of the family")


class Patterns:
    """Distinct rows of some columns, and sums by them of what each row has."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.table = np.empty((0, len(self.names)))
        self.sums: list[np.ndarray] = []
        self.rows = 0

    def add(self, block: Mapping[str, np.ndarray], values: Sequence[np.ndarray]) -> None:
        n = len(next(iter(block.values())))
        own = (
            np.stack([np.asarray(block[name], float) for name in self.names], axis=1)
            if self.names
            else np.empty((n, 0))
        )
        cells, inverse = _distinct(own)
        table, place = _distinct(np.concatenate([self.table, cells]))
        known = place[: len(self.table)]
        sums = [_by_cell(v, inverse, len(cells)) for v in values]
        if not self.sums:
            self.sums = [np.zeros((0, *s.shape[1:])) for s in sums]
        joined = []
        for before, fresh in zip(self.sums, sums, strict=True):
            total = np.zeros((len(table), *fresh.shape[1:]))
            total[known] += before
            total[place[len(self.table) :]] += fresh
            joined.append(total)
        self.table, self.sums, self.rows = table, joined, self.rows + n
        most = LIMITS.patterns_of_a_source
        if len(table) > most or (len(table) * LIMITS.rows_a_cell > self.rows > LIMITS.rows_looked_at_first):
            raise RefusedError(f"{len(table):,} of the first {self.rows:,} rows differ")

    def given(self, own: Mapping[str, Tensor]) -> dict[Node, Any]:
        """The columns at the distinct rows."""
        return {
            own[name]: tt.cast(as_tensor(column), own[name].dtype)
            for name, column in zip(self.names, self.table.T, strict=True)
        }


def _distinct(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not table.shape[1]:
        return table[:1], np.zeros(len(table), int)
    found, inverse = np.unique(table + 0.0, axis=0, return_inverse=True)
    return found, inverse.reshape(-1)


def _by_cell(values: np.ndarray, cell: np.ndarray, cells: int) -> np.ndarray:
    """Sums by cell, none of which is empty."""
    order = np.argsort(cell, kind="stable")
    return np.add.reduceat(values[order], np.searchsorted(cell[order], np.arange(cells)), axis=0)


def _by_cells(variable: Any, value: Tensor, blocks: Blocks, own: Mapping[str, Tensor], columns: Sequence[str]) -> Kept:
    """An exponential family: counts and sums of its statistics by rows with the same parameters."""
    family, patterns, base = variable.family, Patterns(columns), []
    for block in blocks:
        n = len(next(iter(block.values())))
        *parameters, y = _at([*variable.parameters, value], own, block)
        _refuse_outside(variable, parameters, y)
        here = draw(family, tuple(parameters), (n,), variable.name)
        measure = np.broadcast_to(np.asarray(data_value(base_of_rows(here, y, n)), float), (n,))
        base.append(float(measure.sum()))
        numbers = [np.asarray(data_value(t), float) for t in family.statistics(y)]
        patterns.add(block, [np.ones(n), *[np.broadcast_to(t, (n, *t.shape[1:])) for t in numbers]])
    counts, *sums = patterns.sums
    parameters = substitute(list(variable.parameters), patterns.given(own))
    density = -as_tensor(counts) * family.log_normalizer(*parameters)
    for w, t in zip(family.natural(*parameters), sums, strict=True):
        density = density + w * as_tensor(t)
    total = where_valid(tt.sum(density) + math.fsum(base), unproved(family, parameters))
    words = f"{patterns.rows:,} rows in {len(counts):,} distinct groups, by their sufficient statistics"
    return Kept(None, total, patterns.rows, words)


def _by_counts(variable: Any, value: Tensor, blocks: Blocks, own: Mapping[str, Tensor]) -> Kept:
    """Any family: equal rows are counted."""
    patterns = Patterns(list(own))
    for block in blocks:
        *parameters, y = _at([*variable.parameters, value], own, block)
        _refuse_outside(variable, parameters, y)
        patterns.add(block, [np.ones(len(next(iter(block.values()))))])
    *parameters, y = substitute([*variable.parameters, value], patterns.given(own))
    terms = tt.as_tensor(patterns.sums[0]) * variable.family.log_density(y, *parameters)
    words = f"{patterns.rows:,} rows, {len(patterns.table):,} of them distinct, counted"
    return Kept(None, tt.sum(terms), patterns.rows, words)
