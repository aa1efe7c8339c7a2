"""Normal laws as residuals: expressions that have independent normal errors of mean zero.

A residual is a pair (mean less value, standard deviation), and a law is the sum of its residuals' log-densities. A
normal family declares them; here errors that are correlated become independent ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES, RandomVariable
from ppl.distributions.declaration.normal_errors import Correlated, Kronecker, NoisyKronecker, NotNormal
from ppl.distributions.formulas.eigenbasis import Eigenbasis
from ppl.graph import Node, ancestors, substitute
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import affine
from ppl.rewrites.marginalization.expressions.data import NotAffine, known_shape
from ppl.rewrites.marginalization.expressions.maps import Affine
from ppl.rewrites.marginalization.gaussian.spectrum import known_factor
from ppl.rewrites.marginalization.program import Factor, Law, Observation, Term, in_the_way
from ppl.tensor.tensor import Tensor

Pairs = Iterator[tuple[Any, Any]]


def _independent(x: Any, d: Any, errors: Any) -> Pairs:
    """A residual of x as residuals with independent errors."""
    if isinstance(errors, Correlated):
        yield from _entry_by_entry(d, errors.chol)
    elif isinstance(errors, Kronecker | NoisyKronecker):
        if isinstance(x, RandomVariable) and not is_written_out(x):
            raise NotAffine(f"a covariance of {prod(known_shape(x))} numbers that is not written out")
        if isinstance(errors, Kronecker):
            yield _factor_by_factor(d, errors.roots)
        else:
            basis = Eigenbasis.of(errors.covariances, errors.sigma)
            yield basis.residual(d), tt.sqrt(basis.variances)
    else:
        yield d, errors


def _entry_by_entry(d: Any, chol: Any) -> Pairs:
    """Each entry given those before it: d_i = Σ_{j<i} L_ij z_j + L_ii z_i with z = L⁻¹d."""
    n = known_shape(d)[-1]
    if chol.ndim != 2:
        raise NotAffine("its covariance is not one matrix")
    if n > LIMITS.regressions_written_out:
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
    return None not in rv.type.shape and prod(known_shape(rv)) <= LIMITS.residuals_together


def is_normal(rv: RandomVariable) -> bool:
    """Whether the family of a variable is normal given its parameters."""
    return bool(rv.family.residuals)


FLAT = FAMILIES["Flat"]


@record
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
    if not is_normal(variable):
        raise NotAffine(f"{label} is {variable.family.__name__}, not Normal, given it")
    if None in variable.type.shape:
        raise NotAffine(f"the shape of {label} is only known when the program runs")
    if isinstance(factor, Observation) and not block.isdisjoint(ancestors(target, block)):
        raise NotAffine(f"the observed value of {label} depends on it")
    if target is variable and variable not in block and variable not in (shifted or {}):
        raise NotAffine(f"{label} is not in the block and its mean depends on it")
    found = []
    try:
        written = variable.family.residuals(target, *variable.parameters)
        for expression, scale in (pair for d, errors in written for pair in _independent(target, d, errors)):
            if not block.isdisjoint(ancestors(scale, block)):
                raise NotAffine(f"the scale of {label} depends on it")
            if None in (*expression.type.shape, *scale.type.shape):
                raise NotAffine("a shape is only known when the program runs")
            shape = np.broadcast_shapes(expression.type.shape, scale.type.shape)
            here = tt.broadcast_to(expression, shape)
            if shifted:
                here = substitute(here, {**{rv: rv for rv in block}, **shifted})
            found.append(Residual(factor, affine(here, block), scale))
    except (NotAffine, NotNormal) as why:
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
