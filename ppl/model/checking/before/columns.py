"""Columns of covariates that are huge, tiny, or nearly the same as others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import Node, ancestors
from ppl.model.checking.findings import Finding, listed, quoted
from ppl.model.checking.survey import Survey, constant_of
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.tensor.linalg import MATMUL
from ppl.tensor.variables import Variable

KINDS = ("column scale", "collinear columns")

HUGE, TINY, NEARLY = 1e3, 1e-3, 0.999
OFF_CENTER = 100.0  # standard deviations that a column is away from zero
OUTRIGHT = 1 - 1e-12
FEWEST_ROWS, MOST_COLUMNS, MOST_TOLD = 4, 200, 3


class Covariates(NamedTuple):
    """Columns of data, and the variables that they are multiplied by."""

    name: str  # of the data; empty where they have none
    columns: np.ndarray  # (rows, columns)
    coefficients: tuple[RandomVariable, ...]
    matrix: bool  # whether they are the columns of one array

    def at(self, place: int) -> str:
        """A column, as a sentence begins with it."""
        by = f' (of "{self.coefficients[0].name}")'
        return (
            f"Column {place} of {self.name or 'the data'}{by}" if self.matrix else f"{self.name or 'The covariate'}{by}"
        )

    def called(self, places: list[int]) -> str:
        """The columns at some places, as in a sentence."""
        of = f'"{self.name}"' if self.name else "the data"
        if not self.matrix:
            return of if self.name else "the covariate"
        return f"column{'s' * (len(places) > 1)} {listed(places)} of {of}"


def find(survey: Survey) -> Iterator[Finding]:
    """Covariates whose size is far from 1 or that are far from zero, and pairs that nearly agree."""
    found = list(covariates(survey))
    for each in found:
        yield from _size(survey, each)
    yield from _alike(found)


def _size(survey: Survey, each: Covariates) -> Iterator[Finding]:
    names = tuple(rv.name or "" for rv in each.coefficients)
    by = f'that "{names[0]}" multiplies'
    spread, middle = np.std(each.columns, axis=0), np.mean(each.columns, axis=0)
    for far, word in ((spread > HUGE, "huge"), ((spread < TINY) & (spread > 0), "tiny")):
        places = [int(i) for i in np.flatnonzero(far)]
        if places and not _prior_fits(survey, each, spread[far]):
            yield Finding(
                "column scale", names, "note",
                f"The values of {each.called(places)}, {by}, are {word}: their standard deviation is "
                f"{spread[far][0]:.2g}, so that a coefficient of usual size means an effect of unusual size.",
                f'Divide {each.called(places)} by its standard deviation, and choose the prior of "{names[0]}" for '
                "an effect of one standard deviation.",
            )  # fmt: skip
    away = [int(i) for i in np.flatnonzero((np.abs(middle) > OFF_CENTER * spread) & (spread > 0))]
    if away:
        yield Finding(
            "column scale", names, "note",
            f"The values of {each.called(away)}, {by}, lie about {middle[away[0]]:.4g} with a standard deviation of "
            f'{spread[away[0]]:.2g}: "{names[0]}" and the intercept are correlated strongly, and the prior of the '
            "intercept is about a place far from all data.",
            f"Subtract the mean from {each.called(away)}.",
        )  # fmt: skip


def _prior_fits(survey: Survey, covariates: Covariates, spread: np.ndarray) -> bool:
    """Whether the prior of the coefficients makes up for the size of the columns."""
    for rv in covariates.coefficients:
        scale = (survey.constants(rv) or {}).get("sigma")
        if scale is not None and np.all((np.max(scale) * spread < HUGE) & (np.max(scale) * spread > TINY)):
            return True
    return False


def _alike(found: list[Covariates]) -> Iterator[Finding]:
    """Pairs of columns whose correlation is nearly 1; those that are collinear outright are told of elsewhere."""
    for rows in {len(each.columns) for each in found}:
        places = [(each, i) for each in found if len(each.columns) == rows for i in range(each.columns.shape[1])]
        table = np.column_stack([each.columns[:, i] for each, i in places])
        varying = np.flatnonzero(np.std(table, axis=0) > 0)
        if len(varying) < 2 or rows < FEWEST_ROWS or len(varying) > MOST_COLUMNS:
            continue
        correlations = np.corrcoef(table[:, varying].T)
        alike = np.triu((np.abs(correlations) > NEARLY) & (np.abs(correlations) < OUTRIGHT), 1)
        for a, b in np.argwhere(alike)[:MOST_TOLD]:
            (one, i), (other, j) = places[varying[a]], places[varying[b]]
            names = tuple(dict.fromkeys(rv.name or "" for each in (one, other) for rv in each.coefficients))
            yield Finding(
                "collinear columns", names, "note",
                f"{one.at(i)} and {other.at(j)} nearly agree (correlation {correlations[a, b]:.5f}), so that the "
                f"coefficients in {quoted(names)} are strongly correlated.",
                f"Leave one of them out, or take their mean and their difference as the columns of {quoted(names)}.",
            )  # fmt: skip


def covariates(survey: Survey) -> Iterator[Covariates]:
    """Matrices of data times vectors, and vectors of data times numbers."""
    for node in sorted(ancestors(survey.ends), key=lambda node: node.serial):
        if node.op is MATMUL and node.inputs[0].type.ndim == 2 and is_data(node.inputs[0]):
            data, other = node.inputs
        elif node.op.name == "multiply" and node.type.ndim == 1:
            data, other = node.inputs if is_data(node.inputs[0]) else node.inputs[::-1]
            if data.type.ndim != 1 or (other.type.ndim and other.type.shape != (1,)):
                continue
        else:
            continue
        coefficients = () if is_data(other) else survey.parents(other)
        value = constant_of(data) if coefficients else None
        if value is not None and value.dtype.kind in "fiu" and len(value) >= 2 and np.isfinite(value).all():
            columns = value.astype(float).reshape(len(value), -1)
            yield Covariates(_name(data), columns, tuple(coefficients), value.ndim == 2)


def _name(data: Node) -> str:
    named = [node for node in ancestors([data]) if isinstance(node, Variable) and node.name]
    return (named[0].name or "") if len(named) == 1 else ""
