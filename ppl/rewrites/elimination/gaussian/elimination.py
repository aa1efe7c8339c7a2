"""Gaussian blocks taken out of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import ppl.tensor as tt
from ppl.distributions import MvNormal, Normal, RandomVariable
from ppl.distributions.draw import draw
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.elimination.affine import known_shape
from ppl.rewrites.elimination.gaussian.block import Block
from ppl.rewrites.elimination.gaussian.candidates import Declined, candidates, components
from ppl.rewrites.elimination.gaussian.residuals import Residual, residuals_of
from ppl.rewrites.elimination.program import Factor, Program, Recovery, Term
from ppl.tensor.tensor import Tensor, as_tensor

MOST_DENSE = 300  # dense columns beyond which their cubic cost does not pay
FEW_PARENTS = 8  # numbers in the mean of a variable up to which it is measured from its mean


def eliminate(
    program: Program, kept: frozenset[RandomVariable]
) -> tuple[Program, list[tuple[Block, str]], list[Declined]]:
    """The program without its Gaussian blocks."""
    chosen, residuals, declined = candidates(program, kept)
    done: list[tuple[Block, str]] = []
    for members, rows in components(chosen, residuals):
        deviations = measured_from_means(members)
        block = Block(*_in_deviations(members, rows, deviations))
        if block.ndense > MOST_DENSE:
            declined += [Declined(rv, f"{block.ndense} dense columns would cost more than they save") for rv in members]
            continue
        block.lay_out()
        marginal = block.eliminate()
        name = ", ".join(rv.name or "a draw" for rv in members)
        gone: list[Factor] = [*members, *(r.factor for r in rows)]
        values = marginal.values()
        values |= {rv: as_tensor(substitute(d.sum, values)) for rv, d in deviations.items()}
        recoveries = [Recovery(rv, values[rv]) for rv in members]
        density = marginal.volume() - 0.5 * marginal.squares()
        program = program.without(gone).plus(terms=[Term(f"marginal of {name}", density)], recoveries=recoveries)
        done.append((block, name))
    return program, done, declined


@dataclass(frozen=True)
class Deviation:
    """A variable as its mean and a deviation from it, in variables of the block."""

    deviation: RandomVariable
    sum: Tensor


def measured_from_means(members: Sequence[RandomVariable]) -> dict[RandomVariable, Deviation]:
    """Variables with a mean in the block, with their deviations d ~ N(0, scale) from it.

    In deviations no two large numbers cancel where the scale is near zero.
    """
    block = set(members)
    found: dict[RandomVariable, Deviation] = {}
    for rv in sorted(members, key=lambda rv: rv.serial):
        if rv.family not in (Normal, MvNormal) or not rv.ndim:
            continue
        mean, spread = rv.parameters
        parents = block & ancestors(mean)
        if not parents or sum(prod(known_shape(p)) for p in parents) > FEW_PARENTS:
            continue
        deviation = draw(rv.family, (tt.zeros_like(mean), spread), rv.attrs["size"])
        known: dict[Node, Node] = {x: d.sum for x, d in found.items()}
        found[rv] = Deviation(deviation, substitute(tt.broadcast_to(mean, rv.type.shape), known) + deviation)
    return found


def _in_deviations(
    members: Sequence[RandomVariable], rows: Sequence[Residual], deviations: Mapping[RandomVariable, Deviation]
) -> tuple[list[RandomVariable], list[Residual]]:
    """The members and residuals of a block with deviations in the place of the variables measured from their means."""
    if not deviations:
        return list(members), list(rows)
    fresh = {rv: d.deviation for rv, d in deviations.items()}
    sums: dict[Node, Node] = {rv: d.sum for rv, d in deviations.items()}
    variables = [fresh.get(rv, rv) for rv in members]
    factors: dict[int, Factor] = {id(r.factor): r.factor for r in rows}
    found: list[Residual] = []
    for factor in factors.values():
        own = fresh.get(factor, factor) if isinstance(factor, RandomVariable) else factor
        found += residuals_of(own, set(variables), sums)
    return variables, found
