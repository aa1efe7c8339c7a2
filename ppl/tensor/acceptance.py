"""Rejection: propose until accepted, entry by entry.

A few entries are all proposed again in each round. Of many, all are proposed once, and those that were refused are
moved together, proposed in the same way until all of them are accepted, and put back: the loop then costs what the
refused ones cost, not a pass over all entries for each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

MANY = 4096  # entries from which on moving the refused ones together pays
Proposed = Callable[..., Any]
Propose = Callable[..., tuple[Any, Any]]  # (two words an entry, *parameters) -> values, and whether each is accepted


def until_accepted(
    propose: Propose,
    key: Any,
    shape: tuple[int, ...],
    parameters: Sequence[Any],
    wanted: Any = True,
    proposed: Proposed | None = None,
) -> Any:
    """The first accepted proposal for each entry, a double; nan where none is `wanted`.

    A parameter is a scalar or has the shape of the draws. `proposed` is how a proposal is kept from being computed
    again: `proposed_number`, or `proposed_count`.
    """
    proposed = proposed or proposed_number
    wanted = jnp.broadcast_to(wanted, shape)
    if math.prod(shape) < MANY:
        return jnp.where(
            wanted, _rounds(partial(proposed, propose), key, jnp.full(shape, jnp.nan), wanted, parameters), jnp.nan
        )
    first, rest = jax.random.split(key)
    values = proposed(propose, first, shape, parameters)
    count = math.prod(shape) // 1024 * 64  # a sixteenth of them at a time, in whole words
    flat = [p.reshape(-1) if jnp.ndim(p) else p for p in parameters]

    def move(state: Any) -> Any:
        step, values, open_ = state
        at = places(open_, count)
        some = [p[jnp.minimum(at, values.size - 1)] if jnp.ndim(p) else p for p in flat]
        found = until_accepted(propose, jax.random.fold_in(rest, step), (count,), some, at < values.size, proposed)
        put = {"mode": "drop", "unique_indices": True, "indices_are_sorted": True}
        return step + 1, values.at[at].set(found, **put), open_.at[at].set(False, **put)

    start = (jnp.uint32(0), values.reshape(-1), (wanted & jnp.isnan(values)).reshape(-1))
    values = lax.while_loop(lambda state: jnp.any(state[2]), move, start)[1].reshape(shape)
    return jnp.where(wanted, values, jnp.nan)


def _rounds(propose: Callable[..., Any], key: Any, values: Any, wanted: Any, parameters: Sequence[Any]) -> Any:
    """Proposals for all entries until none that is wanted is nan."""

    def again(state: Any) -> Any:
        step, values = state
        proposed = propose(jax.random.fold_in(key, step), values.shape, parameters)
        return step + 1, jnp.where(jnp.isnan(values), proposed, values)

    return lax.while_loop(lambda state: jnp.any(wanted & jnp.isnan(state[1])), again, (jnp.uint32(0), values))[1]


def proposed_number(propose: Propose, key: Any, shape: tuple[int, ...], parameters: Sequence[Any]) -> Any:
    """One proposal for each entry, nan where it is refused; rounded alike over one key and over many."""
    values, accepted = propose(jax.random.bits(key, (2, *shape), jnp.uint64), *parameters)
    # XLA computes what it holds for cheap again for each use, here the whole proposal, and drops barriers on the CPU;
    # a division it does not repeat. That it is by one must not be seen.
    one = 1.0 + 0.0 * jax.random.key_data(key)[0].astype(jnp.float64)
    return jnp.where(accepted, values, jnp.nan) / one


def proposed_count(propose: Propose, key: Any, shape: tuple[int, ...], parameters: Sequence[Any]) -> Any:
    """The same for whole numbers, where what a branch rounds otherwise does not show."""

    def values() -> Any:
        counts, accepted = propose(jax.random.bits(key, (2, *shape), jnp.uint64), *parameters)
        return jnp.where(accepted, counts, jnp.nan)

    return once(values, key, shape)


def once(values: Callable[[], Any], key: Any, shape: tuple[int, ...]) -> Any:
    """Values that are computed once: what XLA holds for cheap, as random bits, it computes again for each use, and it
    drops barriers on the CPU. A branch it does not repeat; that it is always taken must not be seen."""
    always = lax.population_count(jax.random.key_data(key)[0]) <= 32
    return lax.cond(always, values, lambda: jnp.zeros(shape))


def places(mask: Any, count: int) -> Any:
    """Where the first `count` true entries of a vector are; its length and beyond where there are fewer.

    Sixty-four entries make a word. The word of the k-th true entry is found by bisection in the running total of set
    bits, the bit in it by halving the word: no pass over the entries but the first, and no scatter.
    """
    size = mask.shape[0]
    bits = jnp.pad(mask, (0, -size % 64)).reshape(-1, 64)
    words = jnp.sum(jnp.where(bits, np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0)), axis=1)
    ends = jnp.cumsum(lax.population_count(words).astype(jnp.int32))
    k = lax.iota(jnp.int32, count)
    row = jnp.minimum(jnp.searchsorted(ends, k, side="right", method="scan_unrolled"), len(words) - 1)
    word, left = words[row], k - jnp.where(row > 0, ends[row - 1], 0)
    bit = jnp.zeros_like(k)
    for half in (32, 16, 8, 4, 2, 1):
        low = word & np.uint64((1 << half) - 1)
        there = lax.population_count(low).astype(jnp.int32)
        upper = left >= there
        left, bit = jnp.where(upper, left - there, left), jnp.where(upper, bit + half, bit)
        word = jnp.where(upper, word >> np.uint64(half), low)
    return jnp.where(k < ends[-1], row * 64 + bit, size + k)
