r"""Processes on grids, seen once everywhere: their Kronecker product goes into the law of what is seen.

.. math:: f \sim N(m, K_1 \otimes K_2 \otimes \dots + s^2 I),\; y \mid f \sim N(c f + b, σ^2 I)
   \quad\Rightarrow\quad y \sim N(c m + b, c^2 K_1 \otimes K_2 \otimes \dots + (c^2 s^2 + σ^2) I)

for numbers c and σ. With QΛQ' the product, p = Λ + s² and t = c²p + σ², the process comes back as

.. math:: f = m + Q\big[c\,p\,t^{-1} Q'(y - c m - b) + \sqrt{p\,σ^2 / t}\; z\big]

with z standard normal. Neither knows a matrix larger than a factor.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import KroneckerNormal, MatrixNormal, MvNormal, Normal, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.distributions.families.kronecker_normal import add, surely_zero, with_factors
from ppl.distributions.formulas.eigenbasis import Eigenbasis, spectrum
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.conjugate.compounds import domains
from ppl.rewrites.marginalization.conjugate.single_entry_rows import only_observation, picked_by
from ppl.rewrites.marginalization.discrete.states import few_copies
from ppl.rewrites.marginalization.examples import example
from ppl.rewrites.marginalization.expressions.data import data_value, is_always, is_read, known_shape
from ppl.rewrites.marginalization.expressions.products import terms
from ppl.rewrites.marginalization.gaussian.residuals import is_written_out
from ppl.rewrites.marginalization.gaussian.spectrum import covariance_of, is_known
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery
from ppl.rewrites.marginalization.theorem import Match, Telling, Theorem
from ppl.rewrites.marginalization.words import PROCESS
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Grid:
    """A stack of vectors N(mu, K₁ ⊗ K₂ ⊗ ... + sigma²I)."""

    mu: Tensor
    sigma: Tensor
    covs: tuple[Tensor, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, rv: RandomVariable) -> Grid:
        """The law of a variable; the rows of a matrix stand one after the other."""
        shape = known_shape(rv)
        if rv.family is MatrixNormal:
            mu, *roots = rv.parameters
            flat = (*shape[:-2], shape[-2] * shape[-1])
            return cls(
                tt.reshape(tt.broadcast_to(mu, shape), flat), as_tensor(0.0), tuple(map(covariance_of, roots)), flat
            )
        if rv.family is MvNormal:
            mu, chol = rv.parameters
            return cls(tt.broadcast_to(mu, shape), as_tensor(0.0), (covariance_of(chol),), shape)
        mu, sigma, *given = rv.parameters
        return cls(mu, sigma, tuple(given), shape)


@record
class Rows:
    """Rows y ~ N(c f + b, sigma), one for each entry of f, in the order of f."""

    y: Tensor
    c: Tensor
    b: Tensor
    sigma: Tensor

    def law(self, f: Grid, name: str | None) -> RandomVariable:
        """What is seen, without f."""
        first, *others = f.covs
        first = first if is_always(self.c, 1.0) else self.c**2 * first
        sigma = self.sigma if surely_zero(f.sigma) else tt.hypot(self.c * f.sigma, self.sigma)
        mu = tt.broadcast_to(self.c * f.mu + self.b, f.shape)
        return draw(with_factors(len(f.covs)), (mu, sigma, first, *others), f.shape[:-1], name)

    def draw(self, f: Grid) -> Tensor:
        """f given y."""
        basis = Eigenbasis.of(f.covs, f.sigma)
        p = tt.maximum(spectrum(basis.axes), 0.0) + tt.expand_dims(f.sigma, -1) ** 2
        t, s = self.c**2 * p + self.sigma**2, self.sigma
        mean = self.c * p / t * basis.turn(self.y - (self.c * f.mu + self.b))
        z = draw(Normal, (as_tensor(0.0), as_tensor(1.0)), f.shape)
        return f.mu + basis.back(mean + tt.sqrt(p / t) * s * z)


def suits(rv: RandomVariable) -> bool:
    """Whether a variable is a normal vector whose covariance is a Kronecker product, or one known matrix."""
    if rv.family is MvNormal:
        chol, n = rv.parameters[1], rv.type.shape[-1]
        return chol.ndim == 2 and n is not None and n <= LIMITS.most_for_eigenvectors and is_known(chol)
    return rv.family is MatrixNormal or issubclass(rv.family, KroneckerNormal)


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A process with its rows; raises `NoMatch` with the reason."""
    seen = only_observation(program, variable)
    f = Grid.of(variable)
    rows = _rows(variable, seen, f)
    observed = Observation(rows.law(f, seen.variable.name), rows.y)
    back = tt.cast(tt.reshape(rows.draw(f), known_shape(variable)), variable.dtype)
    terms = domains([variable, seen.variable], variable)
    return Match((variable,), (seen,), (observed,), terms, (Recovery(variable, back),))


def _rows(variable: RandomVariable, seen: Observation, f: Grid) -> Rows:
    """What is seen as rows of a process; raises `NoMatch` where they are none."""
    child, label = seen.variable, f'"{seen.variable.name}"'
    if child.family is not Normal:
        raise NoMatch(f"{label} is {child.family.__name__}, not Normal, given it")
    picked = picked_by(seen, variable)
    scale, c = _number(child.parameters[1]), _number(picked.c)
    if scale is None:
        raise NoMatch(f"the rows of {label} have more than one scale")
    if c is None:
        raise NoMatch(f"the mean of {label} is not one number times its entries")
    n = prod(known_shape(variable))
    if not np.array_equal(picked.positions, np.arange(n)):
        raise NoMatch(f"not one row of {label} for each of its {n} entries")
    y, b = (_of_grid(x, f) for x in (picked.sorted(tt.cast(seen.value, child.dtype)), picked.b))
    return Rows(y, c, b, scale)


def _number(x: Any) -> Tensor | None:
    """What all entries of an array are, as a number; None where they differ or may."""
    if x.ndim == 0:
        return as_tensor(x)
    found = terms(x)
    if not all(is_read(t.data) and np.ptp(data_value(t.data)) == 0 for t in found):
        return None
    return reduce(add, [t.number * tt.reshape(t.data, (-1,))[0] for t in found])


def _of_grid(x: Tensor, f: Grid) -> Tensor:
    return tt.reshape(x, f.shape) if x.ndim else x


def _is_large(rv: RandomVariable) -> bool:
    return suits(rv) and not is_written_out(rv)


def _is_small(rv: RandomVariable) -> bool:
    return suits(rv) and is_written_out(rv) and rv.family is not MvNormal


def _examples(rows: int = 2) -> list[Program]:
    covs = [np.eye(rows) + 0.3, np.array([[1.0, 0.4], [0.4, 0.9]])]
    x = KroneckerNormal.dist(mu=np.linspace(0.0, 1.0, 2 * rows), covs=covs, sigma=0.2, shape=(2 * rows,), name="x")
    return [example(x, lambda x: Normal.dist(0.7 * x + 0.3, 0.5, name="y"))]


def _large_examples() -> list[Program]:
    return _examples(LIMITS.residuals_together // 2 + 1)


LARGE = Theorem("large process on a grid", integrated_out, _is_large, few_copies, PROCESS, examples=_large_examples)
SMALL = Theorem("process on a grid", integrated_out, _is_small, few_copies, PROCESS, Telling.NONE, examples=_examples)
