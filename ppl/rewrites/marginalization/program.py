"""A model as the planner sees it: factors over random variables, and how eliminated variables come back.

Draw nodes serve as symbols for their values. The joint log-density of a program is the sum over `free` of the family's
density at the draw, over `observed` of the density at the value, and of the `terms`. A `recovery` (x, expression) says
that, given everything not eliminated before it, x has the law of the expression; the last elimination is undone first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.declaration.inner import laws_of
from ppl.graph import Node, ancestors, substitute
from ppl.graph.records import record
from ppl.tensor.tensor import Tensor


@record
class Observation:
    """A random variable with its value; with `rows`, the entries that count, of the shape of its batch."""

    variable: RandomVariable
    value: Tensor
    rows: Tensor | None = None


@record
class Term:
    """A named log-density that is no longer that of one variable (a marginal, a potential); its entries are summed."""

    name: str
    density: Tensor
    kind: str = ""  # "potential", or "rows" of an observation in another form
    without: tuple[str, ...] = ()  # the variables that were integrated out of it

    def but(self, density: Any) -> Term:
        """The term with another density."""
        return Term(self.name, density, self.kind, self.without)


@record
class Law(Term):
    """The log-density of a normal variable, say, at an expression of free variables."""

    variable: RandomVariable = field(kw_only=True)
    value: Tensor = field(kw_only=True)

    @classmethod
    def of(cls, variable: RandomVariable, value: Tensor) -> Law:
        """That an expression has the law of a variable."""
        density = variable.family.log_density(value, *variable.parameters)
        return cls(variable.name or "", density, variable=variable, value=value)


Factor = RandomVariable | Observation | Term


@record
class Recovery:
    """How an eliminated variable is drawn once everything eliminated after it is known.

    Random numbers that are made on the way and forgotten stand `beside` it, each with its law given all variables.
    """

    variable: RandomVariable
    draw: Tensor
    beside: tuple[tuple[Tensor, RandomVariable], ...] = ()


@record
class Program:
    """The factors of a model."""

    free: tuple[RandomVariable, ...]
    observed: tuple[Observation, ...] = ()
    terms: tuple[Term, ...] = ()
    recoveries: tuple[Recovery, ...] = ()

    @property
    def factors(self) -> list[Factor]:
        return [*self.free, *self.observed, *self.terms]

    @property
    def ndim(self) -> int:
        """How many numbers remain to be sampled, unknown lengths counted as one."""
        total = 0
        for rv in self.free:
            size = 1
            for dim in rv.type.shape:
                size *= 1 if dim is None else dim
            total += size
        return total

    @property
    def nodes(self) -> int:
        """How many nodes the factors are made of."""
        return len(ancestors([n for factor in self.factors for n in parts(factor)]))

    @property
    def variables(self) -> frozenset[RandomVariable]:
        """All latent variables: those that are left, and those that come back."""
        return frozenset((*self.free, *(r.variable for r in self.recoveries)))

    @property
    def depends_on_eliminated(self) -> frozenset[RandomVariable]:
        """The eliminated variables that a factor is still computed from: none, where theorems do as they should."""
        gone = frozenset(r.variable for r in self.recoveries)
        return gone & ancestors([n for factor in self.factors for n in parts(factor)], blockers=self._symbols)

    @cached_property
    def dependents(self) -> Mapping[Node, tuple[Factor, ...]]:
        """For each free variable the factors that depend on its value, its own apart."""
        return self._with(dict.fromkeys(self.free, ()), self.factors)

    def _with(
        self, known: Mapping[Node, tuple[Factor, ...]], factors: Iterable[Factor]
    ) -> dict[Node, tuple[Factor, ...]]:
        """What depends on each variable, with further factors."""
        more: dict[Node, list[Factor]] = {}
        for f in factors:
            for rv in self.parents(f):
                more.setdefault(rv, []).append(f)
        return {**known, **{rv: (*known[rv], *fs) for rv, fs in more.items()}}

    def parents(self, factor: Factor) -> list[Node]:
        """The free variables that a factor depends on, its own apart."""
        symbols = self._symbols
        return [n for n in reaches(factor, symbols) if n in symbols and n is not factor]

    @cached_property
    def _symbols(self) -> frozenset[Node]:
        return frozenset(self.free)

    def without(self, factors: Iterable[Factor]) -> Program:
        """The program without some of its factors."""
        gone = {id(f): f for f in factors}
        after = replace(
            self,
            free=tuple(f for f in self.free if id(f) not in gone),
            observed=tuple(f for f in self.observed if id(f) not in gone),
            terms=tuple(f for f in self.terms if id(f) not in gone),
        )
        known = dict(self.dependents)
        for rv in {rv for f in gone.values() for rv in self.parents(f)}:
            known[rv] = tuple(f for f in known[rv] if id(f) not in gone)
        orphans = [known.pop(f, ()) for f in gone.values() if isinstance(f, RandomVariable)]
        if not any(orphans):
            after.__dict__["dependents"] = known  # where something still depends on what is gone, all is asked anew
        return after

    def plus(
        self, observed: Iterable[Observation] = (), terms: Iterable[Term] = (), recoveries: Iterable[Recovery] = ()
    ) -> Program:
        """The program with further factors and recoveries."""
        more: list[Factor] = [*observed, *terms]
        after = replace(
            self,
            observed=(*self.observed, *observed),
            terms=(*self.terms, *terms),
            recoveries=(*self.recoveries, *recoveries),
        )
        after.__dict__["dependents"] = self._with(self.dependents, more) if more else self.dependents
        return after

    def at(self, variable: RandomVariable, stand_in: RandomVariable, values: Mapping[Node, Node]) -> Program:
        """The program in which another variable stands in the place of one, and `values` in that of what follows."""
        return Program(
            tuple(stand_in if rv is variable else substitute(rv, values) for rv in self.free),  # type: ignore[misc]
            tuple(
                replace(o, variable=substitute(o.variable, values), value=substitute(o.value, values))  # type: ignore[arg-type]
                for o in self.observed
            ),
            tuple(t.but(substitute(t.density, values)) for t in self.terms),
        )


class NoMatch(Exception):  # noqa: N818  an answer, not an error
    """A theorem does not hold for a variable or a factor; the message says why."""


def parts(factor: Factor) -> tuple[Node, ...]:
    """What a factor is computed from."""
    if isinstance(factor, Observation):
        return (*factor.variable.inputs, factor.value, *(() if factor.rows is None else (factor.rows,)))
    if isinstance(factor, Term):
        return (factor.density,)
    return factor.inputs


def log_density(factor: Factor, values: Mapping[Any, Any] | None = None) -> Tensor:
    """The log-density of a factor, entry by entry, with values in place of variables."""
    at = values or {}
    if isinstance(factor, Term):
        return substitute(factor.density, at)  # type: ignore[return-value]
    owner = factor.variable if isinstance(factor, Observation) else factor
    value = substitute(factor.value, at) if isinstance(factor, Observation) else at.get(factor, factor)
    density: Tensor = owner.family.log_density(value, *substitute(list(owner.parameters), at))
    if not isinstance(factor, Observation) or factor.rows is None:
        return density
    return tt.switch(substitute(factor.rows, at), density, 0.0)


def written_by_user(factor: Factor) -> bool:
    """Whether a function of the user's says what the log-density is: it may join rows, as by a sum or a mean, and tells
    only by its expression which number depends on what."""
    if isinstance(factor, Term):
        return False
    owner = factor.variable if isinstance(factor, Observation) else factor
    return any(law.family.written_by_user for law in (owner, *laws_of(owner)))


def in_the_way(factor: RandomVariable | Term) -> str:
    """Why a variable stays that a factor depends on, where that is no observation."""
    if isinstance(factor, RandomVariable):
        return f'"{factor.name}" depends on it and is not observed'
    if not factor.without:
        return (
            f'the potential "{factor.name}" depends on it'
            if factor.kind == "potential"
            else f'"{factor.name}" depends on it'
        )
    *most, last = shortened(factor.without)
    names = f"{', '.join(most)} and {last} are" if most else f"{last} is"
    return f"no rule integrates it out once {names}"


MOST_NAMES = 8  # that a sentence lists


def shortened(names: Sequence[str]) -> list[str]:
    """Names for a sentence: of many the first ones and how many more there are."""
    return list(names) if len(names) <= MOST_NAMES else [*names[:3], f"{len(names) - 3} more"]


def where_valid(density: Tensor, conditions: Iterable[Tensor]) -> Tensor:
    """A density that is 0 where a parameter of what was eliminated lies outside its domain, as it was before."""
    valid: Tensor | None = None
    for condition in conditions:
        whole = tt.all(condition) if condition.ndim else condition
        valid = whole if valid is None else valid & whole
    return density if valid is None else tt.switch(valid, density, -np.inf)


def reaches(factor: Factor, symbols: Collection[Node] = ()) -> set[Node]:
    """All nodes a factor depends on, not counting the variable whose factor it is; nothing behind `symbols`, whose
    values are given."""
    return ancestors(list(parts(factor)), blockers=symbols)


def children(program: Program, variable: Node) -> list[Factor]:
    """The factors that depend on the value of a free variable, its own apart."""
    return list(program.dependents[variable])
