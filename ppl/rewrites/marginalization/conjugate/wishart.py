r"""Wishart precisions of normal vectors, integrated out.

With n rows about their means, R = Σ rr' and :math:`KK' = 1 + L'RL` for the prior's S = LL',

.. math:: V \sim \mathrm{Wishart}(ν, S),\; y_i \sim N(μ_i, V^{-1}) \;\Rightarrow\;
          \log p(y) = \log\frac{Γ_p(\tfrac{ν + n}2)}{Γ_p(\tfrac ν2)} - \tfrac{np}2 \log π + n \log\det L
          - (ν + n) \log\det K,

and V comes back from Wishart(ν + n, (S⁻¹ + R)⁻¹).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import MvNormal, RandomVariable, Wishart
from ppl.distributions.declaration.constants import LOG_PI
from ppl.distributions.draws.draw import draw
from ppl.distributions.families.wishart import log_multigamma
from ppl.graph import ancestors
from ppl.rewrites.marginalization.examples import example
from ppl.rewrites.marginalization.expressions.data import NotAffine, is_data, known_shape
from ppl.rewrites.marginalization.expressions.picks import picks
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
from ppl.tensor.tensor import Tensor, as_tensor


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A Wishart variable with its rows; raises `NoMatch` where it is no precision of normal rows."""
    if variable.ndim != 2 or None in variable.type.shape:
        raise NoMatch("it is more than one matrix, or of unknown size")
    factors = children(program, variable)
    found = [_deviations(variable, f) for f in factors]
    (nu, lower), p = variable.parameters, known_shape(variable)[-1]
    n = float(sum(count for count, _ in found))
    spread: Any = 0.0
    for _, rows in found:
        whitened = rows @ lower
        spread = spread + whitened.T @ whitened
    root = tt.cholesky(tt.eye(p) + spread)
    density = log_multigamma((nu + n) / 2, p) - log_multigamma(nu / 2, p) - 0.5 * n * p * LOG_PI
    density = density + n * _log_det(lower) - (nu + n) * _log_det(root)
    after = tt.solve_triangular(root, lower.T, lower=True, b_ndim=2)  # (S⁻¹ + R)⁻¹ is that times its transpose
    recovery = Recovery(variable, draw(Wishart, (nu + n, tt.cholesky(after.T @ after))))
    condition = variable.family.in_domains(variable.parameters)
    term = Term(
        f"marginal of {variable.name}",
        where_valid(density, [] if condition is None else [condition]),
        without=(variable.name or "",),
    )
    return Match((variable,), tuple(factors), (), (term,), (recovery,))


def _log_det(root: Tensor) -> Tensor:
    return tt.sum(tt.log(tt.diagonal(root)))


def _deviations(variable: RandomVariable, factor: Any) -> tuple[int, Tensor]:
    """How many rows a child has, and vectors r with their sum of rr': the rows less their means or, where these are
    all the same and the values data, the triangle of the rows about their own mean, and how far this is off."""
    if not isinstance(factor, Observation):
        raise NoMatch(in_the_way(factor))
    child, label = factor.variable, f'"{factor.variable.name}"'
    if child.family is not MvNormal or factor.rows is not None or None in child.type.shape:
        raise NoMatch(f"{label} is {child.family.__name__}, which is not conjugate to Wishart")
    mu, chol = child.parameters
    if variable in ancestors([mu, factor.value]):
        raise NoMatch(f"the mean of {label} depends on it")
    square = known_shape(variable)
    made_of = [m for m in ancestors(chol) if isinstance(m, Tensor) and m.type.shape == square and not is_data(m)]
    if not any(_is_it(m, variable) for m in made_of if _is_factor_of_inverse(chol, m)):
        raise NoMatch(f"it is not the precision (tau) of {label}")
    *batch, p = known_shape(child)
    count = prod(batch)
    if mu.ndim > 1 or not is_data(factor.value) or count <= p + 1:
        return count, tt.broadcast_to(factor.value - mu, (*batch, p)).reshape((count, p))
    value = tt.cast(factor.value, "floatX").reshape((count, p))
    near = value - value[:1]  # far from zero a mean has not the digits of its distance from the rows
    mean = tt.mean(near, axis=0)
    off = (value[0] - mu) + mean
    return count, tt.concatenate(
        [tt.qr(near - mean, "reduced")[1], float(np.sqrt(count)) * tt.expand_dims(off, 0)], axis=0
    )


def _is_factor_of_inverse(chol: Tensor, matrix: Tensor) -> bool:
    return chol is tt.cholesky_of_inverse(matrix) or chol is tt.cholesky_of(tt.inv(matrix))


def _is_it(matrix: Tensor, variable: RandomVariable) -> bool:
    """Whether a matrix is a symmetric variable, or its transpose, in some spelling."""
    shape = known_shape(variable)
    try:
        found = picks(matrix, variable, shape)
    except NotAffine:
        return False
    places = np.arange(prod(shape)).reshape(shape)
    return found.are(1.0, 0.0) and any(np.array_equal(found.positions, at) for at in (places, places.T))


def _examples() -> list[Program]:
    x = draw(Wishart, (as_tensor(4.0), as_tensor([[0.7, 0.0], [0.1, 0.5]])), (), "x")
    return [example(x, lambda x: MvNormal.dist([0.3, -0.2], tau=x, shape=(3, 2), name="y"))]


THEOREM = Theorem(
    "precision of vectors", integrated_out, lambda rv: rv.family is Wishart, rule=CONJUGATE, examples=_examples
)
