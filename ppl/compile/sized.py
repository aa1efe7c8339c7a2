"""Graphs whose sizes are values of inputs or variables: one program for each combination of those values.

`tt.arange(n)`, `x[:n]` or `scan(..., n_steps=n)` of an input n have a length that a compiled program must know.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ppl.graph import Node
from ppl.rewrites.present import at_present_sizes
from ppl.tensor.sizing import deciding
from ppl.tensor.tensor import Tensor, constant

_KEPT = 64  # combinations of values; the least recently used is dropped

Compile = Callable[[list[Tensor], list[Node], list[Node]], tuple[Any, Sequence[Any]]]


def size_places(leaves: Sequence[Node], outputs: Sequence[Node]) -> list[int]:
    """Which of the leaves decide sizes: integers, and vectors of integers such as a shape."""
    found = deciding(outputs)
    return [at for at, x in enumerate(leaves) if x in found and x.type.dtype[0] in "ui" and len(x.type.shape) <= 1]


class SizedProgram:
    """Programs made as the values at `places` come, by `compile(inputs, variables, outputs)` of what is left open."""

    def __init__(
        self, inputs: Sequence[Tensor], variables: Sequence[Node], outputs: Sequence[Node], places: Sequence[int],
        compile: Compile,
    ) -> None:  # fmt: skip
        self.outputs, self.compile = list(outputs), compile
        leaves = [*inputs, *variables]
        self.deciding = {at: leaves[at] for at in places}
        self.inputs = [x for at, x in enumerate(leaves[: len(inputs)]) if at not in self.deciding]
        self.variables = [x for at, x in enumerate(leaves[len(inputs) :], len(inputs)) if at not in self.deciding]
        self.compilations = 0  # programs that have been compiled, for all values that decided sizes
        self._program = functools.lru_cache(_KEPT)(self._made)

    def _made(self, *numbers: Any) -> tuple[Any, Sequence[Any]]:
        fixed: dict[Node, Node] = {v: v for v in self.variables}
        for leaf, value in zip(self.deciding.values(), numbers, strict=True):
            fixed[leaf] = constant(np.array(value, leaf.type.dtype))
        return self.compile(self.inputs, self.variables, at_present_sizes(self.outputs, fixed))

    def run(self, *values: Any) -> Any:
        """The outputs: all in a list, or the one there is."""
        program, constants = self._program(*[self._number(at, leaf, values) for at, leaf in self.deciding.items()])
        before = program.compilations
        results = program.run(*[v for at, v in enumerate(values) if at not in self.deciding], *constants)
        self.compilations += program.compilations - before
        return results

    def _number(self, at: int, leaf: Node, values: Sequence[Any]) -> Any:
        if isinstance(values[at], jax.core.Tracer):
            raise TypeError(
                f"{leaf!r} decides sizes, and is traced by a transformation of JAX (jit, grad, vmap, scan), where it "
                "has no value: make it an argument that JAX holds fixed, as static_argnums does"
            )
        number = np.asarray(values[at]).tolist()
        return tuple(number) if isinstance(number, list) else number
