"""Steps with error control through a grid of times, each of which a step ends at.

The length of a step follows from the error of the last one. It is a constant under differentiation: derivatives are
those of the numbers that come out, step by step, and not of a solution that is only near to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ppl.xla.later import jax, jnp, lax

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # how much shorter or longer the next step may be


class Control(NamedTuple):
    """A method by its name, the error allowed in a step, atol + rtol |y| in each state, and the most steps."""

    method: str
    rtol: float
    atol: float
    max_steps: int


class Moved(NamedTuple):
    """Where a step ends, and its error in units of what is allowed."""

    point: Any
    error: Any


class Pass(NamedTuple):
    """What one pass of the loop did: a step of length h from `point` at t, accepted or not; and whether a row was
    reached by it."""

    t: Any
    h: Any
    point: Any
    row: Any
    accepted: Any
    reached: Any


class Now(NamedTuple):
    """Where a solution is: on its way to the row `row` of the grid, with steps of length `h` allowed."""

    row: Any
    steps: Any
    failed: Any
    t: Any
    h: Any
    point: Any
    rows: Any  # what was reached so far


class Grid(NamedTuple):
    """Times to go through from t0, and how: within what errors, by a method of what order."""

    t0: Any
    times: Any
    control: Control
    order: int


Move = Callable[[Any, Any, Any], Moved]  # of t, h and a point
Write = Callable[[Any, Pass], Any]  # of a log and what was done


def march(
    grid: Grid,
    move: Move,
    h: Any,
    point: Any,
    log: Any = None,
    write: Write | None = None,
) -> tuple[Now, Any]:
    """The states at the times, from a point at t0, which is a state with its slope, with steps of length h at first;
    and a log of the passes, which `write` keeps.

    Rows that are not reached are nan: where the steps are used up, or get so short that time stands still.
    """
    count = grid.times.shape[0]
    rows = jax.tree.map(lambda x: jnp.full((count, *x.shape), jnp.nan, x.dtype), point[0])
    zero = jnp.zeros((), jnp.int32)

    def one(state: tuple[Now, Any]) -> tuple[Now, Any]:
        now, log = state
        after, done = _pass(grid, move, now)
        return after, write(log, done) if write is not None else log

    goes_on = lambda state: (state[0].row < count) & ~state[0].failed
    now, log = lax.while_loop(goes_on, one, (Now(zero, zero, zero != 0, grid.t0, h, point, rows), log))
    there = lambda x: jnp.where((jnp.arange(count) < now.row).reshape(count, *[1] * (x.ndim - 1)), x, jnp.nan)
    return now._replace(rows=jax.tree.map(there, now.rows)), log


def _pass(grid: Grid, move: Move, now: Now) -> tuple[Now, Pass]:
    target = grid.times[now.row]
    rest = target - now.t
    backwards = ~(rest >= 0)  # or nan
    here = rest == 0  # the grid begins at t0, or has a time twice
    last = now.h >= rest
    h = jnp.where(here, now.h, rest / jnp.ceil(rest / now.h))  # the rest of the way in equal parts
    moved = move(now.t, h, now.point)
    error = lax.stop_gradient(moved.error)
    accepted = (error <= 1.0) & ~here & ~backwards
    wanted = jnp.where(jnp.isfinite(error), SAFETY * jnp.maximum(error, 1e-10) ** (-1 / grid.order), LEAST)
    longest = jnp.where(accepted, jnp.maximum(MOST * h, now.h), h)
    following = jnp.where(here, now.h, jnp.clip(wanted * h, LEAST * h, longest))
    point = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), moved.point, now.point)
    reached = here | (accepted & last)
    rows = jax.tree.map(lambda all, x: lax.dynamic_update_index_in_dim(all, x, now.row, 0), now.rows, point[0])
    steps = now.steps + ~here
    t = jnp.where(accepted, jnp.where(last, target, now.t + h), now.t)
    row = now.row + reached
    unfinished = row < grid.times.shape[0]
    stands = ~reached & (t + following <= t)
    failed = backwards | (unfinished & (stands | (steps >= grid.control.max_steps)))
    done = Pass(now.t, h, now.point, now.row, accepted, reached)
    return Now(row, steps, failed, t, lax.stop_gradient(following), point, rows), done


def first_length(f: Callable[[Any, Any], Any], grid: Grid, y0: Any) -> Any:
    """A first length by E. Hairer, S. Nørsett and G. Wanner, Solving Ordinary Differential Equations I, II.4."""
    t0, end = grid.t0, grid.times[-1]
    slope = f(t0, y0)
    size = lambda x: error_size(grid.control, x, y0, y0)
    d0, d1 = size(y0), size(slope)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    h0 = jnp.where(end > t0, jnp.minimum(h0, end - t0), h0)
    d2 = size(f(t0 + h0, y0 + h0 * slope) - slope) / h0
    largest = jnp.maximum(d1, d2)
    h1 = jnp.where(largest <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** (1 / (grid.order + 1)))
    h = jnp.minimum(100 * h0, h1)
    return lax.stop_gradient(jnp.where(jnp.isfinite(h) & (h > 0), h, 1e-6))


def error_size(control: Control, error: Any, before: Any, after: Any) -> Any:
    """The root mean square of an error in units of what is allowed."""
    allowed = control.atol + control.rtol * jnp.maximum(jnp.abs(before), jnp.abs(after))
    return jnp.sqrt(jnp.mean((error / allowed) ** 2))
