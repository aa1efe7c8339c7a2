r"""Data compaction: the same log-density from sufficient statistics, or from distinct rows with counts.

Rows of an observed vector whose parameters are the same for all values of the random variables make up a *cell*: they
share every index and every covariate. For an exponential family only sums over the rows of a cell matter,

.. math:: \sum_i \log p(y_i \mid θ) = \sum_c \big[ η_c \cdot T_c - n_c A(η_c) \big] + \sum_i \log h(y_i),

for any other family equal rows are counted. Sums are taken once for all evaluations, so that the cost of a gradient
depends on the number of cells and not on that of rows. Normal data are measured from the mean of their cell, so nothing
is lost when they lie far from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Normal
from ppl.distributions.constants import LOG_2PI
from ppl.graph import Node
from ppl.rewrites.elimination.affine import data_value, is_data
from ppl.rewrites.elimination.linear import compact_linear
from ppl.rewrites.elimination.program import NoMatch, Observation, Program, Term
from ppl.tensor.ops import Elementwise
from ppl.tensor.segments import segment_sum
from ppl.tensor.tensor import Tensor, as_tensor

LEAST_ROWS = 32  # fewer rows are not worth the statistics
LEAST_RATIO = 2.0  # rows a cell, on average
PROBE = 2000  # rows looked at first: where nearly all differ, the rest will


@dataclass(frozen=True)
class Rows:
    """The rows of a vector: what distinguishes them, and how an expression looks at some of them."""

    count: int

    def key(self, e: Any, into: list[np.ndarray]) -> None:
        """Collect the columns of numbers that an expression takes from each row."""
        if e.ndim == 0 or (e.type.shape[0] == 1 and self.count != 1):
            if e.ndim and not is_data(e) and e.ndim > 1:
                raise NoMatch("a parameter has more axes than rows")
            return
        if is_data(e):
            into.append(np.asarray(data_value(e)).reshape(self.count, -1))
            return
        if isinstance(e.op, Elementwise) or e.op.name in ("named", "squeeze", "expand_dims", "broadcast_to"):
            for i in e.inputs:
                self.key(i, into)
            return
        if e.op.name == "getitem" and e.attrs["plan"][0] == ("array",) and len(e.inputs) == 2 and is_data(e.inputs[1]):
            into.append(np.asarray(data_value(e.inputs[1])).reshape(self.count, -1))
            return
        if e.op.name == "matmul" and is_data(e.inputs[0]):
            into.append(np.asarray(data_value(e.inputs[0])).reshape(self.count, -1))
            return
        raise NoMatch(f"how {e.op.name} treats rows is not understood")

    def at(self, e: Any, rows: np.ndarray) -> Tensor:
        """The expression at some rows only."""
        if e.ndim == 0 or (e.type.shape[0] == 1 and self.count != 1):
            return e
        if is_data(e):
            return e[rows]
        name = e.op.name
        if name == "broadcast_to":
            inner = e.inputs[0]
            return inner if inner.ndim == 0 else self.at(inner, rows)
        if name == "getitem":
            index = np.asarray(data_value(e.inputs[1]))[rows]
            return Node(e.op, (e.inputs[0], as_tensor(index)), e.attrs)  # type: ignore[return-value]
        if name == "matmul":
            return tt.matmul(e.inputs[0][rows], e.inputs[1])
        inputs = tuple(self.at(i, rows) for i in e.inputs)
        return Node(e.op, inputs, e.attrs)  # type: ignore[return-value]


def cells(columns: list[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each cell one of its rows, and for each row its cell. Raises `NoMatch` where nearly all rows differ."""
    if not columns:
        return np.zeros(1, dtype=int), np.zeros(count, dtype=int)
    table = np.ascontiguousarray(np.concatenate([np.asarray(c, dtype=np.float64) for c in columns], axis=1) + 0.0)
    rows = table.view([("", table.dtype)] * table.shape[1]).ravel()
    probe = rows[:PROBE]
    if len(np.unique(probe)) > len(probe) / 1.2 and count > PROBE:
        raise NoMatch("nearly all rows differ")
    _, first, cell = np.unique(rows, return_index=True, return_inverse=True)
    if count < LEAST_RATIO * len(first):
        raise NoMatch(f"{count} rows fall into {len(first)} cells, which is not worth while")
    return first, cell.ravel()


def compact(observation: Observation) -> tuple[Term, str]:
    """An observed vector by statistics or by counted rows; raises `NoMatch` where that does not pay."""
    variable, value = observation.variable, observation.value
    if variable.event_ndim or variable.ndim != 1 or variable.type.shape[0] is None:
        raise NoMatch("only vectors of scalars are compacted")
    count = variable.type.shape[0]
    if count < LEAST_ROWS:
        raise NoMatch(f"{count} rows are few")
    if not is_data(value) or observation.rows is not None:
        raise NoMatch("which rows count, or their values, are not data")
    rows = Rows(count)
    columns: list[np.ndarray] = []
    for parameter in variable.parameters:
        rows.key(parameter, columns)
    family = variable.family
    if family.__name__ in STATISTICS or _is_exponential(variable):
        try:
            first, cell = cells(columns, count)
        except NoMatch:
            if family is not Normal:
                raise
            return compact_linear(observation)
        parameters = tuple(rows.at(p, first) for p in variable.parameters)
        sums = _Sums(cell, first)
        density = STATISTICS.get(family.__name__, _exponential)(variable, value, parameters, sums)
        return Term(
            f"statistics of {variable.name}", density
        ), f"{count} rows in {len(first)} cells, by sufficient statistics"
    columns.append(np.asarray(data_value(value), dtype=np.float64).reshape(count, 1))
    first, cell = cells(columns, count)
    parameters = tuple(rows.at(p, first) for p in variable.parameters)
    counts = np.bincount(cell, minlength=len(first)).astype(float)
    density = tt.sum(as_tensor(counts) * family.log_density(value[first], *parameters))
    return Term(f"counts of {variable.name}", density), f"{count} rows, {len(first)} of them distinct, counted"


def _is_exponential(variable: Any) -> bool:
    """Whether the family is exponential in the parameters that are not data."""
    family = variable.family
    if not (family.natural and family.statistics and family.log_normaliser):
        return False
    free = [name for name, p in zip(family.params, variable.parameters, strict=True) if not is_data(p)]
    return not set(free) & set(family.fixed)


class _Sums:
    """Sums of row values over cells; `first` is one row of each."""

    def __init__(self, cell: np.ndarray, first: np.ndarray) -> None:
        self.cell, self.first, self.cells = cell, first, len(first)
        cells = self.cells
        self.counts = as_tensor(np.bincount(cell, minlength=cells).astype(float))

    def __call__(self, x: Any) -> Tensor:
        x = tt.cast(as_tensor(x), "floatX")
        if x.ndim == 0:
            return self.counts * x
        return tt.sum(x).reshape((1,)) if self.cells == 1 else segment_sum(x, self.cell, self.cells)


Statistics = Callable[[Any, Tensor, tuple[Tensor, ...], _Sums], Tensor]


def _normal(variable: Any, y: Tensor, parameters: tuple[Tensor, ...], sums: _Sums) -> Tensor:
    """n, the mean and the sum of squares about it; all measured from one value of the cell, since a mean far from zero
    has not the digits of its distance from mu."""
    mu, sigma = parameters
    n = sums.counts
    y = tt.cast(as_tensor(y), "floatX")
    nearby = y[sums.first]
    d = y - nearby[sums.cell]
    mean = sums(d) / n
    squares = sums((d - mean[sums.cell]) ** 2)
    off = nearby - mu
    squares = squares + n * mean**2 + n * off**2 + (2.0 * n * mean) * off
    return tt.sum(-n * tt.log(sigma) - 0.5 * squares / sigma**2) - 0.5 * len(sums.cell) * LOG_2PI


def _exponential(variable: Any, y: Tensor, parameters: tuple[Tensor, ...], sums: _Sums) -> Tensor:
    """Any exponential family, from its natural parameters, statistics and log-normaliser; the base measure is what is
    left of the density at any one value of the parameters."""
    family = variable.family
    reference = [
        p if is_data(p) else as_tensor(declared.domain.examples[0])
        for p, declared in zip(variable.parameters, family.params.values(), strict=True)
    ]
    weights = [w * sums(t) for w, t in zip(family.natural(*parameters), family.statistics(y), strict=True)]
    density = -sums.counts * family.log_normaliser(*parameters)
    for w in weights:
        density = density + w
    base = family.logp(y, *reference) + family.log_normaliser(*reference)
    for w, t in zip(family.natural(*reference), family.statistics(y), strict=True):
        base = base - w * t
    return tt.sum(density) + tt.sum(base)


STATISTICS: dict[str, Statistics] = {"Normal": _normal}


def compact_all(program: Program) -> tuple[Program, list[tuple[str, str]]]:
    """Every observed vector where it pays; and what was done, by variable."""
    done: list[tuple[str, str]] = []
    for observation in program.observed:
        try:
            term, what = compact(observation)
        except NoMatch:
            continue
        program = replace(
            program, observed=tuple(o for o in program.observed if o is not observation), terms=(*program.terms, term)
        )
        done.append((observation.variable.name or "", what))
    return program, done
