"""Slice sampling by stepping out and shrinking, entry by entry (Neal 2003, figures 3 and 5)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.programs.randomness import fold
from ppl.samplers.steps.moves import Context, Failed, Move, none_failed, uniforms
from ppl.xla.later import Array, jnp, lax

MOST_STEPS = 1000


class _Widths(NamedTuple):
    width: Any
    seen: Any


class _Search(NamedTuple):
    low: Array
    high: Array
    value: Array
    logp: Array
    tries: Array
    found: Array
    failed: Failed


def slice_moves(start: int, stop: int, width: Any = 1.0, tune: bool = True, limit: int = MOST_STEPS) -> Move:
    """Uniform draws from the slice under the density; while tuning the widths follow the slices that were found."""
    n = stop - start
    first = np.broadcast_to(np.asarray(width, np.float64), (n,))

    def init(position: np.ndarray) -> _Widths:
        return _Widths(np.array(first), np.zeros((), np.int64))

    def step(context: Context, position: Array, logp: Array, state: _Widths) -> Any:
        def one(i: Array, carry: Any) -> Any:
            position, logp, lengths, out, inside, failed = carry
            key = fold(context.key, i)
            at = lambda x: context.density(position.at[start + i].set(x))
            old, w = position[start + i], state.width[i]
            height = logp + jnp.log(uniforms(fold(key, 0)))
            low = old - uniforms(fold(key, 1)) * w
            low, left, bad = _step_out(at, low, -w, height, limit, none_failed(old))
            high, right, bad = _step_out(at, low + w + left * w, w, height, limit, bad)
            found = _shrink(at, fold(key, 2), low, high, old, logp, height, limit, bad)
            failed = lax.cond(
                found.failed.number > 0,
                lambda: failed.joined(found.failed.number, position.at[start + i].set(found.failed.first)),
                lambda: failed,
            )
            position = position.at[start + i].set(found.value)
            return position, found.logp, lengths.at[i].set(high - low), out + left + right, inside + found.tries, failed

        none = jnp.zeros((), jnp.int64)
        carry = (position, logp, jnp.zeros(n), none, none, none_failed(position))
        position, logp, lengths, out, inside, failed = lax.fori_loop(0, n, one, carry)
        if tune:
            k = state.seen
            wider = (state.width * k + lengths) / (k + 1)
            state = _Widths(jnp.where(context.tuning, wider, state.width), k + context.tuning)
        return position, logp, state, jnp.stack([out, inside]).astype(jnp.float64), failed

    stats: dict[str, type] = {"nstep_out": np.int64, "nstep_in": np.int64}
    return Move(start, stop, init, step, stats, ("slice", start, stop, first.tobytes(), tune, limit))


def _above(logp: Array, height: Array) -> Array:
    """Does a point lie in the slice? One of infinite density would be a place that no chain leaves."""
    return (logp > height) & (logp < jnp.inf)


def _step_out(
    at: Any, edge: Array, by: Array, height: Array, limit: int, failed: Failed
) -> tuple[Array, Array, Failed]:
    """Move an edge outwards until it lies outside the slice."""

    def outside(carry: Any) -> Any:
        _, inside, steps, _ = carry
        return inside & (steps < limit)

    def further(carry: Any) -> Any:
        edge, _, steps, failed = carry
        lp = at(edge + by)
        return edge + by, _above(lp, height), steps + 1, failed.tried(edge + by, lp)

    lp = at(edge)
    begin = (edge, _above(lp, height), jnp.zeros((), jnp.int64), failed.tried(edge, lp))
    edge, _, steps, failed = lax.while_loop(outside, further, begin)
    return edge, steps, failed


def _shrink(
    at: Any, key: Array, low: Array, high: Array, old: Array, logp: Array, height: Array, limit: int, failed: Failed
) -> _Search:
    """Draw between the edges, and bring them closer, until a draw lies in the slice."""

    def one(s: _Search) -> _Search:
        value = s.low + uniforms(fold(key, s.tries)) * (s.high - s.low)
        lp = at(value)
        found = _above(lp, height)
        low = jnp.where(~found & (value < old), value, s.low)
        high = jnp.where(~found & (value >= old), value, s.high)
        failed = s.failed.tried(value, lp)
        return _Search(low, high, jnp.where(found, value, old), jnp.where(found, lp, logp), s.tries + 1, found, failed)

    none, no = jnp.zeros((), jnp.int64), jnp.zeros((), bool)
    begin = _Search(low, high, old, logp, none, no, failed)
    return lax.while_loop(lambda s: ~s.found & (s.tries < limit), one, begin)
