"""Work that depends on data alone, taken out of programs that run many times.

A log-density is evaluated a million times with the same data. `hoisted` cuts its graph where data meet values: what
lies on the side of the data is computed once by a program of its own, what is left takes the results as inputs. So
sufficient statistics need no special treatment: once algebra has written them as sums of data, they are hoisted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ppl.compile.pure import Program
from ppl.graph import Node, substitute
from ppl.rewrites.sharing.invariants import last_still
from ppl.tensor.tensor import Tensor, placeholder
from ppl.xla.later import wide
from ppl.xla.stacks import Jitted


def hoisted(outputs: Sequence[Tensor], inputs: Sequence[Node]) -> tuple[list[Tensor], dict[Tensor, Tensor]]:
    """The outputs over further inputs, and for each of these the expression of data that it stands for."""
    given = set(inputs)
    moves = lambda node: node in given or (not node.inputs and not node.op.computed and node.op.name != "variable")
    still = last_still(outputs, moves, cheap=lambda node: node.type.shape == () and node.type.dtype[0] in "ui")
    cut: dict[Node, Node] = {node: placeholder(node.type) for node in still}
    rest = substitute(list(outputs), cut)
    return rest, {place: node for node, place in cut.items()}  # type: ignore[return-value, misc]


Once = Callable[[Program], list[Any]]  # works out a program of data alone
_compiled: dict[Hashable, Jitted] = {}


def computed(program: Program) -> list[Any]:
    """The values of a program of data alone; compiled once for each content."""
    key = program.key
    if key not in _compiled:
        _compiled[key] = Jitted(lambda *data: program([], *data))
    with wide():
        return _compiled[key](*program.data)


class DataFirst:
    """Expressions of inputs, as `Program` has them, whose work on data alone is done by `once` before they run."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Tensor], once: Once = computed) -> None:
        rest, before = hoisted(outputs, inputs)
        self.inputs, self.outputs, self._once = list(inputs), list(outputs), once
        self._before, self._rest = Program([], list(before.values())), Program([*inputs, *before], rest)
        self._count = len(before)

    @property
    def data(self) -> tuple[Any, ...]:
        """What is computed from data alone, and the present values of the other arrays."""
        return (*(self._once(self._before) if self._count else ()), *self._rest.data)

    @property
    def places(self) -> list[Node]:
        """What stands for the data, one by one."""
        return [*self._rest.inputs[len(self.inputs) :], *self._rest.places]

    @property
    def left(self) -> list[Tensor]:
        """The outputs, over the inputs and what stands for the data."""
        return self._rest.outputs

    @property
    def key(self) -> Hashable:
        """Stands for what is left to compute."""
        return self._rest.key

    def __call__(self, values: Sequence[Any], *data: Any) -> list[Any]:
        return self._rest([*values, *data[: self._count]], *data[self._count :])
