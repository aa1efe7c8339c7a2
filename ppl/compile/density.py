"""Log-densities as functions of one flat vector, as samplers want them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ppl.compile.grouping import grouped
from ppl.compile.hoisting import DataFirst, Once, computed
from ppl.compile.numbers import held_numbers
from ppl.graph import Node, leaves
from ppl.graph.records import record
from ppl.rewrites.values.folding import in_steps
from ppl.tensor.tensor import Tensor
from ppl.tensor.variables import VARIABLE
from ppl.xla.later import jnp, lax, wide


@record
class Slot:
    """Where a value lies in the flat vector."""

    variable: Tensor
    shape: tuple[int, ...]
    start: int

    @property
    def stop(self) -> int:
        return self.start + prod(self.shape)

    def read(self, position: Any) -> Any:
        """The value in its own shape and dtype; `position` may have axes in front."""
        part = position[..., self.start : self.stop].reshape(position.shape[:-1] + self.shape)
        if self.variable.dtype[0] != "f":
            part = (np if isinstance(part, np.ndarray) else jnp).rint(part)
        return part if part.dtype == self.variable.dtype else part.astype(self.variable.dtype)


def layout(variables: Sequence[Tensor], point: Mapping[str, np.ndarray]) -> list[Slot]:
    """The places of values in a flat vector, by the shapes they have at `point`."""
    return in_a_row([(variable, np.shape(point[variable.name or ""])) for variable in variables])


def in_a_row(shapes: Iterable[tuple[Tensor, tuple[int, ...]]]) -> list[Slot]:
    """The places of values of such shapes, one after the other."""
    slots: list[Slot] = []
    for variable, shape in shapes:
        slots.append(Slot(variable, shape, slots[-1].stop if slots else 0))
    return slots


def flattened(slots: Sequence[Slot], point: Mapping[str, np.ndarray]) -> np.ndarray:
    """The values of a point in one vector."""
    parts = [np.ravel(point[slot.variable.name or ""]).astype(np.float64) for slot in slots]
    return np.concatenate(parts) if parts else np.zeros(0)


def labels(slots: Sequence[Slot], names: Mapping[Tensor, str | tuple[str, ...]] | None = None) -> list[str]:
    """A name for every entry of the vector: "mu", "beta[2]"; `names` may hold other names of values, or of entries."""
    found: list[str] = []
    for slot in slots:
        name = (names or {}).get(slot.variable, slot.variable.name or "")
        if isinstance(name, tuple):
            found += name
        else:
            found += [name] if not slot.shape else [f"{name}{list(i)}" for i in np.ndindex(slot.shape)]
    return found


class FlatProgram:
    """Expressions of values as a pure JAX function of (position, *data); further inputs come after the position.

    What depends on data alone is computed once, by `once`, before the program runs, and passed with the data. Where
    variables `moved` are given, slopes are taken in these alone: a function without slopes may depend on the others.
    """

    def __init__(
        self,
        outputs: Sequence[Tensor],
        slots: Sequence[Slot],
        extra: Sequence[Tensor] = (),
        once: Once = computed,
        moved: Collection[Tensor] | None = None,
    ) -> None:
        self.slots, self._extra = list(slots), len(extra)
        self._still = [moved is not None and slot.variable not in set(moved) for slot in slots]
        inputs = [*[slot.variable for slot in slots], *extra]
        self.program = DataFirst(inputs, held_numbers(grouped(outputs, inputs), inputs), once)

    @property
    def data(self) -> tuple[Any, ...]:
        """The present values of the arrays, and of what is computed from them alone."""
        return self.program.data

    @property
    def key(self) -> Hashable:
        """Stands for what is computed and for the layout of the vector."""
        layout = tuple(slot.shape for slot in self.slots)
        return (self.program.key, layout, *([tuple(self._still)] if any(self._still) else []))

    def __call__(self, position: Any, *data: Any) -> list[Any]:
        given, arrays = data[: self._extra], data[self._extra :]
        values = [slot.read(position) for slot in self.slots]
        values = [lax.stop_gradient(x) if still else x for x, still in zip(values, self._still, strict=True)]
        return self.program([*values, *given], *arrays)


def values_at(
    outputs: Sequence[Tensor], slots: Sequence[Slot], position: np.ndarray, of_data: Once | None = None
) -> list[np.ndarray]:
    """The values of expressions at one position, operation by operation: NumPy has most, JAX is asked for the
    others, so that no program is compiled. `of_data` may know what depends on data alone."""
    known: dict[Node, Any] = {slot.variable: slot.read(np.asarray(position)) for slot in slots}
    left: Sequence[Node] = outputs
    if of_data is not None:
        program = FlatProgram(outputs, slots, once=of_data).program
        left = program.left
        known.update(zip(program.places, program.data, strict=True))
    known.update((v, np.asarray(v.attrs["cell"].value)) for v in leaves(left) if v.op is VARIABLE and v not in known)
    with wide(), np.errstate(all="ignore"):
        return [np.asarray(value) for value in in_steps(left, known)]


def scalar(program: FlatProgram) -> Callable[..., Any]:
    """The first output alone."""
    return lambda position, *data: program(position, *data)[0]
