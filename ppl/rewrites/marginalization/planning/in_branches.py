"""Variables whose laws or children a few discrete latents steer, integrated out given each state of these.

The rows that a label steers become one factor over all of its states, so that this pays only where the states are few,
or where the labels meet in a row anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ppl.tensor as tt
from ppl.distributions import Bernoulli, Gamma, Normal, Poisson
from ppl.rewrites.factorization.independence import without_a_chain
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization import gaussian
from ppl.rewrites.marginalization.conjugate import conjugate
from ppl.rewrites.marginalization.costs import evaluation, steps
from ppl.rewrites.marginalization.discrete import enumeration
from ppl.rewrites.marginalization.discrete.latent_values import states_of
from ppl.rewrites.marginalization.discrete.states import few_states, steered
from ppl.rewrites.marginalization.examples import example, latent
from ppl.rewrites.marginalization.program import Program
from ppl.rewrites.marginalization.theorem import JointTheorem, Match, Search, Theorem
from ppl.rewrites.marginalization.words import CONJUGATE


def blocks(search: Search) -> Iterator[Match]:
    """Gaussian blocks that a few labels steer, where what is left is cheaper once the labels are summed out."""
    program, kept = search.program, search.kept
    normal = [rv for rv in program.free if gaussian.is_normal(rv) and rv not in kept]
    known = {rv: states_of([rv], kept) for rv in program.free if rv.dtype[0] != "f"}
    labels = [rv for rv, states in known.items() if normal and states is not None and states <= LIMITS.branches]
    alone = enumeration.candidates(program, kept)[0] if labels else {}
    for members, factors in enumeration.components(program, labels):
        if set(members) <= alone.keys() and not few_states(members, factors, kept):
            continue  # each by itself is less work
        found = gaussian.matches_given(search.program, members, kept)
        if not found:
            continue
        given, as_it_is = (Search(search.program, kept | (set(labels) - set(members)), search.asked) for _ in range(2))
        given.taken(iter(found))
        after = given.program
        sums, sums_alone = (s.taken(enumeration.matches(s)) for s in (given, as_it_is))
        if sums and (not sums_alone or _cost(given.program) <= _cost(as_it_is.program)):
            yield from found
            if not any(map(conjugate.THEOREM.suits, after.free)):
                yield from sums  # else these may go in branches first


def _cost(program: Program) -> float:
    """What an effective draw costs."""
    return (
        steps(program) * evaluation(program.factors) * (LIMITS.share_of_quadrature if without_a_chain(program) else 1.0)
    )


def _examples(of: Any, rows: Any) -> list[Program]:
    label = Bernoulli.dist(0.4, name="z")
    x = latent(of)
    return [example(x, lambda x: rows(tt.switch(tt.eq(label, 1), x, 0.5)), others=(label,))]


BLOCKS = JointTheorem(
    "Gaussian block in branches", blocks, examples=lambda: _examples(Normal, lambda m: Normal.dist(m, 0.7, name="y"))
)
STEERED = Theorem(
    "conjugate in branches", conjugate.integrated_out, conjugate.THEOREM.suits, steered, CONJUGATE,
    examples=lambda: _examples(Gamma, lambda m: Poisson.dist(m, name="y")),
)  # fmt: skip
