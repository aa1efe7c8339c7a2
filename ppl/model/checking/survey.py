"""What checks look at: a model at its present sizes, with its data, its laws and what depends on what.

Each part is worked out once, when the first check asks for it, by NumPy alone: nothing here compiles a program. What
would take too long is left out, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.distributions.declaration.inner import laws_of
from ppl.graph import Node, ancestors
from ppl.model.checking.directions import Directions, invariant_directions
from ppl.model.checking.prior_draws import PriorDraws, prior_draws
from ppl.model.posterior.rewriting import rewritten
from ppl.model.posterior.snapshot import Present, at_present
from ppl.rewrites.marginalization import Plan
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.tensor import Tensor, is_constant, value_of
from ppl.tensor.variables import Variable

MOST_VARIABLES = 150  # up to which a model is planned and drawn from, half a millisecond each


class Survey:
    """A model as checks see it. What could not be looked at is noted in `skipped`."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.skipped: list[str] = []

    @cached_property
    def now(self) -> Present:
        """The model at the sizes that its data have."""
        return at_present(self.model)

    @cached_property
    def free(self) -> list[RandomVariable]:
        """The free variables that are draws from a family."""
        return [rv for rv in self.now.free_RVs if isinstance(rv, RandomVariable)]

    @cached_property
    def is_free(self) -> set[Node]:
        """The free variables, for looking up."""
        return set(self.free)

    @cached_property
    def observed(self) -> list[RandomVariable]:
        """The observed variables."""
        return [rv for rv in self.now.observed_RVs if isinstance(rv, RandomVariable)]

    @cached_property
    def values(self) -> dict[RandomVariable, np.ndarray]:
        """The observed values that are known."""
        found = {rv: constant_of(self.now.rvs_to_values[rv]) for rv in self.observed if not self.is_random_rows(rv)}
        return {rv: value for rv, value in found.items() if value is not None}

    def is_random_rows(self, rv: RandomVariable) -> bool:
        """Whether the values of an observed variable are a minibatch."""
        behind = ancestors([self.now.rvs_to_values[rv]])
        return any(isinstance(node, Variable) and node.default_update is not None for node in behind)

    # --- what depends on what ---------------------------------------------------------------------------------------
    @cached_property
    def ends(self) -> list[Node]:
        """The observed variables that have rows, and the potentials: all that learning starts from."""
        return [*(rv for rv in self.now.observed_RVs if 0 not in rv.type.shape), *self.now.potentials]

    @cached_property
    def behind(self) -> dict[Node, set[Node]]:
        """The free variables that a variable or potential depends on, directly or by others; worked out when asked."""
        return _Behind(self.is_free)

    @cached_property
    def informed(self) -> set[Node]:
        """The free variables that some data or potential depends on."""
        return ancestors(self.ends) & self.is_free

    def parents(self, expression: Node) -> list[RandomVariable]:
        """The free variables that an expression is computed from, without those behind these."""
        found = ancestors([expression], blockers=self.is_free) & self.is_free
        return sorted(found, key=lambda rv: rv.serial)  # type: ignore[arg-type,return-value]

    @cached_property
    def laws(self) -> list[tuple[RandomVariable, tuple[Tensor, ...]]]:
        """The free and observed variables, each with all that its law is made of."""
        return [(rv, tuple(law_inputs(rv))) for rv in (*self.free, *self.observed)]

    def is_used_by_one(self, rv: Node, user: Node) -> bool:
        """Whether the law of one variable depends on another by itself, and nothing else does."""
        users = {v for v, inputs in self.laws if rv in ancestors(inputs, blockers=self.is_free)}
        users |= {p for p in self.now.potentials if rv in self.behind[p]}
        return users == {user}

    def is_root(self, rv: RandomVariable) -> bool:
        """Whether the law of a free variable is known: its parameters are constants and data."""
        return all(is_data(p) for p in law_inputs(rv))

    def is_improper(self, rv: RandomVariable) -> bool:
        """Whether a variable has no proper prior of its own."""
        return rv.family.improper and not any(rv in self.behind[p] for p in self.now.potentials)

    def constants(self, rv: RandomVariable) -> dict[str, np.ndarray] | None:
        """The parameters of a variable with a known law, by name."""
        if not self.is_root(rv):
            return None
        values = [constant_of(p) for p in rv.parameters]
        return {name: v for name, v in zip(rv.family.params, values, strict=False) if v is not None}

    # --- what takes longer ------------------------------------------------------------------------------------------
    def is_too_large(self, what: str) -> bool:
        """Whether a model has too many variables for something to be looked at in time; then it is noted."""
        count = len(self.now.basic_RVs)
        if count > MOST_VARIABLES:
            self.skipped.append(f"{what}: the model has {count:,} variables")
        return count > MOST_VARIABLES

    @cached_property
    def plan(self) -> Plan | None:
        """What rewriting makes of the model; it is kept with the model, so that sampling need not plan again."""
        if self.is_too_large("what rewriting leaves to sample (see pm.explain)"):
            return None
        return rewritten(self.model).plan

    @cached_property
    def prior(self) -> PriorDraws | None:
        """Some draws from the prior, and of data from them."""
        if self.is_too_large("draws from the prior"):
            return None
        found = prior_draws(self.free, self.observed, self.values)
        if isinstance(found, str):
            self.skipped.append(f"draws from the prior: {found}")
            return None
        return found

    @cached_property
    def directions(self) -> Directions | None:
        """In which directions the variables of known laws move without any other law noticing."""
        if self.is_too_large("whether parameters are identified"):
            return None
        found = invariant_directions(self)
        if isinstance(found, str):
            self.skipped.append(f"whether parameters are identified: {found}")
            return None
        return found


class _Behind(dict[Node, set[Node]]):
    def __init__(self, free: set[Node]) -> None:
        self.free = free

    def __missing__(self, node: Node) -> set[Node]:
        self[node] = ancestors([node]) & self.free - {node}
        return self[node]


def law_inputs(rv: RandomVariable) -> Iterator[Tensor]:
    """All that a law is made of; a law among its parameters stands for its own."""
    inner = set(laws_of(rv))
    for p in rv.parameters:
        if p in inner and isinstance(p, RandomVariable):
            yield from law_inputs(p)
        else:
            yield p


def constant_of(node: Node) -> np.ndarray | None:
    """The present value of an expression of constants and data, which may be nan; None where NumPy has none."""
    if is_constant(node):
        return value_of(node)
    if not is_data(node):
        return None
    held: dict[Node, np.ndarray] = {n: np.asarray(n.value) for n in ancestors([node]) if isinstance(n, Variable)}
    found = step_by_step([node], held)
    return None if found is None else found[0]
