"""Gibbs steps of many entries at once: those that share no number of the density move together (Gonzalez et al. 2011).

The density is a sum of *terms*, each a function of a few entries. Entries that meet in no term are independent given
the rest; they have the same *color*. All entries of a color are tried together, and each accepts by the change of
its own terms: a sweep costs as many evaluations as there are colors, where one by one it costs as many as entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ppl.samplers.programs.randomness import fold
from ppl.samplers.steps.moves import (
    Context,
    Move,
    Proposal,
    accepts_each,
    adapted,
    no_number,
    none_failed,
    scale_of,
    uniforms,
)
from ppl.xla.later import Array, jax, jnp, lax


class Colors(NamedTuple):
    """The entries ``start`` to ``stop`` by color."""

    terms: Callable[..., Array]  # (position, *data) -> the terms that depend on the entries, one vector
    owners: np.ndarray  # (colors, terms): which entry of the color, counted from ``start``, a term depends on, or n
    color: np.ndarray  # of each entry


def binary_sites(start: int, stop: int, colors: Colors, transit_p: float = 0.8) -> Move:
    """Tries to flip each entry with probability ``transit_p``."""

    def propose(key: Array, old: Array, state: Any) -> tuple[Array, Array]:
        return 1 - old, uniforms(key, old.shape) < transit_p

    return _move(start, stop, colors, propose, ("binary sites", transit_p))


def categorical_sites(start: int, stop: int, colors: Colors, categories: Any) -> Move:
    """Moves each entry to another of its categories, chosen at random."""
    counts = np.broadcast_to(np.asarray(categories, np.int64), (stop - start,))

    def propose(key: Array, old: Array, state: Any) -> tuple[Array, Array]:
        other = jnp.floor(uniforms(key, old.shape) * (counts - 1))
        return jnp.where(other >= old, other + 1, other), jnp.asarray(counts > 1)

    return _move(start, stop, colors, propose, ("categorical sites", counts.tobytes()))


def counting_sites(
    start: int, stop: int, colors: Colors, proposal: Proposal, proposal_key: Any, *, scaling: Any = 1.0,
    tune: bool = True, interval: int = 100,
) -> Move:  # fmt: skip
    """A random walk of whole numbers, each entry with a scale of its own."""
    n = stop - start
    first = np.broadcast_to(np.asarray(scaling, np.float64), (n,))

    def propose(key: Array, old: Array, state: Any) -> tuple[Array, Array]:
        return old + jnp.rint(proposal(key, n) * state.scaling), jnp.ones(n, bool)

    key = ("counting sites", proposal_key, first.tobytes(), tune, interval)
    move = _move(start, stop, colors, propose, key)

    def step(context: Context, position: Array, logp: Array, state: Any) -> Any:
        state = adapted(state, context.tuning, interval, tune)
        position, logp, taken, chances, failed = _swept(context, position, colors, start, propose, state)
        state = state._replace(accepted=state.accepted + taken, seen=state.seen + 1)
        return position, logp, state, jnp.stack([chances.mean(), taken.mean(), state.scaling.mean()]), failed

    stats: dict[str, type] = dict.fromkeys(("accept", "accepted", "scaling"), np.float64)
    return move._replace(init=lambda position: scale_of(first), step=step, stats=stats)


def _move(start: int, stop: int, colors: Colors, propose: Any, key: Any) -> Move:
    def step(context: Context, position: Array, logp: Array, state: Any) -> Any:
        position, logp, taken, _, failed = _swept(context, position, colors, start, propose, state)
        return position, logp, state, taken.mean()[None], failed

    full = (start, stop, *key, colors.owners.tobytes())
    return Move(start, stop, lambda position: (), step, {"accept": np.float64}, full, terms=colors.terms)


def _swept(context: Context, position: Array, colors: Colors, start: int, propose: Any, state: Any) -> Any:
    """All colors in turn; which entries moved, with what chance, and which could not be tried."""
    assert context.terms is not None
    density_terms, n = context.terms, colors.color.shape[0]
    owners, color = jnp.asarray(colors.owners), jnp.asarray(colors.color)

    def one(c: Array, carry: Any) -> Any:
        position, terms, taken, chances, failed = carry
        key = fold(context.key, 1 + c)
        old = position[start : start + n]
        new, tried = propose(fold(key, 0), old, state)
        tried &= color == c
        candidate = lax.dynamic_update_slice(position, jnp.where(tried, new, old), (start,))
        after = density_terms(candidate)
        change = jax.ops.segment_sum(after - terms, owners[c], n + 1)[:n]
        failed = failed.joined(jnp.sum(tried & no_number(change)), candidate)
        yes, likely = accepts_each(uniforms(fold(key, 1), (n,)), change)
        yes &= tried
        moved = jnp.append(yes, False)[owners[c]]
        position = lax.dynamic_update_slice(position, jnp.where(yes, new, old), (start,))
        return position, jnp.where(moved, after, terms), taken + yes, jnp.where(tried, likely, chances), failed

    begin = (position, density_terms(position), jnp.zeros(n), jnp.zeros(n), none_failed(position))
    position, _, taken, chances, failed = lax.fori_loop(0, colors.owners.shape[0], one, begin)
    return position, context.density(position), taken, chances, failed
