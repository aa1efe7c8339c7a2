"""An equation with numbers that it depends on, and its solution without derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.xla.later import jnp
from ppl.xla.ode.loop import Control, Grid, Moved, Now, error_size, first_length, march
from ppl.xla.ode.steps import step
from ppl.xla.ode.tableaus import METHODS, Explicit, Rosenbrock


class Problem(NamedTuple):
    """y' = f(t, y, *parameters) for a vector y, how it is solved, and how many of the numbers that the solution depends
    on are those of the start; the others are the parameters."""

    f: Callable[..., Any]
    control: Control
    starts: int

    @property
    def method(self) -> Explicit | Rosenbrock:
        return METHODS[self.control.method]

    def at(self, numbers: Sequence[Any]) -> Callable[[Any, Any], Any]:
        """f(t, y) with the parameters among the numbers."""
        return lambda t, y: self.f(t, y, *numbers[self.starts :])


def size_of(arrays: Sequence[Any]) -> int:
    return sum(int(np.prod(np.shape(x))) for x in arrays)


def joined(arrays: Sequence[Any]) -> Any:
    """Arrays as one vector."""
    flat = [jnp.ravel(x) for x in arrays]
    return flat[0] if len(flat) == 1 else jnp.concatenate(flat)


class System(NamedTuple):
    """What a solver moves: a state that starts somewhere, with a slope at each time, and steps.

    That of a problem is its vector y; with tangents, a state is a pair of such (`tangents.py`).
    """

    problem: Problem
    start: Callable[[Any, Sequence[Any]], Any]  # of t0 and the numbers
    slope: Callable[[Any, Any, Sequence[Any]], Any]  # of t, a state and the numbers
    move: Callable[[Any, Any, Any, Sequence[Any]], Moved]  # of t, a length, a state with its slope, and the numbers


def system_of(problem: Problem) -> System:
    """The system without tangents."""

    def move(t: Any, h: Any, point: Any, numbers: Sequence[Any]) -> Moved:
        end = step(problem.method, problem.at(numbers), t, *point, h)
        return Moved((end.y, end.slope), error_size(problem.control, end.error, point[0], end.y))

    start = lambda t0, numbers: joined(numbers[: problem.starts])
    return System(problem, start, lambda t, y, numbers: problem.at(numbers)(t, y), move)


def values(
    system: System, t0: Any, times: Any, numbers: Sequence[Any], log: Any = None, write: Any = None
) -> tuple[Now, Any]:
    """Where the solution ends, and its log if one is kept."""
    problem = system.problem
    grid = Grid(t0, times, problem.control, problem.method.order)
    state = system.start(t0, numbers)
    h = first_length(problem.at(numbers), grid, joined(numbers[: problem.starts]))
    point = (state, system.slope(t0, state, numbers))
    return march(grid, lambda t, h, point: system.move(t, h, point, numbers), h, point, log, write)
