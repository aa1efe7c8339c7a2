"""Normal laws as residuals: expressions that have independent normal errors of mean zero.

A residual is a pair (mean less value, standard deviation), and a law is the sum of its residuals' log-densities. A new
normal family is one function here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import mul
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import (
    AR,
    CAR,
    FAMILIES,
    GaussianRandomWalk,
    MatrixNormal,
    MvGaussianRandomWalk,
    MvNormal,
    Normal,
    RandomVariable,
    RandomWalk,
    ZeroSumNormal,
)
from ppl.distributions.families.car import precision
from ppl.distributions.families.kronecker_normal import surely_zero, with_factors
from ppl.distributions.formulas.eigenbasis import Eigenbasis
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.marginalization.expressions.affine import Affine, NotAffine, affine, known_shape
from ppl.rewrites.marginalization.gaussian.spectrum import known_factor
from ppl.rewrites.marginalization.program import Factor, Law, Observation, Term, in_the_way
from ppl.tensor.tensor import Tensor

MOST_FACTORS = 4  # of a Kronecker product
MOST_TOGETHER = 600  # numbers, of one that is written out
WRITTEN_OUT = 8  # entries of a normal vector up to which its regressions are written one by one

Pairs = Iterator[tuple[Any, Any]]


def _normal(x: Any, mu: Any, sigma: Any) -> Pairs:
    yield mu - x, sigma


def _mv_normal(x: Any, mu: Any, chol: Any) -> Pairs:
    """Each entry given those before it: d_i = Σ_{j<i} L_ij z_j + L_ii z_i with z = L⁻¹d."""
    d, n = mu - x, known_shape(x)[-1]
    if chol.ndim != 2:
        raise NotAffine("its covariance is not one matrix")
    if n > WRITTEN_OUT:
        number, known = known_factor(chol)
        lengths = tt.diagonal(known)
        whitened = tt.solve_triangular(known, tt.eye(n), lower=True)
        yield lengths * tt.dot(d, whitened.T), number * lengths
        return
    z: list[Any] = []
    for i in range(n):
        rest = d[..., i]
        for j in range(i):
            rest = rest - chol[i, j] * z[j]
        z.append(rest / chol[i, i])
        yield rest, chol[i, i]


def _walk(x: Any, init_dist: Any, innovation_dist: Any, steps: Any) -> Pairs:
    path = tt.moveaxis(x, -1 - innovation_dist.event_ndim, 0)
    for law, value in ((init_dist, path[0]), (innovation_dist, path[1:] - path[:-1])):
        if law.family not in (Normal, MvNormal):
            raise NotAffine(f"its values or steps are {law.family.__name__}, not normal")
        yield from LAWS[law.family](value, *law.parameters)


def _autoregression(x: Any, rho: Any, constant: Any, sigma: Any, init_dist: Any, steps: Any) -> Pairs:
    order = known_shape(rho)[-1]
    if x.ndim != 1 or rho.ndim != 1:
        raise NotAffine("it is more than one autoregression")
    if init_dist.family is not Normal:
        raise NotAffine(f"its first values are {init_dist.family.__name__}, not Normal")
    yield from _normal(x[:order], *init_dist.parameters)
    length = known_shape(x)[0]
    mean: Any = constant
    for i in range(order):
        mean = mean + rho[i] * x[order - 1 - i : length - 1 - i]
    yield mean - x[order:], sigma


def _conditional_autoregression(x: Any, mu: Any, W: Any, alpha: Any, tau: Any) -> Pairs:
    """Each area given those after it: with CC' = D - αW, C'(x - μ) has independent entries of variance 1/τ."""
    if x.ndim != 1 or alpha.ndim or tau.ndim:
        raise NotAffine("it is more than one vector")
    root = tt.cholesky(precision(W, alpha))
    lengths = tt.diagonal(root)
    yield tt.dot(mu - x, root) / lengths, tau**-0.5 / lengths


def _matrix_normal(x: Any, mu: Any, rowchol: Any, colchol: Any) -> Pairs:
    """Row after row: the covariance is a Kronecker product."""
    _require_few(x)
    flat = (*known_shape(x)[:-2], prod(known_shape(x)[-2:]))
    yield _factor_by_factor(tt.reshape(mu - x, flat), [rowchol, colchol])


def _kronecker_normal(x: Any, mu: Any, sigma: Any, *covs: Any) -> Pairs:
    _require_few(x)
    if surely_zero(sigma):
        yield _factor_by_factor(mu - x, [tt.cholesky_of(c) for c in covs])
        return
    basis = Eigenbasis.of(covs, sigma)
    yield basis.residual(mu - x), tt.sqrt(basis.variances)


def _factor_by_factor(d: Any, roots: Sequence[Any]) -> tuple[Any, Any]:
    """What L⁻¹ makes of d, times the diagonal of L, for L = L₁ ⊗ L₂ ⊗ ..."""
    if any(root.ndim != 2 for root in roots):
        raise NotAffine("its covariance is not one matrix")
    numbers, known = zip(*map(known_factor, roots), strict=True)
    number, lengths = reduce(mul, numbers), reduce(tt.kron, map(tt.diagonal, known))
    inverses = [tt.solve_triangular(root, tt.eye(known_shape(root)[-1]), lower=True) for root in known]
    return lengths * tt.kron_times(d, *inverses), number * lengths


def is_written_out(rv: RandomVariable) -> bool:
    """Whether a variable has so few numbers that all may go in a block together."""
    return None not in rv.type.shape and prod(known_shape(rv)) <= MOST_TOGETHER


def _require_few(x: Any) -> None:
    if isinstance(x, RandomVariable) and not is_written_out(x):
        raise NotAffine(f"a covariance of {prod(known_shape(x))} numbers that is not written out")


def _zero_sum(x: Any, sigma: Any, support_shape: Any) -> Pairs:
    """As if x were any vector: in a block its deviations from means stand for it."""
    yield -x, tt.expand_dims(sigma, tuple(range(-known_shape(support_shape)[0], 0)))


LAWS: dict[Any, Callable[..., Pairs]] = {
    Normal: _normal,
    MvNormal: _mv_normal,
    **dict.fromkeys((RandomWalk, GaussianRandomWalk, MvGaussianRandomWalk), _walk),
    AR: _autoregression,
    CAR: _conditional_autoregression,
    MatrixNormal: _matrix_normal,
    **{with_factors(n): _kronecker_normal for n in range(1, MOST_FACTORS + 1)},
    ZeroSumNormal: _zero_sum,
}
FLAT = FAMILIES["Flat"]


@dataclass(frozen=True)
class Residual:
    """A part of a factor as an affine residual with independent normal errors of the given scale."""

    factor: Factor
    map: Affine  # mean less value
    scale: Tensor


def residuals_of(factor: Factor, block: set[Node], shifted: dict[Node, Node] | None = None) -> list[Residual]:
    """A factor as residuals in the variables of a block; raises `NotAffine` with the reason.

    `shifted` variables stand for expressions of the block (their mean and a deviation from it, say).
    """
    variable, target = _valued(factor)
    label = f'"{variable.name}"'
    law = LAWS.get(variable.family)
    if law is None:
        raise NotAffine(f"{label} is {variable.family.__name__}, not Normal, given it")
    if None in variable.type.shape:
        raise NotAffine(f"the shape of {label} is only known when the program runs")
    if isinstance(factor, Observation) and not block.isdisjoint(ancestors(target, block)):
        raise NotAffine(f"the observed value of {label} depends on it")
    if target is variable and variable not in block and variable not in (shifted or {}):
        raise NotAffine(f"{label} is not in the block and its mean depends on it")
    found = []
    try:
        for expression, scale in law(target, *variable.parameters):
            if not block.isdisjoint(ancestors(scale, block)):
                raise NotAffine(f"the scale of {label} depends on it")
            if None in (*expression.type.shape, *scale.type.shape):
                raise NotAffine("a shape is only known when the program runs")
            shape = np.broadcast_shapes(expression.type.shape, scale.type.shape)
            here = tt.broadcast_to(expression, shape)
            if shifted:
                here = substitute(here, {**{rv: rv for rv in block}, **shifted})
            found.append(Residual(factor, affine(here, block), scale))
    except NotAffine as why:
        if str(why).startswith("the scale"):
            raise
        raise NotAffine(f"the mean of {label} is not affine in it: {why}") from why
    return found


def _valued(factor: Factor) -> tuple[RandomVariable, Tensor]:
    """The law of a factor, as a variable, and the value that has it."""
    if isinstance(factor, Observation | Law):
        return factor.variable, factor.value
    if isinstance(factor, Term):
        raise NotAffine(in_the_way(factor))
    return factor, factor


def is_flat(factor: Factor) -> bool:
    """Whether a factor is a flat prior, which adds no residual."""
    return isinstance(factor, RandomVariable) and issubclass(factor.family, FLAT)
