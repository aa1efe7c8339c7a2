r"""Data compaction: the same log-density from sufficient statistics, or from distinct rows with counts.

Rows of an observed vector whose parameters are the same for all values of the random variables make up a *cell*: they
share every index and every covariate. For an exponential family only sums over the rows of a cell matter,

.. math:: \sum_i \log p(y_i \mid θ) = \sum_c \big[ η_c \cdot T_c - n_c A(η_c) \big] + \sum_i \log h(y_i),

for any other family equal rows are counted; of absolute distances from one number two running totals of the sorted rows
matter. Sums are taken once for all evaluations, so that the cost of a gradient
depends on the number of cells and not on that of rows. Normal data are measured from the mean of their cell, so nothing
is lost when they lie far from zero.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import MvNormal, Normal
from ppl.distributions.declaration.parametrized import FORMS
from ppl.distributions.declaration.rows import NotSummed
from ppl.distributions.declaration.rows import Rows as SummedRows
from ppl.graph.records import record
from ppl.rewrites.books.simplify import simplify_given_draws
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_data, known_shape
from ppl.rewrites.marginalization.expressions.positive import known_positive, unproved
from ppl.rewrites.marginalization.expressions.products import Product
from ppl.rewrites.marginalization.gaussian.spectrum import compact_spectral
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Term, where_valid, written_by_user
from ppl.rewrites.sufficient_statistics.bounded import bounded
from ppl.rewrites.sufficient_statistics.distinct_rows import Rows, cells, in_one_axis, looks
from ppl.rewrites.sufficient_statistics.linear_regression import compact_linear
from ppl.tensor.tensor import Tensor, as_tensor


def compact(observation: Observation) -> tuple[Term, str]:
    """An observed vector by statistics or by counted rows; raises `NoMatch` where that does not pay."""
    variable, value = observation.variable, observation.value
    if None in variable.type.shape:
        raise NoMatch("how many there are is only known when the program runs")
    if not is_data(value) or observation.rows is not None:
        raise NoMatch("which rows count, or their values, are not data")
    if variable.family is MvNormal and variable.ndim == 1:
        return compact_spectral(observation)
    if written_by_user(observation):
        return _counted_as_written(variable, value)
    observation = in_one_axis(observation)
    variable, value = observation.variable, observation.value
    count = known_shape(variable)[0] if variable.ndim > variable.event_ndim else 1
    if count < LIMITS.least_rows:
        raise NoMatch(f"{count} rows are few")
    with contextlib.suppress(NoMatch):  # some rows may be alike still
        return bounded(observation, compact)
    family = variable.family
    given = looks(variable, count)
    columns: list[np.ndarray] = []
    for look, parameter in given:
        look.key(parameter, columns)
    at = lambda some: tuple(look.at(p, some) for look, p in given)
    if family.logp_of_rows or is_exponential(variable):
        try:
            first, cell = cells(columns, count)
        except NoMatch as why:
            if family is Normal:
                return compact_linear(observation)
            if not is_exponential(variable) or any(look.own for look, _ in given):
                raise
            try:
                return _separated(variable, value, count)
            except NoMatch:
                raise why from None
        rows = SummedRows(value, cell, first, data_value)
        if family.logp_of_rows:
            density = _by_own_sums(variable, at(first), rows)
        else:
            density = _exponential(variable, at(first), rows)
        density = where_valid(density, unproved(family, at(first)))
        return Term(
            f"statistics of {variable.name}", density, "rows"
        ), f"{count} rows in {len(first)} distinct groups, by their sufficient statistics"
    if family.logp_of_distances and not columns:
        shared = [p.reshape(()) for p in at(np.zeros(1, dtype=int))]
        place = list(family.params).index(family.location_parameter)
        below, above = _distances(tt.cast(as_tensor(value), "floatX"), shared[place])
        density = family.logp_of_distances(below, above, count, *shared)
        density = where_valid(density, unproved(family, shared))
        return Term(
            f"sorted rows of {variable.name}", density, "rows"
        ), f"{count} rows, sorted, by their running totals"
    columns.append(np.asarray(data_value(value), dtype=np.float64).reshape(count, -1))
    first, cell = cells(columns, count)
    return _counted(variable, family.log_density(value[first], *at(first)), first, cell)


def _counted_as_written(variable: Any, value: Any) -> tuple[Term, str]:
    """Counted rows of a density that a user wrote: it may join them, in a sum or by a mean, so it is read itself."""
    density = variable.family.log_density(value, *variable.parameters)
    count = known_shape(variable)[0] if variable.ndim else 1
    if count < LIMITS.least_rows:
        raise NoMatch(f"{count} rows are few")
    if variable.ndim != 1 or density.type.shape != (count,):
        raise NoMatch("its log-density is not one number for each row")
    rows, columns = Rows(count), []  # type: tuple[Rows, list[np.ndarray]]
    rows.key(density, columns)
    first, cell = cells(columns, count)
    return _counted(variable, rows.at(density, first), first, cell)


def _counted(variable: Any, densities: Tensor, first: np.ndarray, cell: np.ndarray) -> tuple[Term, str]:
    """The log-densities of distinct rows, each as often as its row is there."""
    counts = np.bincount(cell, minlength=len(first)).astype(float)
    words = f"{len(cell)} rows, {len(first)} of them distinct, counted"
    return Term(f"counts of {variable.name}", tt.sum(as_tensor(counts) * densities), "rows"), words


def is_exponential(variable: Any) -> bool:
    """Whether the family is exponential in the parameters that are not data."""
    family = variable.family
    if not (family.natural and family.statistics and family.log_normalizer):
        return False
    free = [name for name, p in zip(family.params, variable.parameters, strict=True) if not is_data(p)]
    return not set(free) & set(family.fixed)


def _by_own_sums(variable: Any, parameters: tuple[Tensor, ...], rows: SummedRows) -> Tensor:
    """By what the family declares."""
    for name, p in zip(variable.family.params, variable.parameters, strict=True):
        if name in variable.family.fixed and not is_data(p):
            raise NoMatch(f"{name} is not data")
    try:
        return variable.family.logp_of_rows(rows, *parameters)
    except NotSummed as why:
        raise NoMatch(str(why)) from why


def _exponential(variable: Any, parameters: tuple[Tensor, ...], rows: SummedRows) -> Tensor:
    """Any exponential family, from its natural parameters, statistics and log-normalizer; the base measure is what is
    left of the density at any one value of the parameters."""
    family, y = variable.family, rows.values
    if y.ndim == 1 and any(map(may_be_at_an_end, family.params.values(), parameters)):
        return _exponential_or_sure(variable, parameters, rows)
    return tt.sum(_of_statistics(family, parameters, rows)) + _base_measure(variable, y, rows.count)


def _of_statistics(family: Any, parameters: tuple[Tensor, ...], rows: SummedRows) -> Tensor:
    """The log-density of each cell without its base measure."""
    density = -rows.counts * family.log_normalizer(*parameters)
    for w, t in zip(family.natural(*parameters), family.statistics(rows.values), strict=True):
        term = w * rows.sums(t)
        density = density + (term if term.ndim == 1 else tt.sum(term, axis=tuple(range(1, term.ndim))))
    return density


def may_be_at_an_end(declared: Any, parameter: Tensor) -> bool:
    """Whether a parameter may be at an end of its domain that belongs to it, where the law is a point: a mean of 0, as
    of rows without exposure. Probabilities that are written as functions of other numbers never get there."""
    domain = declared.domain
    ends = [end for end in (domain.lower, domain.upper) if isinstance(end, float) and domain.contains(end)]
    inner = parameter
    while inner.op.name in ("named", "broadcast_to", "getitem", "reshape"):
        inner = inner.inputs[0]  # type: ignore[assignment]
    if domain.ndim or not ends or inner.op.name == "draw" or inner.op in FORMS:
        return False
    if is_data(parameter):
        return bool(np.isin(data_value(parameter), ends).any())
    return ends != [0.0] or not known_positive(parameter)


def _exponential_or_sure(variable: Any, parameters: tuple[Tensor, ...], rows: SummedRows) -> Tensor:
    """The same where natural parameters may be infinite: the law of such a cell is a point, and the least and the
    greatest of its values say whether that is where all of them are."""
    family = variable.family
    finite = tt.isfinite(as_tensor(family.log_normalizer(*parameters)))
    for w in family.natural(*parameters):
        finite = finite & tt.isfinite(w)
    inside = [_example(declared.domain, p) for declared, p in zip(family.params.values(), parameters, strict=True)]
    safe = tuple(tt.switch(finite, p, other) for p, other in zip(parameters, inside, strict=True))
    values = np.asarray(data_value(rows.values))
    order = np.lexsort((values, rows.cell))
    starts = np.searchsorted(rows.cell[order], np.arange(rows.cells + 1))
    least, most = (values[order[at]] for at in (starts[:-1], starts[1:] - 1))
    surely = tt.minimum(*(family.log_density(as_tensor(v), *parameters) for v in (least, most)))
    base = base_of_rows(variable, rows.values, rows.count)
    return tt.sum(tt.switch(finite, _of_statistics(family, safe, rows) + rows.sums(base), rows.counts * surely))


def _separated(variable: Any, value: Tensor, count: int) -> tuple[Term, str]:
    """An exponential family whose parameters are products of data and of what the rows of a cell share."""
    family, parameters = variable.family, variable.parameters
    if unproved(family, parameters):
        raise NoMatch("its parameters are not known to lie in their domains")
    same = Rows(count)
    columns: list[np.ndarray] = []
    for p in parameters:
        same.indices(p, columns)
    first, cell = cells(columns, count)
    rows = SummedRows(value, cell, first, data_value)

    def products(e: Tensor) -> list[Product]:
        try:
            return same.products().of(e)
        except NotAffine as why:
            raise NoMatch(str(why)) from None

    def total(e: Tensor, times: Any) -> Tensor:
        found: Any = 0.0
        for p in products(simplify_given_draws(as_tensor(e))):
            found = found + tt.sum(same.at(p.number, first) * rows.sums(p.data * times))
        return as_tensor(found)

    density = _base_measure(variable, value, count) - total(family.log_normalizer(*parameters), 1.0)
    for w, t in zip(family.natural(*parameters), family.statistics(value), strict=True):
        density = density + total(w, t)
    what = f"{count} rows in {len(first)} distinct groups, by sums of their data"
    return Term(f"statistics of {variable.name}", density, "rows"), what


def _base_measure(variable: Any, y: Tensor, count: int) -> Tensor:
    """The sum of log h(y): what is left of the density at any one value of the parameters."""
    return tt.sum(base_of_rows(variable, y, count))


def base_of_rows(variable: Any, y: Tensor, count: int) -> Tensor:
    """The same of each row."""
    family = variable.family
    reference = [
        p if is_data(p) else _example(declared.domain, p)
        for p, declared in zip(variable.parameters, family.params.values(), strict=True)
    ]
    base = tt.broadcast_to(as_tensor(family.log_normalizer(*reference)), (count,)) + family.stated_logp(y, *reference)
    for w, t in zip(family.natural(*reference), family.statistics(y), strict=True):
        term = as_tensor(w * t)
        base = base - (term if term.ndim < 2 else tt.sum(term, axis=tuple(range(1, term.ndim))))
    return base


def _example(domain: Any, parameter: Tensor) -> Tensor:
    """A point of the domain of a parameter: of a vector one of equal entries that add up to one."""
    if not domain.ndim:
        return as_tensor(domain.examples[0])
    (n,) = known_shape(parameter)[-1:]
    return as_tensor(np.full(n, 1.0 / n))


def _distances(y: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
    """How far rows are below a number and above it, added up: by running totals of the rows in order, from the middle
    one."""
    (n,) = known_shape(y)
    order = tt.sort(y)
    d, at = order - order[n // 2], mu - order[n // 2]
    totals = tt.concatenate([np.zeros(1), tt.cumsum(d)])
    k = tt.searchsorted(d, at)
    below, above = tt.cast(k, "floatX"), tt.cast(n - k, "floatX")
    return below * at - totals[k], totals[n] - totals[k] - above * at


@record
class Compacted:
    """A program with statistics in place of rows; what was done, and why other rows stay, by variable."""

    program: Program
    done: tuple[tuple[str, str], ...]
    declined: tuple[tuple[str, str], ...]


def compact_all(program: Program) -> Compacted:
    """Every observed vector where it pays. That few rows stay needs no reason."""
    done, declined = [], []
    for observation in program.observed:
        name = observation.variable.name or ""
        try:
            term, what = compact(observation)
        except NoMatch as why:
            if _many(observation.variable):
                declined.append((name, str(why)))
            continue
        program = replace(
            program, observed=tuple(o for o in program.observed if o is not observation), terms=(*program.terms, term)
        )
        done.append((name, what))
    return Compacted(program, tuple(done), tuple(declined))


def _many(variable: Any) -> bool:
    shape = variable.type.shape[: variable.ndim - variable.event_ndim]
    return None in shape or prod(shape) >= LIMITS.least_rows
