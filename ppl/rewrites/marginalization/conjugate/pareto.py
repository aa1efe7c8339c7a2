r"""Pareto bounds of uniform rows, integrated out: of n_j rows below θ_j the largest says all.

.. math:: θ_j \sim \mathrm{Pareto}(α, m),\; y_i \sim U(0, θ_{g(i)}) \;\Rightarrow\;
          \log p(y) = \sum_j \big[ \log α + α \log m - \log(α + n_j) - (α + n_j) \log M_j \big],
          \qquad M_j = \max(m, \max_{g(i) = j} y_i),

and θ_j comes back from Pareto(α + n_j, M_j).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Pareto, RandomVariable, Uniform
from ppl.distributions.draws.draw import draw
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.expressions.data import NotAffine, data_value, is_always, is_data, known_shape
from ppl.rewrites.marginalization.expressions.picks import picks
from ppl.rewrites.marginalization.expressions.positive import unproved
from ppl.rewrites.marginalization.program import (
    NoMatch,
    Observation,
    Program,
    Recovery,
    Term,
    children,
    in_the_way,
    where_valid,
)
from ppl.rewrites.marginalization.theorem import Match, Theorem
from ppl.rewrites.marginalization.words import CONJUGATE
from ppl.tensor.tensor import as_tensor


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A Pareto variable with its rows; raises `NoMatch` where it is no bound of uniform rows."""
    if None in variable.type.shape:
        raise NoMatch("its shape is only known when the program runs")
    shape = known_shape(variable)
    factors = children(program, variable)
    rows, largest = np.zeros(prod(shape)), np.full(prod(shape), -np.inf)
    for factor in factors:
        positions, y = _below(variable, factor)
        np.add.at(rows, positions, 1.0)
        np.maximum.at(largest, positions, y)
    alpha, m = (tt.broadcast_to(p, shape) for p in variable.parameters)
    shapes, bounds = alpha + rows.reshape(shape), tt.maximum(m, as_tensor(largest.reshape(shape)))
    density = tt.sum(tt.log(alpha) + alpha * tt.log(m) - tt.log(shapes) - shapes * tt.log(bounds))
    name = variable.name or ""
    term = Term(f"marginal of {name}", where_valid(density, unproved(Pareto, variable.parameters)), without=(name,))
    recovery = Recovery(variable, draw(Pareto, (shapes, bounds), shape))
    return Match((variable,), tuple(factors), (), (term,), (recovery,))


def _below(variable: RandomVariable, factor: Any) -> tuple[np.ndarray, np.ndarray]:
    """The entry that bounds each row of a child, and the rows."""
    if not isinstance(factor, Observation):
        raise NoMatch(in_the_way(factor))
    child, label = factor.variable, f'"{factor.variable.name}"'
    if child.family is not Uniform or factor.rows is not None or not is_data(factor.value):
        raise NoMatch(f"{label} is {child.family.__name__}, which is not conjugate to Pareto")
    lower, upper = child.parameters
    shape = known_shape(child)
    if not is_always(lower, 0.0):
        raise NoMatch(f"{label} does not begin at 0")
    try:
        found = picks(upper, variable, shape)
    except NotAffine as why:
        raise NoMatch(f"the upper end of {label} is not an entry of it: {why}") from why
    if not found.are(1.0, 0.0):
        raise NoMatch(f"the upper end of {label} is not an entry of it")
    y = np.asarray(data_value(factor.value), dtype=float)
    if np.any(y < 0):
        raise NoMatch(f"{label} has values below 0")
    return found.positions.ravel(), y.ravel()


def _examples() -> list[Program]:
    return [example(latent(Pareto), lambda x: Uniform.dist(0.0, x[np.array([0, 2, 2])], name="y"))]


THEOREM = Theorem(
    "bound of uniform rows", integrated_out, lambda rv: rv.family is Pareto, rule=CONJUGATE, examples=_examples
)
