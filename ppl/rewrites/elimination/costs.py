"""What an effective draw costs: arithmetic of a log-density, and how many evaluations a gradient sampler needs.

A trajectory through d dimensions takes about d^{1/4} steps (Beskos et al. 2013), more where a latent variable has a random
scale or mean, since no one step size suits all of such a posterior. What depends on data alone is computed once and counts
for nothing. The numbers rank plans; they are no times.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ppl.graph import Node, ancestors, topological
from ppl.rewrites.elimination.program import Program
from ppl.tensor.tensor import Tensor

OVERHEAD = 500.0  # operations that a kernel costs before it computes anything
HIERARCHY = 4.0  # times more steps where latent variables have random parameters


def work(program: Program) -> float:
    """Operations for an effective draw, up to a factor that is common to all programs over one model; 0 without a sampler."""
    if not program.free:
        return 0.0
    steps = program.ndim**0.25
    free = set(program.free)
    nested = any(not free.isdisjoint(ancestors(list(rv.parameters))) for rv in program.free)
    return (OVERHEAD + arithmetic(densities(program))) * steps * (HIERARCHY if nested else 1.0)


def densities(program: Program) -> list[Tensor]:
    """The log-densities of the factors."""
    found = [rv.family.log_density(rv, *rv.parameters) for rv in program.free]
    found += [o.variable.family.log_density(o.value, *o.variable.parameters) for o in program.observed]
    return found + [t.density for t in program.terms]


def arithmetic(outputs: Sequence[Node]) -> float:
    """Operations of the nodes that depend on a random variable."""
    moving: set[Node] = set()
    total = 0.0
    for node in topological(outputs):
        if node.op.name == "draw":
            moving.add(node)
        elif any(parent in moving for parent in node.inputs):
            moving.add(node)
            total += _operations(node)
    return total


def _operations(node: Any) -> float:
    """Of one node."""
    sizes = [_size(x) for x in (node, *node.inputs)]
    name = node.op.name
    if name == "matmul":
        return 2.0 * _size(node) * (node.inputs[0].type.shape[-1] or 1)
    if name in ("cholesky", "solve_triangular"):
        rows = node.inputs[0].type.shape[-1] or 1
        return OVERHEAD + _size(node) * rows
    if name in ("reshape", "named", "broadcast_to", "expand_dims", "squeeze", "transpose"):
        return 0.0
    return max(sizes)


def _size(node: Any) -> float:
    shape = getattr(node.type, "shape", ())
    return float(prod(d or 1 for d in shape))
