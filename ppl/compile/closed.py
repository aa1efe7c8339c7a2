"""Closed graphs compiled once, however many functions are made of them.

A closed graph has no leaves but its numbered parameters and small constants. Nodes are hash-consed, so two graphs of
the same content become the same closed graph, and the table of programs is looked up by content.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ppl.compile.lifting import lift_constants
from ppl.graph import Body, Node, close
from ppl.tensor.core.evaluate import evaluate
from ppl.xla.stacks import Jitted

_KEPT = 256  # programs; the least recently used is dropped


class ClosedProgram:
    """A closed graph and its compiled forms, one for each combination of sizes that was met.

    Its last parameters are the large constants; `lifted` are their places inside bodies.
    """

    def __init__(self, body: Body, lifted: tuple[Node, ...]) -> None:
        self.body, self.lifted = body, lifted
        self.compilations = 0  # combinations of sizes that have been compiled
        self._jitted = Jitted(self._evaluate)

    @property
    def run(self) -> Callable[..., Any]:
        """What runs it; another thing once it ran."""
        return self._jitted.run

    def _evaluate(self, *values: Any) -> Any:
        """All outputs in a list; the one there is, bare, since a list costs a call a tenth of its time."""
        self.compilations += 1  # JAX comes here once for each combination
        given = dict(zip(self.body.params, values, strict=True))
        first = len(values) - len(self.lifted)
        results = evaluate(self.body.outputs, given, ambient=dict(zip(self.lifted, values[first:], strict=True)))
        return results[0] if len(results) == 1 else results


@functools.lru_cache(maxsize=_KEPT)
def _kept(body: Body, lifted: tuple[Node, ...]) -> ClosedProgram:
    return ClosedProgram(body, lifted)


def closed_program(inputs: Sequence[Node], outputs: Sequence[Node]) -> tuple[ClosedProgram, list[Any]]:
    """The program from `inputs` to `outputs`, and the values of its further arguments: the large constants."""
    wanted, constants = lift_constants(outputs)
    body, captured = close([*inputs, *constants], wanted)
    assert not captured, f"{captured} are no inputs"
    return _kept(body, tuple(constants)), list(constants.values())
