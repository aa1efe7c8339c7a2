"""The solution of y' = f(t, y, θ) at given times, with its derivatives in the start, the parameters, and the times.

Forward: one tangent for each number that the solution is differentiated in goes along in the same loop, and the
derivative is their product with what came in. Backward: the accepted steps are kept, and gone through again from
the last to the first. Few numbers are cheaper forward, many backward (docs/decisions/022-sensitivities.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ppl.xla.known import Known
from ppl.xla.later import jax, jnp
from ppl.xla.ode.cotangents import back_through, blank_log, split, write
from ppl.xla.ode.loop import Control
from ppl.xla.ode.problem import Problem, System, joined, size_of, system_of, values
from ppl.xla.ode.tangents import Moving, with_tangents
from ppl.xla.private import is_traced

FORWARD = 30  # numbers up to which tangents are taken along (benchmarks/inference_ode.py)
FORWARD_OR_BACK = ("auto", "forward", "adjoint")


def solve(
    f: Callable[..., Any],
    control: Control,
    sensitivities: str,
    t0: Any,
    times: Any,
    y0: Sequence[Any],
    parameters: Sequence[Any],
) -> Any:
    """The states at `times`, (times, states), from the vector that is the numbers of `y0` put together.

    `sensitivities` is "forward", "adjoint", or "auto", which chooses by how many numbers may be differentiated in.
    """
    numbers = [*y0, *parameters]
    problem = Problem(f, control, len(y0))
    many = size_of([x for x in numbers if is_traced(x) and jnp.issubdtype(x.dtype, jnp.floating)]) > FORWARD
    if sensitivities == "forward" or (sensitivities == "auto" and not many):
        return _forward(system_of(problem))(t0, times, *numbers)
    return _backward(system_of(problem), always=sensitivities == "adjoint")(t0, times, *numbers)


def _forward(system: System) -> Callable[..., Any]:
    """The solution with a rule for tangents. They are a solution too, which can be differentiated again."""

    @jax.custom_jvp
    def run(t0: Any, times: Any, *numbers: Any) -> Any:
        return values(system, t0, times, numbers)[0].rows

    def moved(primals: Any, tangents: Any) -> Any:
        """The rows, and their change. What moves are the numbers whose tangents are not known to be zero."""
        t0, times, *numbers = primals
        moving = Moving(not _is_zero(tangents[0]), tuple(i for i, x in enumerate(tangents[2:]) if not _is_zero(x)))
        given = [tangents[0]] * moving.t0 + [tangents[2 + i] for i in moving.numbers]
        if given:
            rows, along = _forward(with_tangents(system, numbers, moving))(t0, times, *numbers)
            change = jax.tree.map(_weighted_by(joined(given)), along)
        else:
            rows = run(*primals)
            change = jax.tree.map(jnp.zeros_like, rows)
        if not _is_zero(tangents[1]):
            later = _slopes(system, times, rows, numbers)
            change = jax.tree.map(lambda x, slope: x + _scaled(slope, tangents[1]), change, later)
        return rows, change

    run.defjvp(moved, symbolic_zeros=True)
    return run


def _weighted_by(weights: Any) -> Callable[[Any], Any]:
    """The sum of (times, directions, *state) over the directions; no product, which XLA would give to a library."""
    return lambda x: jnp.sum(x * weights.reshape(1, -1, *[1] * (x.ndim - 2)), axis=1)


def _scaled(slopes: Any, tangent: Any) -> Any:
    return slopes * tangent.reshape(-1, *[1] * (slopes.ndim - 1))


def _slopes(system: System, times: Any, rows: Any, numbers: Sequence[Any]) -> Any:
    """How the rows move with their times."""
    return jax.vmap(lambda t, state: system.slope(t, state, numbers))(times, rows)


def _is_zero(tangent: Any) -> bool:
    return isinstance(tangent, jax.custom_derivatives.SymbolicZero) or tangent.dtype == jax.dtypes.float0


def _backward(system: System, always: bool) -> Callable[..., Any]:
    """The solution with a rule for cotangents: by the log of its steps `always`, or where many numbers move."""

    @jax.custom_vjp
    def run(t0: Any, times: Any, *numbers: Any) -> Any:
        return values(system, t0, times, numbers)[0].rows

    def ahead(t0: Any, times: Any, *numbers: Any) -> Any:
        arrays = [x.value for x in numbers]
        moving = Moving(t0.perturbed, tuple(i for i, x in enumerate(numbers) if x.perturbed))
        if not always and size_of([arrays[i] for i in moving.numbers]) <= FORWARD:
            (rows, kept) = values(with_tangents(system, arrays, moving), t0.value, times.value, arrays)[0].rows
        else:
            moving = None
            log = blank_log(system.problem, len(times.value), t0.value, arrays)
            now, kept = values(system, t0.value, times.value, arrays, log, write)
            rows = now.rows
        return rows, (rows, kept, Known(moving), t0.value, times.value, arrays)

    def back(saved: Any, slope: Any) -> Any:
        rows, kept, known, t0, times, numbers = saved
        if isinstance(slope, jax.custom_derivatives.SymbolicZero):
            return (None,) * (2 + len(numbers))
        in_times = jnp.sum(slope * _slopes(system, times, rows, numbers), axis=1)
        if known.value is None:
            in_t0, found = back_through(system.problem, kept, slope, t0, numbers)
            return (in_t0, in_times, *found)
        moving = known.value
        each = jnp.sum(kept * slope[:, None, :], axis=(0, 2))
        at = dict(zip(moving.numbers, split(each[int(moving.t0) :], [numbers[i] for i in moving.numbers]), strict=True))
        return (each[0] if moving.t0 else None, in_times, *(at.get(i) for i in range(len(numbers))))

    run.defvjp(ahead, back, symbolic_zeros=True)
    return run
