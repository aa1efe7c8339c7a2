"""One sweep over several moves, NUTS among them or not, as a kernel that the driver can run.

NUTS moves its stretch of the position given the rest, then the other moves follow in order. Since these change the
density that NUTS left, it is told the density and the gradient at the present position before each of its transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.programs.kernel import Data, Kernel, LogDensity, Outcome, Window
from ppl.samplers.programs.randomness import fold
from ppl.samplers.runs.failures import NOT_FINITE
from ppl.samplers.steps.moves import Context, Move, Population, none_failed
from ppl.xla.later import Array, jax, jnp, lax

FIRST_KEY = 16  # children of a draw's key below it belong to NUTS


class Stretch(NamedTuple):
    """The entries that NUTS moves."""

    start: int
    stop: int


class Sweep(NamedTuple):
    """A chain that is moved by several methods."""

    draw: Any
    position: Any
    gradient: Any
    logp: Any
    evaluated: Any
    attention: Any
    nuts: Any
    parts: tuple[Any, ...]


def conditional(logp: LogDensity, stretch: Stretch) -> LogDensity:
    """The density of a stretch; its first datum is the whole position."""

    def density(x: Array, whole: Array, *data: Any) -> Array:
        return logp(lax.dynamic_update_slice(whole, x.astype(whole.dtype), (stretch.start,)), *data)

    return density


def sweep(logp: LogDensity, nuts: tuple[Stretch, Kernel] | None, moves: Sequence[Move]) -> Kernel:
    """The kernel; `nuts` is built on `conditional(logp, stretch)`."""
    names: dict[str, type] = dict(nuts[1].stats) if nuts else {"lp": np.float64}
    for i, move in enumerate(moves):
        names |= {f"{name}[{i}]": kind for name, kind in move.stats.items()}
    if moves:
        names[NOT_FINITE] = np.int64

    def init(position: np.ndarray) -> Sweep:
        none, no = np.zeros((), np.int64), np.zeros((), bool)
        inner = nuts[1].init(position[nuts[0].start : nuts[0].stop]) if nuts else ()
        parts = tuple(move.init(position) for move in moves)
        state = Sweep(none, position, np.zeros_like(position), np.float64(-1e300), no, no, inner, parts)
        return jax.tree.map(np.asarray, state)

    def others(
        key: Array, plan: Any, data: Data, position: Array, logp_now: Array, state: Sweep, population: Any
    ) -> Any:
        """All moves but NUTS."""
        draw_key = fold(key, state.draw)
        parts, rows, failed = [], [], none_failed(position)
        for i, (move, part) in enumerate(zip(moves, state.parts, strict=True)):
            context = Context(
                fold(draw_key, FIRST_KEY + i), state.draw, state.draw < plan.tune,
                lambda x: _number(logp(x, *data)), _with(move.terms, data), population,
            )  # fmt: skip
            position, logp_now, part, row, bad = move.step(context, position, logp_now, part)
            parts.append(part)
            rows.append(row.astype(jnp.float64))
            failed = failed.joined(*bad)
        rows += [failed.number[None].astype(jnp.float64)] if moves else []
        return position, logp_now, tuple(parts), jnp.concatenate(rows) if rows else jnp.zeros(0), failed

    def step(key: Array, plan: Any, data: Data, state: Sweep, population: Any = ()) -> tuple[Sweep, Outcome]:
        inner: Any = ()
        mark, marked = state.position, jnp.zeros((), bool)
        if nuts:
            inner, outcome = _nuts_step(logp, nuts, key, plan, data, state)
            position = lax.dynamic_update_slice(state.position, inner.position, (nuts[0].start,))
            gradient = lax.dynamic_update_slice(state.gradient, inner.gradient, (nuts[0].start,))
            mark = lax.dynamic_update_slice(position, outcome.mark, (nuts[0].start,))
            logp_now, counts, marked, attention = inner.logp, outcome.counts, outcome.marked, inner.attention
            row, evaluated = outcome.stats, inner.evaluated
        else:
            position, gradient, counts = state.position, state.gradient, state.evaluated
            logp_now = lax.cond(counts, lambda: state.logp, lambda: _number(logp(position, *data)))
            attention, evaluated, row = ~state.evaluated, jnp.ones((), bool), None
        skipped = jnp.zeros(len(names) - (1 if row is None else row.size))
        position, logp_now, parts, more, failed = lax.cond(
            counts,
            lambda: others(key, plan, data, position, logp_now, state, population),
            lambda: (position, logp_now, state.parts, skipped, none_failed(position)),
        )
        mark, marked = jnp.where(marked, mark, failed.first), marked | (failed.number > 0)
        stats = jnp.concatenate([logp_now[None] if row is None else row, more])
        after = Sweep(state.draw + counts, position, gradient, logp_now, evaluated, attention, inner, parts)
        return after, Outcome(position, gradient, stats, mark, marked, counts)

    def host(plan: Any, state: Sweep, window: Window) -> Sweep:
        if not nuts:
            return state
        here = slice(nuts[0].start, nuts[0].stop)
        seen = Window(
            window.positions[:, here], window.gradients[:, here], window.stats[:, : len(nuts[1].stats)]
        )  # fmt: skip
        return state._replace(nuts=nuts[1].host(plan, state.nuts, seen))

    return Kernel(init, step, names, host)


def in_turn(kernel: Kernel) -> Kernel:
    """The ensemble kernel of chains that learn from each other: each makes its sweep given where the others are now.

    One after the other, since moves of all at once, given where the others *were*, do not leave the target invariant.
    """
    move: Callable[..., tuple[Sweep, Outcome]] = kernel.step

    def step(keys: Array, plan: Any, data: Data, states: Sweep) -> tuple[Sweep, Outcome]:
        def one(positions: Array, chain: Any) -> Any:
            i, key, state = chain
            after, outcome = move(key, plan, data, state, Population(positions, i))
            still = state.attention  # the driver lets it stand where it is
            return positions.at[i].set(jnp.where(still, state.position, after.position)), (after, outcome)

        chains = jnp.arange(keys.shape[0]), keys, states
        return lax.scan(one, states.position, chains)[1]

    return kernel._replace(step=step, coupled=True)


def _with(terms: Callable[..., Array] | None, data: Data) -> Callable[[Array], Array] | None:
    return None if terms is None else lambda x: terms(x, *data).astype(jnp.float64)


def _number(value: Array) -> Array:
    return value.astype(jnp.float64)


def _nuts_step(
    logp: LogDensity, nuts: tuple[Stretch, Kernel], key: Array, plan: Any, data: Data, state: Sweep
) -> tuple[Any, Outcome]:
    """A transition of NUTS at the present position, whose density the other moves have changed."""
    stretch, kernel = nuts
    density: Callable[..., Array] = conditional(logp, stretch)
    inner = state.nuts

    def fresh() -> Any:
        value, gradient = jax.value_and_grad(density)(inner.position, state.position, *data)
        return inner._replace(logp=_number(value), gradient=gradient.astype(inner.gradient.dtype))

    inner = lax.cond(inner.evaluated, fresh, lambda: inner)._replace(attention=jnp.zeros((), bool))
    return kernel.step(key, plan, (state.position, *data), inner)
