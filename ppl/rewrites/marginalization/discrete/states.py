"""How many states discrete latents have together, where these steer other variables: whether a factor in all of them
pays."""

from __future__ import annotations

from collections.abc import Sequence

from ppl.distributions import RandomVariable
from ppl.graph import ancestors
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.discrete.latent_values import states_of
from ppl.rewrites.marginalization.discrete.latents import meet_in_a_row
from ppl.rewrites.marginalization.program import Factor, Program, children, parts
from ppl.rewrites.marginalization.theorem import Search


def few_states(labels: Sequence[RandomVariable], factors: Sequence[Factor], kept: frozenset[RandomVariable]) -> bool:
    """Whether the states of some discrete latents are few enough for a term in all of them."""
    states = states_of(labels, kept)
    return states is not None and states <= (
        LIMITS.branches if meet_in_a_row(labels, factors) else LIMITS.copies_of_a_block
    )


def _labels(program: Program, rv: RandomVariable) -> list[RandomVariable]:
    """The discrete latents that steer the law of a variable or of what depends on it."""
    seen = ancestors([*rv.inputs, *(n for f in children(program, rv) for n in parts(f))])
    return [z for z in program.free if z in seen and z.dtype[0] != "f"]


def few_copies(search: Search, rv: RandomVariable) -> bool:
    """Whether the rows of a variable may become one factor: the discrete latents in it are then summed out all
    together."""
    summed = [z for z in _labels(search.program, rv) if states_of([z], search.kept) is not None]
    return not summed or (states_of(summed, search.kept) or 0) <= LIMITS.copies_of_a_block


def steered(search: Search, rv: RandomVariable) -> bool:
    """Whether a few discrete latents steer a variable or what depends on it."""
    labels = _labels(search.program, rv)
    return bool(labels) and few_states(labels, children(search.program, rv), search.kept)
