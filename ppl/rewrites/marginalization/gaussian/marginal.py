"""Gaussian blocks taken out of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from ppl.distributions import Normal, RandomVariable
from ppl.graph import substitute
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.costs import HIERARCHY, evaluation, steps
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.expressions.data import known_shape
from ppl.rewrites.marginalization.expressions.positive import known_positive
from ppl.rewrites.marginalization.gaussian.block import Block
from ppl.rewrites.marginalization.gaussian.candidates import candidates, components
from ppl.rewrites.marginalization.gaussian.common_scale import common_scale
from ppl.rewrites.marginalization.gaussian.inner_coordinates import inner_coordinates, residuals_in
from ppl.rewrites.marginalization.gaussian.residuals import Residual, is_flat
from ppl.rewrites.marginalization.gaussian.stiffness import stiffness
from ppl.rewrites.marginalization.program import Program, Recovery, Term, where_valid
from ppl.rewrites.marginalization.theorem import JointTheorem, Match, Refusal, Search, Telling
from ppl.rewrites.marginalization.words import GAUSSIAN
from ppl.tensor.tensor import as_tensor


def matches(search: Search, given: str = "") -> Iterator[Match | Refusal]:
    """The Gaussian blocks of a program. Of a block that does not pay the costliest variables stay, of those that the
    user has not asked to eliminate, and what is left is tried again; `given` discrete latents of these names all blocks
    pay that can be written down."""
    declined: list[Refusal] = []
    kept = search.kept
    while True:
        chosen, residuals, unfit = candidates(search.program, kept)
        saved = 0.0 if given else _saved_steps(search.program, chosen, residuals)
        costly: list[Refusal] = []
        for members, rows in components(chosen, residuals):
            found = _block(search.program, members, rows, kept, search.asked, saved, given)
            if isinstance(found, Match):
                yield found
            else:
                costly += found
        declined += costly
        if not costly:
            yield from (*declined, *unfit)
            return
        kept |= {d.variable for d in costly}


# How many times more steps an effective draw takes where a series is left to the sampler: walks seen with noise took 6
# times more by their innovations, 150 times more as they are (`benchmarks/never_worse.py`, 200 steps).


def _saved_steps(program: Program, chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> float:
    """The share of its steps that a trajectory still takes if all blocks go: one of many small ones alone saves few."""
    left = program.without([*chosen, *(r.factor for r in residuals)])
    return steps(left) / steps(program) if program.free else 1.0


def _block(
    program: Program,
    members: Sequence[RandomVariable],
    rows: Sequence[Residual],
    kept: frozenset[RandomVariable],
    asked: frozenset[RandomVariable],
    saved: float,
    given: str,
) -> Match | list[Refusal]:
    """One block; or the variables that make it too costly."""
    inner = inner_coordinates(members, rows)
    variables, mine = residuals_in(members, rows, inner)
    common = common_scale(program, [r.factor for r in rows], mine, kept)
    block = Block(variables, mine if common is None else common.residuals)
    why, may_stay = too_large(block), not asked.issuperset(members)
    if why is not None and may_stay:
        return [Refusal(rv, why) for rv in costliest(members, block, asked)]
    block.lay_out()
    marginal = block.eliminate()
    values = marginal.values(as_tensor(1.0) if common is None else common.scale)
    forgotten = {rv: tuple((as_tensor(substitute(x, values)), law) for x, law in i.beside) for rv, i in inner.items()}
    values |= {rv: as_tensor(substitute(i.value, values)) for rv, i in inner.items()}
    recoveries = [Recovery(rv, values[rv], forgotten.get(rv, ())) for rv in members]
    density = marginal.volume() - 0.5 * marginal.squares()
    positive = [*block.scales, *(i.scale for i in inner.values() if i.scale is not None)]
    if common is not None:
        density = common.density(marginal)
        positive += common.variable.parameters
        recoveries.append(Recovery(common.variable, common.posterior(marginal)))
    gone = tuple(r.variable for r in recoveries)
    names = tuple(rv.name or "a draw" for rv in gone)
    own = set(map(id, gone))
    factors = tuple({id(r.factor): r.factor for r in rows if id(r.factor) not in own}.values())
    term = Term(
        f"marginal of {', '.join(names)}",
        where_valid(density, [p > 0 for p in dict.fromkeys(positive) if not known_positive(p)]),
        without=names,
    )
    under = f", for each value of {given}" if given else ""
    words = f"Normal with normal children{under}: {block.structure}."
    stiff = stiffness(program, block.written)
    found = Match(gone, factors, (), (term,), tuple(recoveries), words, GAUSSIAN, stiff)
    before = [*gone, *factors]
    saved /= LIMITS.steps_of_a_series if block.layout.linked else 1.0
    saved /= max(1.0, stiff / HIERARCHY)
    ratio = saved * found.operations / evaluation([f for f in before if not is_flat(f)])
    if ratio > 1.0 and may_stay:
        why = f"its block ({block.structure}) would cost {ratio:.1f} times what it saves"
        return [Refusal(rv, why) for rv in costliest(members, block, asked, ratio)]
    return found


def costliest(
    members: Sequence[RandomVariable], block: Block, asked: frozenset[RandomVariable], ratio: float = 1.0
) -> list[RandomVariable]:
    """The largest of the dense variables of a block, of all where none is dense; none that the user asked to go. At
    least one, and as many as must go before a cost that grows with the cube of their number is `ratio` times less."""
    pairs = [(rv, inside) for rv, inside in zip(members, block.variables, strict=True) if rv not in asked]
    dense = [rv for rv, inside in pairs if inside in block.starts] or [rv for rv, _ in pairs]
    largest = sorted(dense, key=lambda rv: -prod(known_shape(rv)))
    return largest[: max(1, int(len(largest) * (1.0 - ratio ** (-1.0 / 3.0))))]


def too_large(block: Block) -> str | None:
    """Why a block is too large to be written down; None where it is not."""
    rows = max((prod(r.map.shape) for r in block.residuals), default=0)
    if block.ndense > LIMITS.dense_columns:
        return f"{block.ndense} dense columns are too many"
    if rows * block.ndense > LIMITS.numbers_of_a_block:
        return f"its design would have {rows} rows of {block.ndense} numbers"
    return None


def _examples() -> list[Program]:
    mean = Normal.dist(0.3, 2.0, name="mean")
    groups = lambda x: Normal.dist(x[np.array([0, 2, 2, 1, 0])] - 0.4, 0.7, name="y")
    return [example(latent(Normal, mu=mean), groups, others=(mean,))]


# the first reason says more than a later one, when marginals stand in the way
THEOREM = JointTheorem(GAUSSIAN, matches, telling=Telling.FIRST, examples=_examples)
