"""Which method moves which variable: the user's choice, and PyMC's for the rest."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.graph import ancestors
from ppl.graph.records import record
from ppl.model.inference.steps.by_density import Metropolis, Slice
from ppl.model.inference.steps.by_gradients import NUTS, HamiltonianMC
from ppl.model.inference.steps.colors import Palette
from ppl.model.inference.steps.methods import CompoundStep
from ppl.model.inference.steps.of_categories import BinaryGibbsMetropolis, CategoricalGibbsMetropolis, categories
from ppl.model.inference.steps.step_method import Finder, StepMethod
from ppl.samplers.steps.evolution import LEAST_CHAINS
from ppl.samplers.steps.moves import Move
from ppl.samplers.steps.sweep import Stretch
from ppl.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ppl.compile.density import Slot
    from ppl.model.model import Model
    from ppl.model.posterior.rewriting import Posterior


@record
class Assignment:
    """The methods of a sweep. The one that follows gradients comes first, and all its variables lie side by side."""

    nuts: list[Tensor]
    methods: list[StepMethod]
    names: Mapping[Tensor, str | tuple[str, ...]]  # of the variables behind each value
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the method that follows gradients

    @property
    def only_nuts(self) -> bool:
        """Does the method that follows gradients move everything?"""
        return not self.methods

    @property
    def order(self) -> list[Tensor]:
        """All values in the order of the vector."""
        return [*self.nuts, *(value for method in self.methods for value in method.vars)]

    def palette(self, posterior: Posterior, slots: Sequence[Slot]) -> Palette:
        """Which entries of discrete variables may move together."""
        asking = [method for method in self.methods if method.by_color]
        lengths = {slot.variable: slot.shape for slot in slots}
        return Palette([vs for method in asking for _, _, vs in method.stretches(slots)], posterior.terms, lengths)

    def blocks(self, slots: Sequence[Slot], draws: int, colors: Finder) -> list[Stretch | Move]:
        """What the sampler needs to know of each method."""
        found: list[Stretch | Move] = []
        mine = [slot for slot in slots if slot.variable in set(self.nuts)]
        if mine and mine[-1].stop > mine[0].start:
            found.append(Stretch(mine[0].start, mine[-1].stop))
        for method in self.methods:
            found += method.moves(slots, draws, colors)
        return found

    def check_population(self, chains: int) -> None:
        """Raise where chains cannot learn from each other, and warn where they learn too little."""
        method = next((method for method in self.methods if method.population), None)
        if method is None:
            return
        who = type(method).__name__
        if self.nuts:
            raise ValueError(
                f"{who} moves chains in step, and NUTS would move {', '.join(str(v.name) for v in self.nuts)} out of"
                f" step. Let {who} move these too, or choose Metropolis or Slice for them."
            )
        if chains < LEAST_CHAINS:
            raise ValueError(f"{who} requires at least {LEAST_CHAINS} chains, got {chains}: give chains=.")
        entries = sum(int(np.prod(value.type.shape)) for value in method.vars if None not in value.type.shape)
        if chains <= entries:
            warnings.warn(
                f"{who} should be used with more chains than dimensions: it moves {entries}, and there are {chains}"
                " chains.", UserWarning, stacklevel=5,
            )  # fmt: skip

    def describe(self) -> str:
        """One line a method with the names of its variables, as PyMC shows them."""
        by_gradient = "HamiltonianMC" if "path_length" in self.settings else "NUTS"
        movers = [(by_gradient, self.nuts)] if self.nuts else []
        movers += [(type(method).__name__, method.vars) for method in self.methods]
        lines = [f">{kind}: [{', '.join(map(self._name, values))}]" for kind, values in movers]
        return "\n".join(["CompoundStep" if len(lines) > 1 else "Step", *lines])

    def _name(self, value: Tensor) -> str:
        name = self.names[value]
        return name if isinstance(name, str) else ", ".join(name)


# What `sample(metropolis={...})` and its like give to the method that is chosen for counts.
FOR_COUNTS = {
    "binary_gibbs_metropolis": BinaryGibbsMetropolis,
    "categorical_gibbs_metropolis": CategoricalGibbsMetropolis,
    "metropolis": Metropolis,
}


def assign(posterior: Posterior, step: Any, options: Mapping[str, Mapping[str, Any]] | None = None) -> Assignment:
    """The user's steps first; then NUTS for what has a gradient, slices for what has none, and Gibbs or Metropolis for
    counts, with the `options` of each by its name."""
    given = _flat(step, posterior.model)
    values = list(posterior.values)
    here = set(values)
    for method in given:
        lost = [v.name for v in method.vars if v not in here]
        if lost:
            raise ValueError(
                f"{type(method).__name__}: {', '.join(map(str, lost))} is not sampled any more after rewriting, or "
                "belongs to another model. Keep it with protect=, or sample with rewrite=False."
            )
    taken: set[Tensor] = set()
    for method in given:
        twice = [v.name for v in method.vars if v in taken]
        if twice:
            raise ValueError(f"step: two methods move {', '.join(map(str, twice))}")
        taken |= set(method.vars)
    rest = [value for value in values if value not in taken]
    nuts = [method for method in given if isinstance(method, NUTS | HamiltonianMC)]
    opaque = _without_gradient(posterior, rest)
    by_nuts = [v for method in nuts for v in method.vars] + [v for v in rest if v.dtype[0] == "f" and v not in opaque]
    methods = [method for method in given if not isinstance(method, NUTS | HamiltonianMC)]
    methods += [Slice(opaque, model=posterior.model)] if opaque else []
    methods += _for_counts(posterior, [value for value in rest if value.dtype[0] != "f"], options or {})
    settings = [_settings(method) for method in nuts]
    if any(each != settings[0] for each in settings):
        raise ValueError("step: several NUTS methods with different settings; all of NUTS' variables move together")
    return Assignment(by_nuts, methods, posterior.names, settings[0] if settings else {})


def _without_gradient(posterior: Posterior, values: list[Tensor]) -> list[Tensor]:
    """The real values that an operation without gradient is computed from, on the way to the density."""
    operations = [node for node in ancestors(posterior.terms.values()) if not getattr(node.op, "differentiable", True)]
    used = ancestors(operations)
    return [v for v in values if v.dtype[0] == "f" and v in used]


def _settings(method: NUTS | HamiltonianMC) -> dict[str, Any]:
    """How the sampler runs for a method that follows gradients."""
    found: dict[str, Any] = {"target_accept": method.target_accept, "max_treedepth": method.max_treedepth}
    if method.step_scale is not None:
        found["step_scale"] = method.step_scale
    if isinstance(method, HamiltonianMC):
        found |= {"kernel": "hmc", "path_length": method.path_length}
    return found


def stepped(model: Model, step: Any) -> list[str]:
    """The variables that the user's steps move: rewriting must leave them where they are."""
    behind = model.values_to_rvs
    return [behind[v].name or "" for method in _flat(step, model) for v in method.vars if v in behind]


def _flat(step: Any, model: Model) -> list[StepMethod]:
    """The methods in whatever a user gives; a class stands for one of all variables that it can move."""
    if step is None:
        return []
    if isinstance(step, CompoundStep):
        return _flat(step.methods, model)
    if isinstance(step, list | tuple):
        return [method for each in step for method in _flat(each, model)]
    if isinstance(step, type) and issubclass(step, StepMethod):
        return [step(model=model)]
    if not isinstance(step, StepMethod):
        raise TypeError(f"step is a step method such as Metropolis(vars), or a list of them, got {step!r}")
    return [step]


def _for_counts(
    posterior: Posterior, values: list[Tensor], options: Mapping[str, Mapping[str, Any]]
) -> list[StepMethod]:
    """PyMC's choice for discrete variables."""
    model = posterior.model
    binary: list[Tensor] = []
    categorical: list[Tensor] = []
    other: list[Tensor] = []
    for value in values:
        rv = model.values_to_rvs.get(value)
        try:
            n = categories(model, value) if rv is not None else 0
        except ValueError:
            n = 0
        (binary if n == 2 else categorical if n else other).append(value)
    found = dict(zip(FOR_COUNTS, (binary, categorical, other), strict=True))
    for name in options:
        if not found[name]:
            raise ValueError(f"Unused step method arguments: {name}={options[name]!r}; no variable is moved by it here")
    chosen = {name: values for name, values in found.items() if values}
    return [FOR_COUNTS[name](values, model=model, **options.get(name, {})) for name, values in chosen.items()]
