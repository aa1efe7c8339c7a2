r"""Normal vectors seen through noise: their covariance goes into the law of what is seen.

.. math:: f \sim N(m, K),\; y \mid f \sim N(c\,f_p + b, R) \quad\Rightarrow\quad
          y \sim N(c\,m_p + b,\; cc' \odot K_{pp} + R)

where p are the entries that rows pick and c has a number for each row. R is diagonal, or the covariance that another
vector left behind: of a sum of processes one matrix stays. With LL' = K and SS' = R the vector comes back as

.. math:: f = m + L\,T'^{-1}\big[T^{-1} W' S^{-1}(y - c\,m_p - b) + z\big], \qquad W = S^{-1} c L_p,\; TT' = I + W'W

with z standard normal. An evaluation takes one Cholesky factor with a derivative, of as many numbers as there are rows;
a Gaussian block takes two, of as many as the vector has.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

import ppl.tensor as tt
from ppl.distributions import HalfNormal, MvNormal, Normal, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.graph import ancestors
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization import gaussian
from ppl.rewrites.marginalization.conjugate.compounds import domains
from ppl.rewrites.marginalization.conjugate.single_entry_rows import Picked, only_observation, picked_by
from ppl.rewrites.marginalization.discrete.states import few_copies
from ppl.rewrites.marginalization.examples import example
from ppl.rewrites.marginalization.expressions.data import is_always, known_shape
from ppl.rewrites.marginalization.gaussian.spectrum import covariance_of, is_known
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery
from ppl.rewrites.marginalization.theorem import Match, Telling, Theorem
from ppl.rewrites.marginalization.words import PROCESS
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Independent:
    """R = σ²I, for a number or a number for each row."""

    sigma: Tensor

    def whitened(self, x: Tensor) -> Tensor:
        """S⁻¹x, of a matrix."""
        return x / (tt.expand_dims(self.sigma, -1) if self.sigma.ndim else self.sigma)

    def added_to(self, cov: Tensor) -> Tensor:
        """A covariance and R."""
        return cov + self.sigma**2 * tt.eye(known_shape(cov)[-1], dtype=cov.dtype)


@record
class Correlated:
    """R = SS'."""

    root: Tensor

    def whitened(self, x: Tensor) -> Tensor:
        """S⁻¹x, of a matrix."""
        return tt.solve_triangular(self.root, x, lower=True, b_ndim=2)

    def added_to(self, cov: Tensor) -> Tensor:
        """A covariance and R."""
        return cov + covariance_of(self.root)


@record
class Rows:
    """Rows y ~ N(c f[p] + b, R), as many for each of a stack of vectors f."""

    y: Tensor
    picked: Picked  # of each vector
    noise: Independent | Correlated

    def law(self, mu: Tensor, cov: Tensor, name: str | None) -> RandomVariable:
        """What is seen, without f ~ N(mu, cov)."""
        p, c = self.picked, self.picked.c
        seen = p.of(p.of(cov, -1), -2)
        if not is_always(c, 1.0):
            seen = (c * tt.expand_dims(c, -1) if c.ndim else c**2) * seen
        shape = known_shape(self.y)
        mean = tt.broadcast_to(c * p.of(mu, -1) + p.b, shape)
        return draw(MvNormal, (mean, tt.cholesky(self.noise.added_to(seen))), shape[:-1], name)

    def draw(self, mu: Tensor, chol: Tensor) -> Tensor:
        """f ~ N(mu, chol chol') given y."""
        p, c = self.picked, self.picked.c
        w = self.noise.whitened((tt.expand_dims(c, -1) if c.ndim else c) * p.of(chol, -2))
        d = self.noise.whitened(tt.expand_dims(self.y - (c * p.of(mu, -1) + p.b), -1))
        root = tt.cholesky(tt.eye(known_shape(chol)[-1], dtype=w.dtype) + w.mT @ w)
        z = draw(Normal, (as_tensor(0.0), as_tensor(1.0)), known_shape(mu))
        u = tt.solve_lower(root, tt.squeeze(w.mT @ d, -1)) + z
        return mu + tt.times_vectors(chol, tt.solve_triangular(root.mT, u, lower=False, b_ndim=1))


def suits(rv: RandomVariable) -> bool:
    """Whether a variable is a normal vector, or several of one covariance."""
    return rv.family is MvNormal and rv.parameters[1].ndim == 2


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A vector with its rows; raises `NoMatch` with the reason."""
    seen = only_observation(program, variable)
    mu, chol = variable.parameters
    if chol.op.name not in ("cholesky", "cholesky_lifted") and not is_known(chol):
        raise NoMatch("its covariance is given by a factor")
    rows = rows_of(seen, variable)
    if len(rows.picked.positions) > known_shape(variable)[-1]:
        raise NoMatch(f'"{seen.variable.name}" has more rows than it has entries')
    why = _blocks_have_it(program, seen, variable, rows)
    if why is not None:
        raise NoMatch(why)
    mu = tt.broadcast_to(mu, known_shape(variable))
    law = rows.law(mu, covariance_of(chol), seen.variable.name)
    terms = domains([variable, seen.variable], variable)
    recovery = Recovery(variable, tt.cast(rows.draw(mu, chol), variable.dtype))
    return Match((variable,), (seen,), (Observation(law, rows.y),), terms, (recovery,))


def rows_of(seen: Observation, variable: RandomVariable) -> Rows:
    """What is seen as rows of vectors; raises `NoMatch` where they are none."""
    child, label, (*stack, n) = seen.variable, f'"{seen.variable.name}"', known_shape(variable)
    if child.family is not Normal and not suits(child):
        raise NoMatch(f"{label} is {child.family.__name__}, not Normal, given it")
    rows = picked_by(seen, variable)
    noise = Independent(rows.sorted(child.parameters[1])) if child.family is Normal else Correlated(child.parameters[1])
    if isinstance(noise, Correlated) and not (rows.is_sorted and known_shape(child)[:-1] == tuple(stack)):
        raise NoMatch(f"the rows of {label} are in another order than its entries")
    y = rows.sorted(tt.cast(seen.value, child.dtype))
    if not stack:
        return Rows(y, rows, noise)
    if rows.c.ndim or (isinstance(noise, Independent) and noise.sigma.ndim):
        raise NoMatch(f"its vectors have rows of {label} of more than one scale")
    count = len(rows.positions) // prod(stack)
    first = rows.positions[:count]
    if not np.array_equal(rows.positions, (n * np.arange(prod(stack))[:, None] + first).ravel()):
        raise NoMatch(f"the rows of {label} pick other entries of each of its vectors")
    of_each = lambda x: tt.reshape(x, (*stack, count)) if x.ndim else x
    return Rows(of_each(y), replace(rows, positions=first, b=of_each(rows.b)), noise)


def _blocks_have_it(program: Program, seen: Observation, variable: RandomVariable, rows: Rows) -> str | None:
    """Why a Gaussian block takes less work, where it does."""
    if not gaussian.is_written_out(variable):
        return None  # too large for one
    mean = ancestors(seen.variable.parameters[0], program.free)
    beside = [rv for rv in program.free if rv is not variable and rv in mean and gaussian.is_normal(rv)]
    effects = sum(prod(known_shape(rv)) for rv in beside if not suits(rv) and None not in rv.type.shape)
    if effects > LIMITS.other_effects_a_row * prod(known_shape(rows.y)):
        return "the many effects beside it go in one Gaussian block with it"
    known = is_known(variable.parameters[1]) and isinstance(rows.noise, Independent)
    return "its eigenvectors are known" if known and not any(map(suits, beside)) else None


def _examples() -> list[Program]:
    length = HalfNormal.dist(1.0, name="length")
    cov = length**2 * np.array([[1.0, 0.4, 0.1], [0.4, 1.0, 0.4], [0.1, 0.4, 1.0]]) + 0.2 * np.eye(3)
    x = MvNormal.dist([0.3, 0.0, -0.2], cov=cov, name="x")
    return [example(x, lambda x: Normal.dist(0.7 * x[np.array([2, 0, 0])] + 0.3, 0.5, name="y"), others=(length,))]


THEOREM = Theorem("noisy process", integrated_out, suits, few_copies, PROCESS, Telling.NONE, _examples)
