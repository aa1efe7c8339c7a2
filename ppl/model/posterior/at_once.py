"""Programs of little work, for many rows of values at once by NumPy: done before XLA has begun to compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram
from ppl.compile.hoisting import DataFirst
from ppl.compile.pure import Program
from ppl.graph import Node, ancestors
from ppl.rewrites.sharing.row_wise import for_rows
from ppl.rewrites.values.by_numpy import is_known, work
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.sampling.draws import OF_ONE_WORD, Draw
from ppl.tensor.tensor import CONSTANT, Tensor
from ppl.xla.blas import bounded

LITTLE = 4e6  # numbers, five nanoseconds each
DEAR = 4  # times as much for each draw that is not of one word: it alone takes the compiler half a second


class AtOnce:
    """A program for a number of values of its inputs, which have these as rows; the numbers that it goes over."""

    def __init__(self, inputs: Sequence[Tensor], data: Sequence[Node], outputs: Sequence[Tensor], work: float) -> None:
        self._places, self._outputs, self.work = [*inputs, *data], list(outputs), work
        self._run = bounded(step_by_step, max(map(_side, ancestors(outputs)), default=0))

    def __call__(self, rows: Sequence[np.ndarray], data: Sequence[Any]) -> list[np.ndarray] | None:
        """The outputs as rows; None where NumPy declines, as of an index that lies outside."""
        held = dict(zip(self._places, map(np.asarray, [*rows, *data]), strict=True))
        return self._run(self._outputs, held)


def at_once(
    program: Program | DataFirst, rows: int, runs: int = 1, most: float = LITTLE, least: float = 0.0
) -> AtOnce | None:
    """The program for as many rows, if that is little work however often it runs, and all of it is known to NumPy.
    Work up to `least` is little even where nothing of it takes the compiler long."""
    nodes = ancestors(program.left, blockers=program.places)
    dear = sum(DEAR for node in nodes if isinstance(node.op, Draw) and node.op not in OF_ONE_WORD)
    total = rows * sum(map(work, nodes))
    if runs * total > max(least, most * (1 + dear)):
        return None
    found = for_rows(program.left, program.inputs, rows)
    if found is None:
        return None
    inputs, outputs = found
    given = {*inputs, *program.places}
    if not all(node in given or node.op is CONSTANT or is_known(node) for node in ancestors(outputs, blockers=given)):
        return None
    return AtOnce(inputs, program.places, outputs, total)


def of_batches(
    density: FlatProgram, most_rows: int, runs: int, most: float = LITTLE
) -> Callable[[np.ndarray], np.ndarray | None] | None:
    """Log-densities of batches of at most so many points, by NumPy, where that is so little work, for so many batches,
    that a program is not worth compiling."""
    known: dict[int, AtOnce | None] = {most_rows: at_once(density.program, most_rows, runs, most)}
    if known[most_rows] is None:
        return None
    data = density.data

    def log_densities(positions: np.ndarray) -> np.ndarray | None:
        rows = len(positions)
        if rows not in known:
            known[rows] = at_once(density.program, rows, runs, most)
        program = known[rows]
        found = program([slot.read(positions) for slot in density.slots], data) if program is not None else None
        return None if found is None else np.asarray(found[0])

    return log_densities


def _side(node: Node) -> int:
    """The longer side of a matrix; 0 of what no library of matrices is asked for."""
    shape = getattr(node.type, "shape", ())
    matrix = len(shape) > 1 and None not in shape and not isinstance(node.op, Elementwise)
    return max(shape[-2:]) if matrix else 0
