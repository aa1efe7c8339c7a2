"""The information of rows whose law or predictor no formula is known for: by second differences of their log-densities,
at some points around the start.

A potential is the sum of its rows, as mixtures are that a user summed out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import ancestors
from ppl.rewrites.factorization.supports import Sites
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.rewrites.marginalization.expressions.summands import summands
from ppl.rewrites.marginalization.program import Factor, NoMatch, Observation, Program, Term
from ppl.rewrites.marginalization.starts import around_start
from ppl.rewrites.values.folding import on_host
from ppl.tensor.tensor import Tensor

STEP = 1e-3


def curvature(program: Program, factor: Factor, rv: Tensor, width: int) -> np.ndarray:
    """The information matrix of each vector of that width; raises `NoMatch` where it cannot be told."""
    total = np.zeros((int(np.prod(known_shape(rv))) // width, width, width))
    for rows in _rows(factor):
        if rv in ancestors(rows):
            total += _of_rows(program, rows, rv, width)
    values, axes = np.linalg.eigh(0.5 * (total + total.swapaxes(-1, -2)))
    return (axes * np.maximum(values, 0.0)[..., None, :]) @ axes.swapaxes(-1, -2)


def vector_of_each_row(line: Tensor, rv: Tensor, width: int) -> np.ndarray:
    """Which vector of that width each row depends on; raises `NoMatch` where it depends on several."""
    if None in line.type.shape or np.prod(known_shape(line)) > LIMITS.entries_of_differences:
        raise NoMatch("its rows are not known, or too many to look at")
    sites = Sites([rv]).support(line)
    if sites is None:
        raise NoMatch("no row depends on it")
    vectors = np.where(sites < 0, sites.max(axis=-1, keepdims=True), sites) // width
    if (vectors != vectors[..., :1]).any():
        raise NoMatch("a row depends on entries of several vectors")
    return np.maximum(vectors[..., 0].ravel(), 0)


def steps(rv: Tensor, width: int, length: float) -> list[np.ndarray]:
    """A step along each entry of all vectors at once."""
    shape = known_shape(rv)
    flat = np.tile(length * np.eye(width), int(np.prod(shape)) // width)
    return [row.reshape(shape) for row in flat]


def _rows(factor: Factor) -> list[Tensor]:
    if isinstance(factor, Observation):
        law = factor.variable
        if factor.rows is not None:
            raise NoMatch("some of its rows do not count")
        return [law.family.log_density(factor.value, *law.parameters, checked=False)]
    if not isinstance(factor, Term):
        raise NoMatch("it is a variable")
    return [weight * x for x, weight in summands([factor.density], ())]


def _of_rows(program: Program, rows: Tensor, rv: Tensor, width: int) -> np.ndarray:
    """For each vector the matrix of second differences, with its sign turned, averaged over points around the start."""
    vector, along = vector_of_each_row(rows, rv, width), steps(rv, width, STEP)
    total = np.zeros((int(np.prod(known_shape(rv))) // width, width, width))
    count = 0
    for count, values in enumerate(around_start(program, rows), start=1):  # noqa: B007

        def at(step: np.ndarray, values: Any = values) -> np.ndarray:
            found = on_host([rows], values | {rv: values[rv] + step}, programs=False)
            if found is None:
                raise NoMatch("it is not known before a program runs, or is not finite")
            return found[0].ravel()

        for k in range(width):
            for j in range(k + 1):
                a, b = along[k], along[j]
                bend = at(a + b) - at(a - b) - at(b - a) + at(-a - b)
                added = np.bincount(vector, -bend / (4.0 * STEP**2), len(total))
                total[:, k, j] += added
                if j < k:
                    total[:, j, k] += added
    if not count:
        raise NoMatch("it is not known where sampling starts")
    return total / count
