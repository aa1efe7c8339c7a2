"""Variables that nothing observed depends on: drawn forward after sampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ppl.distributions import Normal, RandomVariable
from ppl.graph import ancestors
from ppl.rewrites.marginalization.expressions.positive import open_conditions
from ppl.rewrites.marginalization.program import Factor, Program, Recovery, Term, parts, where_valid
from ppl.rewrites.marginalization.theorem import JointTheorem, Match, Search
from ppl.rewrites.marginalization.words import NO_DESCENDANTS
from ppl.tensor.tensor import Tensor, as_tensor


def matches(search: Search) -> Iterator[Match]:
    """Variables that no observation, term or variable that stays depends on, directly or through others."""
    program = search.program
    drawn = [rv for rv in program.free if rv not in search.kept and rv.family.sample]
    stay = set(program.free) - set(drawn)
    needed: list[Factor] = [*stay, *program.observed, *program.terms]
    used = ancestors([n for f in needed for n in parts(f)])
    idle = [rv for rv in drawn if rv not in used]
    conditions = {rv: open_conditions(rv) for rv in idle}
    decide = ancestors([c for rv in idle for c in conditions[rv]])  # whether the law of another one exists
    idle = [rv for rv in idle if rv not in decide]
    if idle:
        terms = tuple(_domain(rv, conditions[rv]) for rv in idle if conditions[rv])
        they = "it: it is" if len(idle) == 1 else "them: they are"
        last_first = sorted(idle, key=lambda rv: -rv.serial)
        back = tuple(Recovery(rv, rv) for rv in last_first)
        yield Match(tuple(idle), (), (), terms, back, f"Nothing observed depends on {they} drawn forward.")


def _domain(rv: RandomVariable, conditions: Sequence[Tensor]) -> Term:
    """That a law which is drawn from later has to exist: its density, were it there, would be 0 where it does not."""
    return Term(f"domain of {rv.name}", where_valid(as_tensor(0.0), conditions))


def _examples() -> list[Program]:
    return [Program((x := Normal.dist(0.3, 1.2, shape=(2,), name="x"), Normal.dist(x, 0.7, name="z")))]


THEOREM = JointTheorem(NO_DESCENDANTS, matches, examples=_examples)
