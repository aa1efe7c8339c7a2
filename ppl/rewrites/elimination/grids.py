r"""Processes on grids, seen once everywhere: their Kronecker product goes into the law of what is seen.

.. math:: f \sim N(m, K_1 \otimes K_2 \otimes \dots + s^2 I),\; y \mid f \sim N(c f + b, σ^2 I)
   \quad\Rightarrow\quad y \sim N(c m + b, c^2 K_1 \otimes K_2 \otimes \dots + (c^2 s^2 + σ^2) I)

for numbers c and σ. With QΛQ' the product, p = Λ + s² and t = c²p + σ², the process comes back as

.. math:: f = m + Q\big[c\,p\,t^{-1} Q'(y - c m - b) + \sqrt{p\,σ^2 / t}\; z\big]

with z standard normal. Neither knows a matrix larger than a factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import KroneckerNormal, MatrixNormal, Normal, RandomVariable
from ppl.distributions.draw import draw
from ppl.distributions.eigenbasis import Eigenbasis, spectrum
from ppl.distributions.kronecker_normal import add, constant_or, surely_zero, with_factors
from ppl.graph import ancestors
from ppl.rewrites.elimination.affine import NotAffine, Select, affine, data_value, is_always, is_read, known_shape
from ppl.rewrites.elimination.compounds import domains
from ppl.rewrites.elimination.gaussian.terms import terms
from ppl.rewrites.elimination.program import NoMatch, Observation, Program, Recovery, children, in_the_way
from ppl.rewrites.elimination.spectrum import known_factor
from ppl.tensor.tensor import Tensor, as_tensor


@dataclass(frozen=True)
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
            return cls(tt.reshape(tt.broadcast_to(mu, shape), flat), as_tensor(0.0), tuple(map(_square, roots)), flat)
        mu, sigma, *covs = rv.parameters
        return cls(mu, sigma, tuple(covs), shape)


def _square(root: Any) -> Tensor:
    """The matrix of a Cholesky factor, as it was before where it is known."""
    if root.op.name == "cholesky" and root.attrs["lower"]:
        return root.inputs[0]
    number, known = known_factor(root)
    return number**2 * constant_or(lambda x: x @ x.T, known)


@dataclass(frozen=True)
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
    """Whether a variable is a normal vector whose covariance is a Kronecker product."""
    return rv.family is MatrixNormal or issubclass(rv.family, KroneckerNormal)


def eliminate_one(program: Program, variable: RandomVariable) -> Program:
    """The program with a process integrated out of its rows; raises `NoMatch` with the reason."""
    if None in variable.type.shape:
        raise NoMatch("its shape is only known when the program runs")
    used = children(program, variable)
    if len(used) != 1:
        names = " and ".join(f'"{_name(f)}"' for f in used) or "none"
        raise NoMatch(f"{names} depend on it, not one alone")
    (seen,) = used
    if not isinstance(seen, Observation):
        raise NoMatch(in_the_way(seen))
    f = Grid.of(variable)
    rows = _rows(variable, seen, f)
    after = program.without([variable, seen])
    after = after.plus(observed=[Observation(rows.law(f, seen.variable.name), rows.y)])
    after = after.plus(terms=domains([variable, seen.variable], variable))
    back = tt.cast(tt.reshape(rows.draw(f), known_shape(variable)), variable.dtype)
    return after.plus(recoveries=[Recovery(variable, back)])


def _name(factor: Any) -> str:
    return (factor.variable.name if isinstance(factor, Observation) else factor.name) or "a draw"


def _rows(variable: RandomVariable, seen: Observation, f: Grid) -> Rows:
    """What is seen as rows of a process; raises `NoMatch` where they are none."""
    child, label = seen.variable, f'"{seen.variable.name}"'
    if child.family is not Normal:
        raise NoMatch(f"{label} is {child.family.__name__}, not Normal, given it")
    mu, sigma = child.parameters
    if variable in ancestors([sigma, seen.value]):
        raise NoMatch(f"the scale or the value of {label} depends on it")
    if None in child.type.shape or seen.rows is not None:
        raise NoMatch(f"which rows of {label} there are is only known when the program runs")
    scale, shape = _number(sigma), known_shape(child)
    if scale is None:
        raise NoMatch(f"the rows of {label} have more than one scale")
    try:
        form = affine(tt.broadcast_to(mu, shape), {variable})
    except NotAffine as why:
        raise NoMatch(f"the mean of {label} is not affine in it: {why}") from why
    part, *more = form.parts
    c = _number(part.coefficient) if isinstance(part, Select) else None
    if more or not isinstance(part, Select) or c is None:
        raise NoMatch(f"the mean of {label} is not one number times its entries")
    positions, n = part.positions.ravel(), prod(known_shape(variable))
    order = np.argsort(positions, kind="stable")
    if not np.array_equal(positions[order], np.arange(n)):
        raise NoMatch(f"not one row of {label} for each of its {n} entries")
    y, b = (_sorted(x, order, shape, f) for x in (tt.cast(seen.value, child.dtype), form.offset))
    return Rows(y, c, b, scale)


def _number(x: Any) -> Tensor | None:
    """What all entries of an array are, as a number; None where they differ or may."""
    if x.ndim == 0:
        return as_tensor(x)
    found = terms(x)
    if not all(is_read(t.data) and np.ptp(data_value(t.data)) == 0 for t in found):
        return None
    return reduce(add, [t.number * tt.reshape(t.data, (-1,))[0] for t in found])


def _sorted(x: Any, order: np.ndarray, shape: tuple[int, ...], f: Grid) -> Tensor:
    """Values of rows in the order of the process."""
    flat = tt.reshape(tt.broadcast_to(x, shape), (-1,))
    whole = np.array_equal(order, np.arange(order.size))
    return tt.reshape(flat if whole else flat[order], f.shape)
