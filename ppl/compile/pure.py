"""Graphs as pure JAX functions whose arrays are arguments, with a key that stands for their content.

Data, and every constant that says nothing of what is to be computed, become arguments, so that other numbers run the
same compiled program. The key is equal for graphs that compute the same thing from as many inputs, in every order of
construction; with it a program that was compiled for one model serves another built alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ppl.graph import Identity, Node, ancestors, leaves, substitute
from ppl.graph.digest import digest, visiting
from ppl.graph.registry import OPS
from ppl.rewrites.values.reads import note
from ppl.tensor.core.elementwise import power
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.core.ops import Elementwise, Reduction
from ppl.tensor.core.sizing import deciding
from ppl.tensor.core.structural import is_structural
from ppl.tensor.tensor import CONSTANT, INPUT, Tensor, TensorType, placeholder, value_of
from ppl.tensor.variables import VARIABLE, Cell
from ppl.xla.later import wide


class Program:
    """Expressions of inputs as a pure function: `program(values of the inputs, *data) -> values of the outputs`."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Tensor]) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        reached = ancestors(self.outputs, blockers=self.inputs)
        given = set(self.inputs)
        order = [node for node in visiting(self.outputs) if node in reached and node not in given]
        fixed, self._sizes = _known_sizes(self.outputs, self.inputs)
        self._fixed = {v: fixed[v] for v in order if v in fixed}
        needed = _needed_as_they_are(order)
        self.arrays = [
            v
            for v in order
            if (v.op is VARIABLE and v not in self._fixed)
            or (v.op is CONSTANT and v not in needed and not is_structural(value_of(v)))
        ]

    @property
    def places(self) -> list[Node]:
        """What stands for the data, one by one."""
        return self.arrays

    @property
    def left(self) -> list[Tensor]:
        """The outputs, over the inputs and what stands for the data."""
        return self.outputs

    @property
    def data(self) -> tuple[Any, ...]:
        """The present values of the arrays."""
        return tuple([value_of(a) if a.op is CONSTANT else np.asarray(a.attrs["cell"].value) for a in self.arrays])

    @cached_property
    def key(self) -> Hashable:
        """Stands for what is computed: equal keys, equal results for equal inputs and data."""
        open_places = {a: placeholder(a.type) for a in self.arrays}
        wanted = substitute(self.outputs, open_places)
        everything = [*self.inputs, *open_places.values(), *wanted]
        fixed = tuple((v.tobytes(), v.shape) for v in self._fixed.values())
        objects = tuple(thing for node in visiting(everything) for thing in _beyond_digest(node))
        return digest(everything), fixed, objects

    def __call__(self, values: Sequence[Any], *data: Any) -> list[Any]:
        known: dict[Node, Any] = {**self._fixed, **self._sizes, **dict(zip(self.arrays, data, strict=True))}
        known.update(zip(self.inputs, values, strict=True))
        return evaluate(self.outputs, known)


def missing_inputs(program: Program) -> list[Tensor]:
    """Inputs that the outputs need and the program is not given."""
    given = set(program.inputs)
    return [n for n in ancestors(program.outputs, blockers=program.inputs) if n.op is INPUT and n not in given]  # type: ignore[misc]


def _known_sizes(
    outputs: Sequence[Node], inputs: Sequence[Node]
) -> tuple[dict[Node, np.ndarray], dict[Node, np.ndarray]]:
    """Variables that decide sizes, which cannot be arguments, since a program has fixed shapes; and the sizes that
    follow from them by way of arrays, as the number of true entries of a mask, worked out now."""
    decide = deciding(outputs, inputs)
    behind = {end: leaves([end]) for end in decide.computed if ancestors([end]).isdisjoint(inputs)}
    known = {end: x for end, x in behind.items() if all(v.op in (VARIABLE, CONSTANT) for v in x)}
    variables = {v for v in decide.leaves.union(*known.values()) if v.op is VARIABLE}
    note(variables)
    fixed = {v: np.asarray(v.attrs["cell"].value) for v in variables}
    with wide():
        found = evaluate(list(known), fixed)
    return fixed, dict(zip(known, map(np.asarray, found), strict=True))


def _needed_as_they_are(order: Sequence[Node]) -> set[Node]:
    """Constants that are read when the program is traced: exponents, and masks that say how many entries are taken."""
    found: set[Node] = set()
    for node in order:
        if node.op is power:
            found.update(node.inputs[1:])
        elif not isinstance(node.op, Elementwise | Reduction):
            found.update(x for x in node.inputs if x.op is CONSTANT and x.type.dtype == "bool")  # type: ignore[attr-defined]
    return found


def _beyond_digest(node: Node) -> Iterator[Hashable]:
    """What the digest of a node counts by position only, and yet decides what is computed: functions and families."""
    if OPS.get(node.op.name) is not node.op and not isinstance(node.op, type(INPUT) | type(CONSTANT)):
        yield node.op
    if node.attrs:
        for value in node.attrs.values():
            yield from _objects(value)


def _objects(value: Any) -> Iterator[Hashable]:
    if isinstance(value, tuple):
        for item in value:
            yield from _objects(item)
    elif value is None or isinstance(value, Identity | Cell | TensorType):
        return
    elif callable(value) or type(value).__hash__ is object.__hash__:
        yield value
