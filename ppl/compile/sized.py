"""Graphs whose sizes are values: one program for each combination of those values.

`tt.arange(n)`, `x[:n]` or `scan(..., n_steps=n)` of an input n have a length that a compiled program must know. Where a
size is computed of arrays, as the number of steps of a loop with `until`, a program of its own works it out first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.graph import Node
from ppl.rewrites.values.present_sizes import at_present_sizes
from ppl.tensor.core.sizing import Deciding
from ppl.tensor.tensor import Tensor, constant
from ppl.xla.private import is_traced

_KEPT = 64  # combinations of values; the least recently used is dropped

Compile = Callable[[list[Tensor], list[Node], list[Node]], tuple[Any, Sequence[Any]]]


class SizedProgram:
    """Programs made as values that decide sizes come, by `compile(inputs, variables, outputs)` of what is left open."""

    def __init__(
        self, inputs: Sequence[Tensor], variables: Sequence[Node], outputs: Sequence[Node], deciding: Deciding,
        compile: Compile,
    ) -> None:  # fmt: skip
        self.outputs, self.compile, self.computed = list(outputs), compile, deciding.computed
        self.given = {at: x for at, x in enumerate([*inputs, *variables]) if x in deciding.leaves}
        self.inputs = [x for x in inputs if x not in deciding.leaves]
        self.variables = [x for x in variables if x not in deciding.leaves]
        self.compilations = 0  # programs that have been compiled, for all sizes
        self._sizes = compile(list(inputs), list(variables), list(self.computed)) if self.computed else None
        self._program = functools.lru_cache(_KEPT)(self._made)

    def _made(self, *numbers: Any) -> tuple[Any, Sequence[Any]]:
        fixed: dict[Node, Node] = {v: v for v in self.variables}
        for node, value in zip([*self.given.values(), *self.computed], numbers, strict=True):
            fixed[node] = constant(np.array(value, node.type.dtype))
        return self.compile(self.inputs, self.variables, at_present_sizes(self.outputs, fixed))

    def run(self, *values: Any) -> Any:
        """The outputs: all in a list, or the one there is."""
        numbers = [_number(node, values[at]) for at, node in self.given.items()]
        if self._sizes is not None:
            found = self._counted(*self._sizes, values)
            sizes = [found] if len(self.computed) == 1 else found
            numbers += [_number(node, value) for node, value in zip(self.computed, sizes, strict=True)]
        return self._counted(*self._program(*numbers), [v for at, v in enumerate(values) if at not in self.given])

    def _counted(self, program: Any, constants: Sequence[Any], values: Sequence[Any]) -> Any:
        before = program.compilations
        results = program.run(*values, *constants)
        self.compilations += program.compilations - before
        return results


def _number(node: Node, value: Any) -> Any:
    if is_traced(value):
        raise TypeError(
            f"{node!r} decides sizes, and is traced by a transformation of JAX (jit, grad, vmap, scan), where it has "
            "no value: make it an argument that JAX holds fixed, as static_argnums does"
        )
    number = np.asarray(value).tolist()
    return tuple(number) if isinstance(number, list) else number
