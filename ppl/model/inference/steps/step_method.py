"""What all step methods are: the variables that they move, and the places of these in the vector of the sampler."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ppl.model.context import modelcontext
from ppl.samplers.steps.moves import Move
from ppl.samplers.steps.sites import Colors
from ppl.tensor.core.labelled import Labelled, bare
from ppl.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ppl.compile.density import Slot
    from ppl.model.model import Model


Finder = Callable[[Sequence[Tensor]], Colors | None]


class StepMethod:
    """Moves some of the variables of a model. `vars` are random variables or their values; None stands for all."""

    kinds = "fiub"  # of dtypes that it can move
    blocked = False  # do its variables move as one?
    population = False  # does a chain learn from the others?

    def __init__(
        self, vars: Any, model: Model | None, of_sample: dict[str, Any], metric: dict[str, Any] | None = None
    ) -> None:
        """`of_sample` are arguments of PyMC that say here what `sample` decides, `metric` those for a mass matrix: they
        are taken with a warning that they have no effect."""
        for name, value in of_sample.items():
            if value is not None:
                _tell(self, name, "draws and starts come from the arguments of sample()")
        for name, value in (metric or {}).items():
            if value is not None:
                _tell(self, name, "the mass matrix is learnt while tuning, from the first draws on")
        self.model = modelcontext(model)
        self.vars = self._values(vars)

    def _values(self, vars: Any) -> list[Tensor]:
        model = self.model
        if vars is None:
            return [value for value in model.value_vars if value.dtype[0] in self.kinds]
        found = []
        known = set(model.value_vars)
        for each in [vars] if isinstance(vars, str | Tensor | Labelled) else list(vars):
            rv = model.variable(each) if isinstance(each, str) else bare(each)
            value = model.rvs_to_values.get(rv, rv)
            if value not in known:
                raise ValueError(f"{type(self).__name__}: {rv!r} is no free variable of the model")
            if value.dtype[0] not in self.kinds:
                kind = "continuous" if value.dtype[0] == "f" else "discrete"
                raise ValueError(f'{type(self).__name__} cannot move "{rv.name}": it is {kind} ({value.dtype})')
            found.append(value)
        if not found:
            raise ValueError(f"{type(self).__name__}: no variables to move")
        return found

    def moves(self, slots: Sequence[Slot], draws: int, colors: Finder) -> Iterator[Move]:
        """The moves for the places of its variables in the vector; of many entries at once where these have colors."""
        for start, stop, variables in self.stretches(slots):
            found = colors(variables) if self.by_color else None
            if found is None:
                yield self.move(start, stop, variables, draws)
            else:
                yield self.colored(start, stop, variables, found)

    @property
    def by_color(self) -> bool:
        """Does it move entry by entry, in any order, so that independent ones may move together?"""
        return False

    def colored(self, start: int, stop: int, variables: list[Tensor], colors: Colors) -> Move:
        """The move of one stretch, entries of a color together."""
        raise NotImplementedError(f"{type(self).__name__} does not move by colors")

    def stretches(self, slots: Sequence[Slot]) -> list[tuple[int, int, list[Tensor]]]:
        """One stretch a variable, or one for all where they move as one."""
        mine = [slot for slot in slots if slot.variable in set(self.vars) and slot.stop > slot.start]
        if self.blocked and mine:
            return [(mine[0].start, mine[-1].stop, [slot.variable for slot in mine])]
        return [(slot.start, slot.stop, [slot.variable]) for slot in mine]

    def move(self, start: int, stop: int, variables: list[Tensor], draws: int) -> Move:
        """The move of one stretch."""
        raise NotImplementedError(f"{type(self).__name__} has no move of its own")

    def __repr__(self) -> str:
        return f"{type(self).__name__}: [{', '.join(str(v.name) for v in self.vars)}]"


def _tell(method: StepMethod, name: str, why: str) -> None:
    warnings.warn(f"{type(method).__name__}: {name}= has no effect: {why}.", UserWarning, stacklevel=5)
