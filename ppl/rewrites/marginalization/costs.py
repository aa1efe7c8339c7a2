"""What plans are ranked by: arithmetic of a log-density, and how many evaluations a gradient sampler may need.

A trajectory through d dimensions takes about d^{1/4} steps (Beskos et al. 2013), more where a law joins several
variables (a latent vector and its scale), since no one step size may suit all of such a posterior; where the data
tell each of them well, it does. What depends on data alone is computed once and counts for nothing. The numbers rank
plans; they are no times, and the plan shows the arithmetic alone.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from ppl.distributions import MvNormal
from ppl.distributions.declaration.inner import laws_of
from ppl.graph import Node, ancestors, topological
from ppl.rewrites.marginalization.expressions.markov import along_inputs
from ppl.rewrites.marginalization.program import Factor, Observation, Program, Term, reaches
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.linear_algebra.unrolled import UNROLLED
from ppl.tensor.loops.loop import SCAN
from ppl.tensor.tensor import Tensor, TensorType, is_constant, placeholder
from ppl.xla.operation_costs import CHAINS, COLUMNS, LEAPFROG, MOST_COLUMNS, TURN, cost_of_chain, cost_of_each

OVERHEAD = 500.0  # operations that a kernel costs before it computes anything
EIGENVECTORS = 10.0  # operations for each of n³
RANGE = 2.0 * np.log(2.0)  # of logarithms of variances that a low-rank metric leaves (`ppl.samplers.low_rank`)
HIERARCHY = 8.0  # times more steps where a law joins several variables


def evaluation(factors: Sequence[Factor]) -> float:
    """Operations of one evaluation of some factors."""
    laws = [(f.variable, f.value) if isinstance(f, Observation) else (f, f) for f in factors if not isinstance(f, Term)]
    inputs: list[Node] = [along_inputs(f.density) for f in factors if isinstance(f, Term)]
    for law, value in laws:
        inputs += (*law.parameters, value)
    total, moving = _count(inputs)
    for law, value in laws:
        arguments = (value, *law.parameters)
        if not laws_of(law) and all(p.domain.ndim == 0 for p in law.family.params.values()):
            of_one = tuple(x if _is_number(x) else (x.type, x in moving) for x in arguments)
            total += _of_law(law.family, of_one)
        else:  # more than the types of its parameters may enter
            total += arithmetic([_log_density(law.family, *arguments)])
    return OVERHEAD + total


@functools.lru_cache(maxsize=1000)
def _of_law(family: Any, arguments: tuple[Tensor | tuple[TensorType, bool], ...]) -> float:
    """Operations of the density of a family, by its value and parameters: numbers, or their types and whether they
    vary."""
    given = [x if isinstance(x, Tensor) else placeholder(x[0]) for x in arguments]
    varying = {x for x, told in zip(given, arguments, strict=True) if isinstance(told, tuple) and told[1]}
    return _count([family.log_density(*given)], varying)[0]


def _is_number(x: Node) -> bool:
    return is_constant(x) and x.type.shape == ()


def steps(program: Program) -> float:
    """Evaluations for an effective draw, up to a common multiple; 0 where nothing is left to sample."""
    if not program.free:
        return 0.0
    free: set[Node] = set(program.free)
    laws = [*program.free, *(o.variable for o in program.observed)]
    rows = [term for term in program.terms if term.kind == "rows"]
    joined = ({rv} | ancestors(list(rv.parameters), free) for rv in laws)
    nested = any(len(free & some) > 1 for some in (*joined, *(reaches(term, free) for term in rows)))
    return program.ndim**0.25 * (HIERARCHY if nested else 1.0)


def leapfrog(gradient: float, dim: int, columns: bool) -> float:
    """Operations of a step of the sampler, with a gradient of so many, perhaps with columns of a low-rank metric."""
    return gradient + LEAPFROG[0] + LEAPFROG[1] * dim + (COLUMNS[0] + COLUMNS[1] * dim if columns else 0.0)


def trajectory(eigenvalues: np.ndarray) -> tuple[float, bool]:
    """How many times more steps than in one of variances alike a trajectory takes through a normal law with these
    eigenvalues, as √(largest/smallest), and whether the metric has columns for some: as few as leave the others within
    a factor of 4, or all that it has."""
    logs = np.sort(np.log(eigenvalues))
    if logs[-1] - logs[0] <= RANGE:
        return float(np.exp(0.5 * (logs[-1] - logs[0]))), False
    most = min(MOST_COLUMNS, logs.size - 1)
    left = min(logs[logs.size - 1 - most + below] - logs[below] for below in range(most + 1))
    return float(np.exp(0.5 * max(left, RANGE))), True


def densities(factors: Sequence[Factor]) -> list[Tensor]:
    """The log-densities of factors."""
    return [_density(f) for f in factors]


def _density(f: Factor) -> Tensor:
    if isinstance(f, Term):
        return along_inputs(f.density)
    variable, value = (f.variable, f.value) if isinstance(f, Observation) else (f, f)
    return _log_density(variable.family, value, *variable.parameters)


def _log_density(family: Any, *given: Tensor) -> Tensor:
    density = family.log_density(*given)
    return along_inputs(density) if family is MvNormal else density


def arithmetic(outputs: Sequence[Node], varying: Collection[Node] = ()) -> float:
    """Operations of the nodes that depend on a random variable or on what varies."""
    return _count(outputs, varying)[0]


def _count(outputs: Sequence[Node], varying: Collection[Node] = ()) -> tuple[float, set[Node]]:
    """Operations of the nodes that depend on a random variable or on what varies, and these nodes."""
    moving = set(varying)
    total = 0.0
    for node in topological(outputs):
        if node.op.name == "draw":
            moving.add(node)
        elif any(parent in moving for parent in node.inputs):
            moving.add(node)
            total += _operations(node)
    return total, moving


def _operations(node: Any) -> float:
    """Of one node."""
    sizes = [_size(x) for x in (node, *node.inputs)]
    name = node.op.name
    if name == "matmul":
        return 0.5 * _size(node) * (node.inputs[0].type.shape[-1] or 1)  # vectors of multiply-adds
    if name in ("squared_distance", "periodic_distance"):
        return _size(node) * (node.inputs[0].type.shape[-1] or 1)
    if name == "kron_times":
        return 0.5 * _size(node.inputs[0]) * sum(m.type.shape[0] or 1 for m in node.inputs[1:])
    if name == "eigh":
        return OVERHEAD + EIGENVECTORS * _size(node.inputs[0]) * (node.inputs[0].type.shape[-1] or 1)
    if name == "normal_log_density":
        return OVERHEAD + _size(node.inputs[1]) / 3 * (node.inputs[1].type.shape[-1] or 1)
    if name in ("cholesky", "solve_general", "solve_triangular_op"):
        rows = node.inputs[0].type.shape[-1] or 1
        call = OVERHEAD if rows > UNROLLED else 0.0  # of the library
        return call + (_size(node) if name == "solve_triangular_op" else _size(node.inputs[0]) / 3) * rows
    if node.op is VECTORIZED:
        body = node.attrs["body"]
        times = _size(node.inputs[0]) / max(1.0, _size(body.params[0]))
        return times * _count(body.outputs, body.params)[0]
    if name in ("reshape", "named", "broadcast_to", "expand_dims", "squeeze", "transpose"):
        return 0.0
    if name == "semiseparable_log_density":
        places = len(node.attrs["left"]) + len(node.attrs["steps"])
        return cost_of_chain(name, _size(node.inputs[0]), len(node.inputs) - 2 - places)
    if name in CHAINS:
        return cost_of_chain(name, float(node.inputs[0].type.shape[0] or 1), node.inputs[0].type.shape[-1] or 1)
    if node.op is SCAN:
        return _of_loop(node)
    return max(sizes) * (cost_of_each(name) if name in SEQUENTIAL else 1)


SEQUENTIAL = ("cumsum", "cumprod", "sort")  # whose numbers wait for each other


def _of_loop(node: Any) -> float:
    """Of the steps of a loop, each of which waits for the one before it."""
    body, states = node.attrs["body"], node.attrs["states"]
    length = node.attrs["length"] or (node.inputs[states].type.shape[0] if node.attrs["sequences"] else None)
    return float(length or 1) * (TURN + _count(body.outputs, body.params)[0])


def _size(node: Any) -> float:
    shape = getattr(node.type, "shape", ())
    return float(prod(d or 1 for d in shape))
