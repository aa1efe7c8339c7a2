"""The values of a program's outputs, at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.compile.pure import Program
from ppl.graph import Node, ancestors
from ppl.rewrites.values.by_numpy import work
from ppl.rewrites.values.folding import on_host
from ppl.rewrites.values.reads import Reads
from ppl.samplers import DRAWS, ONCE, PROGRAMS
from ppl.tensor.tensor import is_constant, value_of
from ppl.xla.later import wide

LITTLE = 4e7  # numbers, five nanoseconds each, up to which work on data is done sooner than a program is compiled
MANY = 10_000_000  # numbers given, from which on a program that runs once is worth half a second of compiling more


def values_of(program: Program, given: Sequence[Any] = ()) -> list[Any]:
    """The outputs, given values of the inputs; compiled once for all programs of the same content and sizes."""
    arguments = (list(given), program.data)
    polish = DRAWS if sum(np.size(x) for some in arguments for x in some) > MANY else ONCE
    make = lambda: lambda given, data: program(given, *data)
    with wide():
        return PROGRAMS.get(("values", program.key), make, arguments, polish, runs=1)(*arguments)


class Remembered:
    """Values of programs of data alone, each worked out once, from those that are known, until the data change."""

    def __init__(self) -> None:
        self._known: dict[Node, Any] = {}
        self._reads = Reads()
        self._lock = threading.Lock()

    def __call__(self, program: Program) -> list[Any]:
        with self._lock:
            if not self._reads.hold():
                self._known, self._reads = {}, Reads()
            new = [node for node in dict.fromkeys(program.outputs) if node not in self._known]
            if new:
                used = ancestors(new)
                self._reads.note(used)
                given = [node for node in self._known if node in used]
                self._known |= {node: value_of(node) for node in new if is_constant(node)}  # infinite ones too
                rest = [node for node in new if node not in self._known]
                values = of_data(Program(given, rest), [self._known[node] for node in given]) if rest else []
                self._known |= zip(rest, values, strict=True)
            return [self._known[node] for node in program.outputs]


def of_data(program: Program, given: Sequence[Any] = ()) -> list[Any]:
    """The outputs of a program of data: by NumPy where that is little work."""
    held = dict(zip([*program.inputs, *program.arrays], map(np.asarray, [*given, *program.data]), strict=True))
    longest = max([n for value in held.values() for n in value.shape], default=1)
    if sum(work(node, longest) for node in ancestors(program.outputs, blockers=held)) < LITTLE:
        values = on_host(program.outputs, held, programs=False, maps=True)
        if values is not None:
            return values
    return values_of(program, given)
