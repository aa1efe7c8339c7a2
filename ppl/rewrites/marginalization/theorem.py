"""Theorems about latent variables: what can be integrated out of a program in closed form, and how it comes back.

A theorem is asked about a variable of a program. Its answer is a `Match`, which holds what takes the place of the
factors that depend on the variable, the draws that bring it back, what that costs, and the words for it; or a `Refusal`
with the reason. The planner knows theorems by no other door, and the tests ask every theorem of the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from ppl.distributions import RandomVariable
from ppl.graph.records import record
from ppl.rewrites.marginalization.costs import evaluation
from ppl.rewrites.marginalization.program import Factor, NoMatch, Observation, Program, Recovery, Term


@record
class Match:
    """Variables that can be integrated out together, with the factors that go with them."""

    variables: tuple[RandomVariable, ...]
    factors: tuple[Factor, ...]
    observed: tuple[Observation, ...] = ()  # what takes their place: observations of another law,
    terms: tuple[Term, ...] = ()  # and marginal log-densities
    recoveries: tuple[Recovery, ...] = ()
    words: str = ""  # why it holds; by default the families that met
    rule: str = ""  # what a plan calls it; by default what the theorem is called there
    stiffness: float = 1.0  # how many times more steps trajectories take while the variables stay, if that is known

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(rv.name or "a draw" for rv in self.variables)

    @property
    def told(self) -> str:
        """Why it holds, in words."""
        kinds = " and ".join(sorted({rv.family.__name__ for rv in self.variables}))
        return self.words or f"{kinds} with {kinds_of(self.factors)}."

    @cached_property
    def operations(self) -> float:
        """What one evaluation of what takes the place of the factors takes."""
        return evaluation([*self.observed, *self.terms])

    def applied(self, program: Program) -> Program:
        """The program without the variables."""
        left = program.without([*self.variables, *self.factors])
        return left.plus(self.observed, self.terms, self.recoveries)


@record
class Refusal:
    """A variable that a theorem does not integrate out, and why."""

    variable: RandomVariable
    why: str


@dataclass
class Search:
    """What theorems are asked about: a program, which changes as they apply, the variables that must stay in it, and
    those that the user has asked to eliminate at any cost."""

    program: Program
    kept: frozenset[RandomVariable] = frozenset()
    asked: frozenset[RandomVariable] = frozenset()
    out_of_time: Callable[[], bool] = field(default=lambda: False)

    def taken(self, found: Iterator[Match | Refusal]) -> list[Match]:
        """All matches, each applied before the next is looked for."""
        matches = []
        for match in found:
            if isinstance(match, Match):
                self.program = match.applied(self.program)
                matches.append(match)
        return matches


class Telling(Enum):
    """Whose reason a variable is kept for, when several theorems refuse it."""

    LAST = "this theorem's, unless a later one gives another"
    FIRST = "this theorem's, where none before gave one"
    NONE = "that of the others"


Example = Callable[[], Program]


@record
class Theorem:
    """Variables that are integrated out one by one.

    `integrated_out` gives the match of a variable of a program, or raises `NoMatch` with the reason; only variables are
    asked about that it `suits` and for which it `pays`. The `examples` are programs of which it integrates variables
    out; its laws are tested there.
    """

    name: str
    integrated_out: Callable[[Program, RandomVariable], Match]
    suits: Callable[[RandomVariable], bool]
    pays: Callable[[Search, RandomVariable], bool] = lambda search, variable: True
    rule: str = ""  # what a plan calls it, where not by its name
    telling: Telling = Telling.LAST
    examples: Callable[[], Collection[Program]] = tuple

    def match(self, program: Program, variable: RandomVariable) -> Match | Refusal:
        """The answer for one variable."""
        if not self.suits(variable):
            return Refusal(variable, f"{self.name} is no theorem about {variable.family.__name__} variables")
        try:
            return self.integrated_out(program, variable)
        except NoMatch as why:
            return Refusal(variable, str(why))

    def matches(self, search: Search) -> Iterator[Match | Refusal]:
        """The answers for all variables, each asked about in what the one before has left."""
        for variable in search.program.free:
            if variable in search.kept or not self.suits(variable) or not self.pays(search, variable):
                continue
            if search.out_of_time():
                return
            yield self.match(search.program, variable)


@record
class JointTheorem:
    """Variables that are integrated out together: `found` gives the matches of all of a program."""

    name: str
    found: Callable[[Search], Iterator[Match | Refusal]]
    rule: str = ""
    telling: Telling = Telling.LAST
    examples: Callable[[], Collection[Program]] = tuple

    def match(self, program: Program, variable: RandomVariable) -> Match | Refusal:
        """The answer for one variable, with those that go together with it."""
        for found in self.found(search := Search(program)):
            if isinstance(found, Match):
                if variable in found.variables:
                    return found
                search.program = found.applied(search.program)
            elif found.variable is variable:
                return found
        return Refusal(variable, f"{self.name} is no theorem about {variable.family.__name__} variables here")

    def matches(self, search: Search) -> Iterator[Match | Refusal]:
        """The answers for all variables."""
        return self.found(search)


def kinds_of(factors: Collection[Factor]) -> str:
    """The families of the factors that depend on some variables."""
    kinds = {f.variable.family.__name__ for f in factors if isinstance(f, Observation)}
    kinds |= {f.kind for f in factors if isinstance(f, Term) and f.kind == "potential"}
    if any(isinstance(f, Term) and f.without for f in factors):
        kinds.add("the marginal density of variables that are integrated out already")
    return " and ".join(sorted(kinds)) or "other terms"
