r"""Markov processes of one input seen through noise: integrated out and drawn again along the input.

.. math:: f \sim N(m, K),\; y \mid f \sim N(c f_p + b, R) \quad\Rightarrow\quad y \sim N(c m_p + b,\; c^2 K_{pp} + R)

is the theorem of noisy processes. Where K is the covariance of a Markov process in time, as is every Matérn covariance
of one input, the density of y takes as many steps as there are rows, and so does a draw of f: once along the input with
what rows tell, and once back with one standard normal number for each point. R is independent noise, or what other such
processes of the same input have left behind; then f is a part of the state of all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import HalfNormal, MvNormal, Normal, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.rewrites.marginalization.conjugate.compounds import domains
from ppl.rewrites.marginalization.conjugate.single_entry_rows import only_observation
from ppl.rewrites.marginalization.discrete.states import few_copies
from ppl.rewrites.marginalization.examples import example
from ppl.rewrites.marginalization.expressions.data import is_always, known_shape
from ppl.rewrites.marginalization.expressions.kernels import Structure, Unstructured, structure_of
from ppl.rewrites.marginalization.expressions.markov import MarkovCovariance, markov, paying, same
from ppl.rewrites.marginalization.expressions.positive import known_positive
from ppl.rewrites.marginalization.gaussian.noisy_process import Independent, Rows, rows_of
from ppl.rewrites.marginalization.gaussian.spectrum import covariance_of
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery, Term
from ppl.rewrites.marginalization.theorem import Match, Telling, Theorem
from ppl.rewrites.marginalization.words import MARKOV
from ppl.tensor.core.ops import OPS
from ppl.tensor.kernels.correlations import matern32
from ppl.tensor.kernels.distances import squared_distance
from ppl.tensor.linear_algebra.semiseparable_draws import semiseparable_conditional
from ppl.tensor.tensor import Tensor, as_tensor


def suits(rv: RandomVariable) -> bool:
    """Whether a variable is one normal vector."""
    return rv.family is MvNormal and rv.ndim == 1


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """A process with its rows; raises `NoMatch` with the reason."""
    seen = only_observation(program, variable)
    mu, chol = variable.parameters
    if chol.op is not tt.cholesky:
        raise NoMatch("its covariance is given by a factor")
    try:
        own = structure_of(chol.inputs[0])
        rows = rows_of(seen, variable)
        paying(markov(own))
        law, back = _law(rows, mu, own, seen), _draw(rows, mu, own)
    except Unstructured as why:
        raise NoMatch(str(why)) from why
    terms = (*_domains(variable, own), *domains([seen.variable], variable))
    recovery = Recovery(variable, tt.cast(back, variable.dtype))
    return Match((variable,), (seen,), (Observation(law, rows.y),), terms, (recovery,))


def _law(rows: Rows, mu: Tensor, own: Structure, seen: Observation) -> RandomVariable:
    """What is seen, by kernels of the inputs that rows pick."""
    p, c = rows.picked, rows.picked.c
    if c.ndim:
        raise NoMatch("its rows see it times numbers that differ")
    if len(set(p.positions.tolist())) < len(p.positions):
        raise NoMatch("some rows see the same entry")
    cov = matrix_of(own, p.positions)
    cov = cov if is_always(c, 1.0) else c**2 * cov
    if isinstance(rows.noise, Independent):
        sigma = rows.noise.sigma
        cov = cov + (OPS["matrix_of_diagonal"](sigma**2, k=0) if sigma.ndim else sigma**2 * tt.eye(len(p.positions)))
    else:
        cov = cov + covariance_of(rows.noise.root)
    paying(markov(structure_of(cov)))
    mean = tt.broadcast_to(c * p.of(tt.broadcast_to(mu, (len_of(own),)), -1) + p.b, known_shape(rows.y))
    return draw(MvNormal, (mean, tt.cholesky(cov)), (), seen.variable.name)


def _domains(variable: RandomVariable, own: Structure) -> tuple[Term, ...]:
    """A sum of kernels with positive scales is a covariance; of others a factor tells, along the points."""
    if all(known_positive(s.scale) for s in own.summands) and (known_positive(own.noise) or is_always(own.noise, 0.0)):
        return ()
    law = markov(own)
    density = law.log_density(as_tensor(np.zeros(law.inputs.size)))
    return (Term(f"domains of {variable.name}", tt.switch(tt.isnan(density), -np.inf, 0.0)),)


def len_of(structure: Structure) -> int:
    """How many points a covariance is of."""
    return known_shape(structure.summands[0].kernels[0].x)[0]


def matrix_of(structure: Structure, positions: np.ndarray | None = None) -> Tensor:
    """The matrix that a structure describes, of the points at some positions."""
    n = len_of(structure)
    whole = positions is None or np.array_equal(positions, np.arange(n))
    at = lambda x: x if whole else x[positions]
    total: Any = None
    for summand in structure.summands:
        term: Any = summand.scale
        for k in summand.kernels:
            x = at(k.x)
            term = term * OPS[k.correlation](squared_distance(x, x, k.ls), *k.parameters)
        total = term if total is None else total + term
    count = n if positions is None else len(positions)
    noise = at(structure.noise) if structure.noise.ndim else structure.noise
    return total + (OPS["matrix_of_diagonal"](noise, k=0) if noise.ndim else noise * tt.eye(count))


def _draw(rows: Rows, mu: Tensor, own: Structure) -> Tensor:
    """f given y: as a part of all processes that rows see, divided by c, in the order of the inputs."""
    n, p = len_of(own), rows.picked
    blind = tt.eq(rows.picked.c, 0.0)  # then rows say nothing of f, as if their noise were infinite
    c = tt.switch(blind, 1.0, rows.picked.c)
    alone = markov(own)
    inputs = alone.inputs
    mean = tt.broadcast_to(mu, (n,))
    seen = tt.switch(blind, 0.0, (rows.y - p.b) / c - p.of(mean, -1))
    if isinstance(rows.noise, Independent):
        variances, together = tt.switch(blind, np.inf, rows.noise.sigma**2 / c**2), alone
    else:
        others = structure_of(covariance_of(rows.noise.root))
        _of_same_points(others, own, p.positions)
        x = own.summands[0].kernels[0].x
        moved = [_over(s, c, x) for s in others.summands]
        variances = tt.switch(blind, np.inf, others.noise / c**2)
        together = markov(Structure((*own.summands, *moved), own.noise))
    part = tuple(range(alone.order)) if together is not alone else ()
    unseen = np.full(n, np.inf)
    z = draw(Normal, (as_tensor(0.0), as_tensor(1.0)), (n,))
    found = semiseparable_conditional.on(
        inputs.sorted(_at(np.zeros(n), p.positions, seen)),
        together.diagonal,
        inputs.sorted(_at(unseen, p.positions, variances)),
        alone.diagonal,
        z,
        generators=together.generators,
        part=part,
    )
    return mean + inputs.as_given(found)


def _at(whole: np.ndarray, positions: np.ndarray, x: Tensor) -> Tensor:
    """An array with other numbers at some positions."""
    x = tt.broadcast_to(x, (len(positions),))
    return x if np.array_equal(positions, np.arange(len(whole))) else tt.index_update(whole, x, positions)


def _of_same_points(others: Structure, own: Structure, positions: np.ndarray) -> None:
    x = own.summands[0].kernels[0].x
    x = x if np.array_equal(positions, np.arange(known_shape(x)[0])) else x[positions]
    if not all(same(k.x, x) and same(k.xs, x) for s in others.summands for k in s.kernels):
        raise NoMatch("another process that its rows see is of other inputs")


def _over(summand: Any, c: Tensor, x: Tensor) -> Any:
    """A summand, divided by c², at other points."""
    kernels = tuple(replace(k, x=x, xs=x) for k in summand.kernels)
    return replace(summand, scale=summand.scale / c**2, kernels=kernels)


def words(law: MarkovCovariance, name: str) -> str:
    """What is said of a density that goes along its input."""
    state = "one number" if law.order == 1 else f"{law.order} numbers"
    return (
        f"{name}: the covariance ({' and '.join(law.kinds)}) is that of a Markov process in its input with a state of "
        f"{state}; its {law.inputs.size} points are gone through one after the other."
    )


def _examples() -> Sequence[Program]:
    length = HalfNormal.dist(1.0, name="length")
    n = 40
    points = (np.arange(n) * 7 % n / 4.0)[:, None]
    x = squared_distance(points, points, length)
    f = MvNormal.dist(np.linspace(0.3, 0.0, n), cov=length * matern32(x) + 0.1 * np.eye(n), name="x")
    return [
        example(f, lambda f: Normal.dist(0.7 * f[np.arange(n)[::-1]] + 0.3, length, name="y"), others=(length,)),
        example(f, lambda f: Normal.dist(f[3:36], np.linspace(0.5, 1.0, 33), name="y"), others=(length,)),
    ]


THEOREM = Theorem("Markov process", integrated_out, suits, few_copies, MARKOV, Telling.NONE, _examples)
