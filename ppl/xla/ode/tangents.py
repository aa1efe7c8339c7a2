"""Derivatives forward: tangents that go along with the solution, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ppl.xla.ode.loop import Moved, error_size, first_length, march
from ppl.xla.ode.problem import Moving, Problem, size_of
from ppl.xla.ode.steps import step


def with_tangents(problem: Problem, t0: Any, times: Any, numbers: Sequence[Any], moving: Moving) -> tuple[Any, Any]:
    """The rows, and their derivatives, (times, directions, states), in what is moving."""
    y, parameters = problem.parts(numbers)
    units = _units([numbers[i] for i in moving.numbers], moving.t0, y.dtype)
    at_unit = dict(zip(moving.numbers, units, strict=True))
    dy = _start(problem, t0, y, numbers, moving, at_unit)
    used = [i - problem.starts for i in moving.numbers if i >= problem.starts]
    held, directions = [parameters[i] for i in used], [at_unit[problem.starts + i] for i in used]

    def f_at(moved: Sequence[Any]) -> Callable[[Any, Any], Any]:
        """f with parameters in the place of those that are held."""
        filled = list(parameters)
        for i, value in zip(used, moved, strict=True):
            filled[i] = value
        return lambda t, y: problem.f(t, y, *filled)

    def along(run: Callable[..., Any], point: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """What a function of a point and of the held parameters is, and how it changes in each direction."""
        change = lambda *given: jax.jvp(lambda *xs: run(xs[: len(point)], xs[len(point) :]), (*point, *held), given)
        return jax.vmap(change, out_axes=(None, 0))(*tangents, *directions)

    def move(t: Any, h: Any, point: Any) -> Moved:
        end, change = along(lambda at, moved: step(problem.method, f_at(moved), t, *at, h), *point)
        error = error_size(problem.control, end.error, point[0][0], end.y)
        return Moved(((end.y, end.slope), (change.y, change.slope)), error)

    slope, dslope = along(lambda at, moved: f_at(moved)(t0, *at), (y,), (dy,))
    grid = problem.grid(t0, times)
    h = first_length(f_at(held), grid, y)
    now, _ = march(grid, move, lambda p: (p[0][0], p[1][0]), h, ((y, slope), (dy, dslope)))
    return now.rows


def _units(numbers: Sequence[Any], first: bool, dtype: Any) -> list[Any]:
    """For each array the directions along its entries, (directions, *shape); `first` leaves one in front for t0."""
    sizes = [size_of([x]) for x in numbers]
    eye = np.eye(sum(sizes) + first)
    ends = np.cumsum([int(first), *sizes])
    parts = [eye[:, start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]
    return [jnp.asarray(p.reshape(-1, *np.shape(x)), dtype) for p, x in zip(parts, numbers, strict=True)]


def _start(problem: Problem, t0: Any, y: Any, numbers: Sequence[Any], moving: Moving, units: dict[int, Any]) -> Any:
    """The tangents at t0, (directions, states): a later t0 moves the start back along the slope there."""
    count = size_of([numbers[i] for i in moving.numbers]) + moving.t0
    blank = lambda x: jnp.zeros((count, size_of([x])), y.dtype)
    parts = [
        units[i].reshape(count, -1) if i in units else blank(numbers[i]) for i in range(problem.starts)
    ]
    dy = jnp.concatenate(parts, axis=1)
    return dy.at[0].set(-problem.f(t0, y, *numbers[problem.starts :])) if moving.t0 else dy
