"""An equation with numbers that it depends on, and its solution without derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

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

    def grid(self, t0: Any, times: Any) -> Grid:
        return Grid(t0, times, self.control, self.method.order)

    def parts(self, numbers: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The start as a vector, and the parameters."""
        return joined(numbers[: self.starts]), list(numbers[self.starts :])

    def slopes(self, times: Any, rows: Any, numbers: Sequence[Any]) -> Any:
        """f along a solution: how its rows move with their times."""
        return jax.vmap(lambda t, y: self.f(t, y, *numbers[self.starts :]))(times, rows)


class Moving(NamedTuple):
    """In what a solution is differentiated: in its first time or not, and in numbers by their places."""

    t0: bool
    numbers: tuple[int, ...]


def size_of(arrays: Sequence[Any]) -> int:
    return sum(int(np.prod(np.shape(x))) for x in arrays)


def joined(arrays: Sequence[Any]) -> Any:
    """Arrays as one vector."""
    flat = [jnp.ravel(x) for x in arrays]
    return flat[0] if len(flat) == 1 else jnp.concatenate(flat)


def values(
    problem: Problem, t0: Any, times: Any, numbers: Sequence[Any], log: Any = None, write: Any = None
) -> tuple[Now, Any]:
    """Where the solution ends, and its log if one is kept."""
    y, parameters = problem.parts(numbers)
    at = lambda t, y: problem.f(t, y, *parameters)

    def move(t: Any, h: Any, point: Any) -> Moved:
        end = step(problem.method, at, t, *point, h)
        return Moved((end.y, end.slope), error_size(problem.control, end.error, point[0], end.y))

    grid = problem.grid(t0, times)
    return march(grid, move, lambda point: point[0], first_length(at, grid, y), (y, at(t0, y)), log, write)
