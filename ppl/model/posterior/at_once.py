"""Programs of little work, for many rows of values at once by NumPy: done before XLA has begun to compile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram
from ppl.compile.hoisting import DataFirst
from ppl.compile.pure import Program
from ppl.graph import Node, ancestors
from ppl.rewrites.sharing.row_wise import for_rows
from ppl.rewrites.values.by_numpy import calls, nan_without_factor, work
from ppl.rewrites.values.steps import steps_of
from ppl.samplers.independent.quadrature import padded
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.sampling.draws import OF_ONE_WORD, Draw
from ppl.xla.blas import bounded

LITTLE = 3e7  # numbers, about a nanosecond each
CALL = 4000  # numbers that take as long as a call of NumPy, with what Python does for it
IN_CACHE, FEWEST_ROWS, MOST_ROWS = 1 << 15, 16, 512  # numbers of the widest value for some rows; and how many rows
FEWER = 4  # times fewer rows are worth steps of their own
DEAR = 4  # times as much for each draw that is not of one word: it alone takes the compiler half a second


class AtOnce:
    """A program for any number of rows of values of its inputs, some at a time; the numbers that it goes over."""

    def __init__(self, program: Program | DataFirst, together: int, work: float) -> None:
        self._program, self._together, self.work = program, together, work
        self._steps: dict[int, Callable[..., list[np.ndarray] | None] | None] = {}

    def steps(self, rows: int) -> Callable[..., list[np.ndarray] | None] | None:
        """What NumPy does for as many rows; None where some operation has no form for rows, or NumPy lacks it."""
        if rows not in self._steps:
            found = for_rows(self._program.left, self._program.inputs, rows)
            steps = None if found is None else steps_of(found[1], [*found[0], *self._program.places])
            side = 0 if found is None else max(map(_side, ancestors(found[1])), default=0)
            self._steps[rows] = None if steps is None else bounded(steps, side)
        return self._steps[rows]

    def __call__(self, rows: Sequence[np.ndarray], data: Sequence[Any]) -> list[np.ndarray] | None:
        """The outputs as rows; None where NumPy declines, as of an index that lies outside."""
        count, known = len(rows[0]), list(map(np.asarray, data))
        found: list[list[np.ndarray]] = []
        for begin in range(0, count, self._together):
            left = count - begin
            few = left <= self._together // FEWER
            together = 1 << max(0, left - 1).bit_length() if few else self._together
            run = self.steps(together)
            part = [padded(x[begin : begin + together], together) for x in rows]
            values = None if run is None else run([*part, *known])
            if values is None:
                return None
            found.append(values)
        return [np.concatenate(each)[:count] for each in zip(*found, strict=True)]


def at_once(
    program: Program | DataFirst, rows: int, runs: int = 1, most: float = LITTLE, least: float = 0.0
) -> AtOnce | None:
    """The program for as many rows, if that is little work however often it runs, and all of it is known to NumPy.
    Work up to `least` is little even where nothing of it takes the compiler long."""
    nodes = [node for node in ancestors(program.left, blockers=program.places) if node.inputs]
    dear = sum(DEAR for node in nodes if isinstance(node.op, Draw) and node.op not in OF_ONE_WORD)
    of_row, of_calls = sum(map(work, nodes)), CALL * sum(map(calls, nodes))
    if not of_row < inf:  # something has no shape yet
        return None
    together = min(_rows_in_cache(nodes, of_calls / max(1.0, of_row)), 1 << max(0, rows - 1).bit_length())
    total = rows * of_row + -(-rows // together) * of_calls
    if runs * total > max(least, most * (1 + dear)):
        return None
    found = AtOnce(program, together, total)
    return None if found.steps(together) is None else found


def of_batches(
    density: FlatProgram, rows: int, runs: int, most: float = LITTLE
) -> Callable[[np.ndarray], np.ndarray | None] | None:
    """Log-densities of batches of at most so many points, by NumPy, where that is so little work, for so many batches,
    that a program is not worth compiling; nan where a matrix has no factor."""
    program, data = at_once(density.program, rows, runs, most), density.data
    if program is None:
        return None

    def log_densities(positions: np.ndarray) -> np.ndarray | None:
        with nan_without_factor():
            found = program([slot.read(positions) for slot in density.slots], data)
        return None if found is None else np.asarray(found[0])

    return log_densities


def _rows_in_cache(nodes: Collection[Node], worth: float) -> int:
    """How many rows are worked on together: the widest values of as many stay in the processor's cache, unless calls
    take as long as the work on more (`worth`)."""
    widest = max([prod(getattr(node.type, "shape", ())) for node in nodes], default=1)
    wanted = int(min(MOST_ROWS, max(FEWEST_ROWS, IN_CACHE // max(1, widest), worth)))
    return 1 << wanted.bit_length() - 1


def _side(node: Node) -> int:
    """The longer side of a matrix; 0 of what no library of matrices is asked for."""
    shape = getattr(node.type, "shape", ())
    matrix = len(shape) > 1 and None not in shape and not isinstance(node.op, Elementwise)
    return max(shape[-2:]) if matrix else 0
