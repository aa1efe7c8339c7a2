"""Derivatives forward: tangents that go along with a solution, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ppl.xla.later import jax, jnp
from ppl.xla.ode.loop import Moved
from ppl.xla.ode.problem import System, size_of


class Moving(NamedTuple):
    """In what a solution is differentiated: in its first time or not, and in numbers by their places."""

    t0: bool
    numbers: tuple[int, ...]


def with_tangents(system: System, numbers: Sequence[Any], moving: Moving) -> System:
    """The system of states with their derivatives, (directions, *state), in what is moving among numbers like these."""
    units = _units([numbers[i] for i in moving.numbers], moving.t0)
    directions = [jnp.asarray(u, numbers[i].dtype) for u, i in zip(units, moving.numbers, strict=True)]

    def along(run: Callable[..., Any], given: Any, tangents: Any, numbers: Sequence[Any]) -> tuple[Any, Any]:
        """What a function of something and of the numbers is, and how it changes in each direction."""
        held = [numbers[i] for i in moving.numbers]

        def at(given: Any, *held: Any) -> Any:
            filled = list(numbers)
            for i, value in zip(moving.numbers, held, strict=True):
                filled[i] = value
            return run(given, filled)

        change = lambda tangent, *units: jax.jvp(at, (given, *held), (tangent, *units))
        return jax.vmap(change, out_axes=(None, 0))(tangents, *directions)

    def start(t0: Any, numbers: Sequence[Any]) -> Any:
        """A later t0 moves the state at one time back along the slope there."""
        first = jnp.zeros((len(units[0]) if units else 1,), t0.dtype).at[0].set(float(moving.t0))
        state, change = along(system.start, t0, first, numbers)
        if moving.t0:
            slope = system.slope(t0, state, numbers)
            change = jax.tree.map(lambda x, s: x.at[0].add(-s), change, slope)
        return state, change

    def slope(t: Any, state: Any, numbers: Sequence[Any]) -> Any:
        return along(lambda state, numbers: system.slope(t, state, numbers), *state, numbers)

    def move(t: Any, h: Any, point: Any, numbers: Sequence[Any]) -> Moved:
        (state, dstate), (slope, dslope) = point
        run = lambda point, numbers: system.move(t, h, point, numbers)
        end, change = along(run, (state, slope), (dstate, dslope), numbers)
        pairs = tuple(zip(end.point, change.point, strict=True))
        return Moved(pairs, end.error)

    return System(system.problem, start, slope, move)


def _units(numbers: Sequence[Any], first: bool) -> list[Any]:
    """For each array the directions along its entries, (directions, *shape); `first` leaves one in front for t0."""
    sizes = [size_of([x]) for x in numbers]
    eye = np.eye(sum(sizes) + first)
    ends = np.cumsum([int(first), *sizes])
    parts = [eye[:, start:end] for start, end in pairwise(ends)]
    return [p.reshape(-1, *np.shape(x)) for p, x in zip(parts, numbers, strict=True)]
