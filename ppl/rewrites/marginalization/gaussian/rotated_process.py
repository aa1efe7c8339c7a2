r"""Processes written as a factor times standard normal variables: the process itself takes their place.

.. math:: v \sim N(0, I),\; f = Lv,\; LL' = K \quad\Rightarrow\quad f \sim N(0, K),\qquad v = L^{-1} f

where nothing sees v but through f. What is known of a process under noise then holds, with one factor in place of two,
and v comes back with it. On a grid L is a Kronecker product of factors, and K one of covariances.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import HalfNormal, MvNormal, Normal, RandomVariable
from ppl.distributions.draws.draw import draw
from ppl.distributions.families.kronecker_normal import with_factors
from ppl.graph import Node, ancestors, substitute
from ppl.graph.records import record
from ppl.rewrites.marginalization.conjugate.single_entry_rows import only_observation
from ppl.rewrites.marginalization.discrete.states import few_copies
from ppl.rewrites.marginalization.examples import example
from ppl.rewrites.marginalization.expressions.data import is_always, known_shape
from ppl.rewrites.marginalization.gaussian import kronecker_process, markov_process, noisy_process
from ppl.rewrites.marginalization.program import NoMatch, Observation, Program, Recovery
from ppl.rewrites.marginalization.theorem import Match, Telling, Theorem
from ppl.rewrites.marginalization.words import PROCESS
from ppl.tensor.arrays.shaping import EXPAND_DIMS, SQUEEZE
from ppl.tensor.linear_algebra.decompositions import cholesky
from ppl.tensor.linear_algebra.kronecker import kron_times
from ppl.tensor.linear_algebra.products import MATMUL
from ppl.tensor.tensor import Tensor, as_tensor


@record
class Rotation:
    """An expression L v, and the factors of L."""

    expression: Tensor
    factors: tuple[Tensor, ...]

    def process(self, variable: RandomVariable) -> RandomVariable:
        """f = L v as a variable of its own."""
        shape = known_shape(variable)
        zero = tt.zeros((shape[-1],), dtype=variable.dtype)
        if self.expression.op is not kron_times:
            return draw(MvNormal, (zero, self.factors[0]), shape[:-1], variable.name)
        covs = [factor.inputs[0] for factor in self.factors]
        number = tt.zeros((), dtype=variable.dtype)
        return draw(with_factors(len(covs)), (zero, number, *covs), shape[:-1], variable.name)

    def back(self, f: Tensor) -> Tensor:
        """v = L⁻¹f."""
        if self.expression.op is not kron_times:
            return tt.solve_lower(self.factors[0], f)
        sizes = [known_shape(factor)[-1] for factor in self.factors]
        pairs = zip(self.factors, sizes, strict=True)
        return tt.kron_times(f, *[tt.solve_triangular(factor, tt.eye(n), lower=True) for factor, n in pairs])


def suits(rv: RandomVariable) -> bool:
    """Whether a variable is a vector of standard normal variables, or a stack of such."""
    if rv.family is not Normal or not rv.type.ndim or None in rv.type.shape:
        return False
    mu, sigma = rv.parameters
    return is_always(mu, 0.0) and is_always(sigma, 1.0)


def integrated_out(program: Program, variable: RandomVariable) -> Match:
    """What is seen, without the variables and the process made of them; raises `NoMatch` with the reason."""
    seen = only_observation(program, variable)
    rotation = _rotation(seen, variable)
    processes = {variable: rotation.process(variable)}
    expressions: dict[Node, Tensor] = {variable: rotation.expression}
    for other in filter(suits, program.free):  # processes beside this one: no effects that would ask for a block
        with suppress(NoMatch):
            if other is not variable:
                beside = _rotation(seen, other)
                processes[other], expressions[other] = beside.process(other), beside.expression
    f = processes[variable]
    forth: dict[Node, Node] = {expressions[rv]: process for rv, process in processes.items()}
    now = replace(seen, variable=substitute(seen.variable, forth))  # type: ignore[arg-type]
    if variable in ancestors([*now.variable.inputs, now.value]):
        raise NoMatch(f'"{seen.variable.name}" depends on it beside the process that it rotates')
    free = tuple(processes.get(rv, rv) for rv in program.free)
    observed = tuple(now if o is seen else o for o in program.observed)
    found = _process_out(Program(free, observed, program.terms), f, rotation.expression.op is kron_times)
    ((law,), (recovery,)) = found.observed, found.recoveries
    back: dict[Node, Node] = {process: expressions[rv] for rv, process in processes.items() if rv is not variable}
    v = tt.cast(rotation.back(as_tensor(substitute(recovery.draw, back))), variable.dtype)
    return Match(
        (variable,),
        (seen,),
        (replace(law, variable=substitute(law.variable, back)),),  # type: ignore[arg-type]
        tuple(t.but(substitute(t.density, back)) for t in found.terms),
        (Recovery(variable, v),),
        "A rotated process with Normal.",
    )


def _process_out(program: Program, f: RandomVariable, on_grid: bool) -> Match:
    """The process integrated out, along its input where that takes less."""
    if on_grid:
        return kronecker_process.integrated_out(program, f)
    with suppress(NoMatch):
        return markov_process.integrated_out(program, f)
    return noisy_process.integrated_out(program, f)


def _rotation(seen: Observation, variable: RandomVariable) -> Rotation:
    """The one expression L v through which an observation sees a variable; raises `NoMatch` where there is none."""
    found = {r.expression: r for node in ancestors(list(seen.variable.inputs)) if (r := _read(node, variable))}
    if len(found) != 1:
        raise NoMatch("it is no factor of a covariance times it that is seen")
    return next(iter(found.values()))


def _read(node: Any, variable: RandomVariable) -> Rotation | None:
    """An expression as L v, where it is one: a product with a vector, or with each row of a stack."""
    if node.op is kron_times and node.inputs[0] is variable:
        factors = node.inputs[1:]
        return Rotation(node, factors) if all(_is_factor(x) for x in factors) else None
    if node.op is not SQUEEZE or node.inputs[0].op is not MATMUL or node.type.shape != variable.type.shape:
        return None
    factor, column = node.inputs[0].inputs
    is_column = column.op is EXPAND_DIMS and column.inputs[0] is variable and column.type.shape[-1] == 1
    return Rotation(node, (factor,)) if is_column and factor.type.ndim == 2 and _is_factor(factor) else None


def _is_factor(node: Node) -> bool:
    return node.op is cholesky and bool(node.attrs["lower"])


def _examples() -> list[Program]:
    length = HalfNormal.dist(1.0, name="length")
    cov = length**2 * np.array([[1.0, 0.4, 0.1], [0.4, 1.0, 0.4], [0.1, 0.4, 1.0]]) + 0.2 * np.eye(3)
    small = length * np.array([[1.0, 0.3], [0.3, 0.8]])
    x, grid = Normal.dist(0.0, 1.0, shape=3, name="x"), Normal.dist(0.0, 1.0, shape=6, name="x")
    process = lambda x: 0.3 + tt.times_vectors(tt.cholesky(cov), x)
    on_grid = lambda x: 0.3 + tt.kron_times(x, tt.cholesky(cov), tt.cholesky(small))
    return [
        example(x, lambda x: Normal.dist(0.7 * process(x), 0.5, name="y"), others=(length,)),
        example(grid, lambda x: Normal.dist(on_grid(x), 0.5, name="y"), others=(length,)),
    ]


THEOREM = Theorem("rotated process", integrated_out, suits, few_copies, PROCESS, Telling.NONE, _examples)
