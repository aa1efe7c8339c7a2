"""Differential evolution: steps along differences of two draws, of other chains or of a chain's own past.

DE-MC takes the present positions of two other chains (ter Braak 2006), DE-MC-Z two draws of the chain's own warm-up
and past (ter Braak & Vrugt 2008).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.programs.randomness import fold
from ppl.samplers.steps.moves import (
    Context,
    Move,
    Population,
    Proposal,
    accepts,
    chance,
    none_failed,
    tuned_scale,
    uniforms,
)
from ppl.xla.later import Array, jnp, lax

STATS: dict[str, type] = {"accept": np.float64, "accepted": np.bool_, "scaling": np.float64, "lambda": np.float64}
LEAST_CHAINS = 3  # of a population: a chain and two others


class _Tuned(NamedTuple):
    scaling: Any
    lamb: Any
    accepted: Any
    seen: Any


def _retuned(state: Any, tuning: Array, tune: str | None, interval: int) -> Any:
    """Scale of the noise or length of the jump by the rate of acceptance, after each ``interval`` draws of tuning."""
    due = tuning & (state.seen >= interval)
    rate = state.accepted / jnp.maximum(state.seen, 1)
    if tune == "scaling":
        state = state._replace(scaling=jnp.where(due, tuned_scale(state.scaling, rate), state.scaling))
    elif tune == "lambda":
        state = state._replace(lamb=jnp.where(due, tuned_scale(state.lamb, rate), state.lamb))
    return state._replace(
        accepted=jnp.where(due, 0.0, state.accepted), seen=jnp.where(due, jnp.zeros_like(state.seen), state.seen)
    )


def population_evolution(
    start: int,
    stop: int,
    proposal: Proposal,
    proposal_key: Any,
    *,
    lamb: float | None = None,
    scaling: float = 0.001,
    tune: str | None = "scaling",
    interval: int = 100,
) -> Move:
    """The step is the difference of two other chains times lambda, and a little noise."""
    n = stop - start
    weight = 2.38 / np.sqrt(2 * n) if lamb is None else lamb

    def init(position: np.ndarray) -> _Tuned:
        return _Tuned(np.float64(scaling), np.float64(weight), np.zeros(()), np.zeros((), np.int64))

    def step(context: Context, position: Array, logp: Array, state: _Tuned) -> Any:
        assert isinstance(context.population, Population)
        positions, here = context.population
        state = _retuned(state, context.tuning, tune, interval)
        # Two others, counted on from this chain: the first anywhere, the second on from there.
        chains = positions.shape[0]
        first = jnp.floor(uniforms(fold(context.key, 1)) * (chains - 1)).astype(jnp.int64)
        second = jnp.floor(uniforms(fold(context.key, 2)) * (chains - 2)).astype(jnp.int64)
        second = jnp.where(second >= first, second + 1, second)
        a, b = (positions[(here + 1 + k) % chains, start:stop] for k in (first, second))
        noise = proposal(fold(context.key, 0), n) * state.scaling
        new = lax.dynamic_update_slice(position, position[start:stop] + state.lamb * (a - b) + noise, (start,))
        lp = context.density(new)
        yes = accepts(fold(context.key, 3), lp, logp)
        taken = yes.astype(jnp.float64)
        state = state._replace(accepted=state.accepted + taken, seen=state.seen + 1)
        row = jnp.stack([chance(lp, logp), taken, state.scaling, state.lamb])
        failed = none_failed(position).tried(new, lp)
        return jnp.where(yes, new, position), jnp.where(yes, lp, logp), state, row, failed

    key = ("population", start, stop, proposal_key, weight, scaling, tune, interval)
    return Move(start, stop, init, step, STATS, key, population=True)


class _Past(NamedTuple):
    scaling: Any
    lamb: Any
    accepted: Any
    seen: Any
    history: Any  # (rows, entries)
    length: Any
    first: Any  # rows before it are forgotten


def differential_evolution(
    start: int,
    stop: int,
    proposal: Proposal,
    proposal_key: Any,
    *,
    rows: int,
    lamb: float | None = None,
    scaling: float = 0.001,
    tune: str | None = "scaling",
    interval: int = 100,
    drop_fraction: float = 0.9,
) -> Move:
    """The step is the difference of two past draws times lambda, and a little noise. Only the last tenth of the warm-up
    is remembered when it ends."""
    n = stop - start
    weight = 2.38 / np.sqrt(2 * n) if lamb is None else lamb

    def init(position: np.ndarray) -> _Past:
        none = np.zeros((), np.int64)
        return _Past(
            np.float64(scaling), np.float64(weight), np.zeros(()), none, np.zeros((rows, n)), none, none
        )  # fmt: skip

    def step(context: Context, position: Array, logp: Array, state: _Past) -> Any:
        state = _retuned(state, context.tuning, tune, interval)
        over = ~context.tuning & (state.first == 0)
        kept = jnp.floor(drop_fraction * state.length).astype(jnp.int64)
        state = state._replace(first=jnp.where(over, kept, state.first))
        old = position[start:stop]
        noise = proposal(fold(context.key, 0), n) * state.scaling
        size = state.length - state.first
        a = state.first + jnp.floor(uniforms(fold(context.key, 1)) * size).astype(jnp.int64)
        b = state.first + jnp.floor(uniforms(fold(context.key, 2)) * jnp.maximum(size - 1, 1)).astype(jnp.int64)
        b = jnp.where(b >= a, b + 1, b)
        jump = jnp.where(size > 1, state.lamb * (state.history[a] - state.history[b]), 0.0)
        new = lax.dynamic_update_slice(position, old + jump + noise, (start,))
        lp = context.density(new)
        yes, likely = accepts(fold(context.key, 3), lp, logp), chance(lp, logp)
        failed = none_failed(position).tried(new, lp)
        position, logp = jnp.where(yes, new, position), jnp.where(yes, lp, logp)
        history = lax.dynamic_update_slice(
            state.history,
            position[None, start:stop],
            (jnp.minimum(state.length, rows - 1), jnp.zeros_like(state.length)),
        )
        taken = yes.astype(jnp.float64)
        state = state._replace(
            accepted=state.accepted + taken, seen=state.seen + 1, history=history,
            length=jnp.minimum(state.length + 1, rows),
        )  # fmt: skip
        return position, logp, state, jnp.stack([likely, taken, state.scaling, state.lamb]), failed

    key = ("evolution", start, stop, proposal_key, rows, weight, scaling, tune, interval, drop_fraction)
    return Move(start, stop, init, step, STATS, key)
