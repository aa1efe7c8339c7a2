"""Derivatives backward: the accepted steps are kept, and gone through again from the last to the first.

These are derivatives of the numbers that the steps gave, and not a solution of the adjoint equation backward in time,
which is another one and may not be stable. Memory: one row of states for each step that is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ppl.xla.later import jax, jnp, lax
from ppl.xla.ode.loop import Pass
from ppl.xla.ode.problem import Problem, joined
from ppl.xla.ode.steps import step


class Log(NamedTuple):
    """The passes of a loop that made a step or reached a row, `count` of them."""

    count: Any
    t: Any
    h: Any
    y: Any
    row: Any
    accepted: Any
    reached: Any


def blank_log(problem: Problem, rows: int, t0: Any, numbers: Sequence[Any]) -> Log:
    y = joined(numbers[: problem.starts])
    most = problem.control.max_steps + rows
    each = lambda x: jnp.zeros((most, *jnp.shape(x)), jnp.result_type(x))
    flag = jnp.zeros((most,), bool)
    return Log(jnp.zeros((), jnp.int32), each(t0), each(t0), each(y), jnp.zeros((most,), jnp.int32), flag, flag)


def write(log: Log, done: Pass) -> Log:
    """The log with one pass more; one that did nothing is written over by the next."""
    entry = (done.t, done.h, done.point[0], done.row, done.accepted, done.reached)
    put = lambda all, x: lax.dynamic_update_index_in_dim(all, x, log.count, 0)
    return Log(log.count + (done.accepted | done.reached), *map(put, log[1:], entry))


def back_through(problem: Problem, log: Log, slope: Any, t0: Any, numbers: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The gradients in t0 and in the numbers, given those in the rows; zero for what is no float."""
    y0, parameters = joined(numbers[: problem.starts]), list(numbers[problem.starts :])
    real = [i for i, x in enumerate(parameters) if jnp.issubdtype(x.dtype, jnp.floating)]

    def f_at(moved: Sequence[Any]) -> Any:
        filled = list(parameters)
        for i, value in zip(real, moved, strict=True):
            filled[i] = value
        return lambda t, y: problem.f(t, y, *filled)

    def one(state: Any) -> Any:
        place, d_y, d_parameters = state
        t, h, y, row, accepted, reached = (x[place] for x in log[1:])
        d_y = d_y + jnp.where(reached, slope[row], 0.0)

        def run(y: Any, *moved: Any) -> Any:
            f = f_at(moved)
            return step(problem.method, f, t, y, f(t, y), h).y

        before, *more = jax.vjp(run, y, *(parameters[i] for i in real))[1](d_y)
        added = [a + jnp.where(accepted, b, 0.0) for a, b in zip(d_parameters, more, strict=True)]
        return place - 1, jnp.where(accepted, before, d_y), added

    zeros = [jnp.zeros_like(parameters[i]) for i in real]
    _, d_y, found = lax.while_loop(lambda s: s[0] >= 0, one, (log.count - 1, jnp.zeros_like(y0), zeros))
    d_t0 = -jnp.sum(d_y * problem.f(t0, y0, *parameters))
    at = dict(zip(real, found, strict=True))
    return d_t0, [*split(d_y, numbers[: problem.starts]), *(at.get(i) for i in range(len(parameters)))]


def split(vector: Any, like: Sequence[Any]) -> list[Any]:
    """A vector as arrays of the shapes of others."""
    parts, at = [], 0
    for x in like:
        parts.append(vector[at : at + x.size].reshape(x.shape))
        at += x.size
    return parts
