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
from ppl.rewrites.elimination.costs import evaluation, steps
from ppl.rewrites.elimination.gaussian.block import Block
from ppl.rewrites.elimination.gaussian.candidates import Declined, candidates, components
from ppl.rewrites.elimination.gaussian.common_scale import common_scale
from ppl.rewrites.elimination.gaussian.residuals import Residual, is_flat, residuals_of
from ppl.rewrites.elimination.positive import known_positive
from ppl.rewrites.elimination.program import Factor, Program, Recovery, Term, where_valid
from ppl.tensor.tensor import Tensor, as_tensor

MOST_DENSE = 600  # dense columns
MOST_NUMBERS = 100_000_000  # in a design matrix
FEW_PARENTS = 8  # numbers in the mean of a variable up to which it is measured from its mean


@dataclass(frozen=True)
class Eliminated:
    """The names of what was integrated out together, and the structure of its precision matrix, in words."""

    names: tuple[str, ...]
    structure: str


def eliminate(
    program: Program, kept: frozenset[RandomVariable], asked: frozenset[RandomVariable] = frozenset()
) -> tuple[Program, list[Eliminated], list[Declined]]:
    """The program without its Gaussian blocks. Of a block that does not pay the costliest variable stays, of those that
    the user has not `asked` to eliminate, and what is left is tried again."""
    done: list[Eliminated] = []
    declined: list[Declined] = []
    while True:
        chosen, residuals, unfit = candidates(program, kept)
        saved = _saved_steps(program, chosen, residuals)
        costly: list[Declined] = []
        for members, rows in components(chosen, residuals):
            found = _without_block(program, members, rows, kept, asked, saved)
            if isinstance(found, Declined):
                costly.append(found)
            else:
                program, block = found
                done.append(block)
        if not costly:
            return program, done, [*declined, *unfit]
        declined += costly
        kept |= {d.variable for d in costly}


def _saved_steps(program: Program, chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> float:
    """The share of its steps that a trajectory still takes if all blocks go: one of many small ones alone saves few."""
    left = program.without([*chosen, *(r.factor for r in residuals)])
    return steps(left) / steps(program) if program.free else 1.0


def _without_block(
    program: Program,
    members: Sequence[RandomVariable],
    rows: Sequence[Residual],
    kept: frozenset[RandomVariable],
    asked: frozenset[RandomVariable],
    saved: float,
) -> tuple[Program, Eliminated] | Declined:
    """The program without one block; or the variable that makes it too costly."""
    deviations = measured_from_means(members)
    variables, mine = _in_deviations(members, rows, deviations)
    common = common_scale(program, [r.factor for r in rows], mine, kept)
    block = Block(variables, mine if common is None else common.residuals)
    why, may_stay = too_large(block), not asked.issuperset(members)
    if why is not None and may_stay:
        return Declined(costliest(members, block, asked), why)
    block.lay_out()
    marginal = block.eliminate()
    values = marginal.values(as_tensor(1.0) if common is None else common.scale)
    values |= {rv: as_tensor(substitute(d.sum, values)) for rv, d in deviations.items()}
    recoveries = [Recovery(rv, values[rv]) for rv in members]
    density = marginal.volume() - 0.5 * marginal.squares()
    positive = [r.scale for r in block.residuals]
    if common is not None:
        density = common.density(marginal)
        positive += common.variable.parameters
        recoveries.append(Recovery(common.variable, common.posterior(marginal)))
    names = tuple(r.variable.name or "a draw" for r in recoveries)
    gone: list[Factor] = [*(r.variable for r in recoveries), *(r.factor for r in rows)]
    term = Term(
        f"marginal of {', '.join(names)}",
        where_valid(density, [p > 0 for p in dict.fromkeys(positive) if not known_positive(p)]),
    )
    ratio = saved * evaluation([term]) / evaluation([f for f in gone if not is_flat(f)])
    if ratio > 1.0 and may_stay:
        why = f"its block ({block.structure}) would cost {ratio:.1f} times what it saves"
        return Declined(costliest(members, block, asked), why)
    after = program.without(gone).plus(terms=[term], recoveries=recoveries)
    return after, Eliminated(names, block.structure)


def costliest(members: Sequence[RandomVariable], block: Block, asked: frozenset[RandomVariable]) -> RandomVariable:
    """The largest of the dense variables of a block, of all where none is dense; none that the user asked to go."""
    pairs = [(rv, inside) for rv, inside in zip(members, block.variables, strict=True) if rv not in asked]
    dense = [rv for rv, inside in pairs if inside in block.starts] or [rv for rv, _ in pairs]
    return max(dense, key=lambda rv: prod(known_shape(rv)))


def too_large(block: Block) -> str | None:
    """Why a block is too large to be written down; None where it is not."""
    rows = max((prod(r.map.shape) for r in block.residuals), default=0)
    if block.ndense > MOST_DENSE:
        return f"{block.ndense} dense columns are too many"
    if rows * block.ndense > MOST_NUMBERS:
        return f"its design would have {rows} rows of {block.ndense} numbers"
    return None


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
        known: dict[Node, Node] = {x: found[x].sum if x in found else x for x in members}
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
