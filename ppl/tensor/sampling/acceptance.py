"""Rejection: propose until accepted, entry by entry.

A few entries are all proposed again in each round. Of many, all are proposed once, and those that were refused are
moved together, proposed in the same way until all of them are accepted, and put back: the loop then costs what the
refused ones cost, not a pass over all entries for each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.xla import apart, threefry
from ppl.xla.either import xp
from ppl.xla.later import jax, jnp, lax

MANY = 4096  # entries from which on moving the refused ones together pays
BLOCK = 200_000  # entries: of fewer, the rounds of the last refused ones cost more than the memory
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
    wanted = xp.broadcast_to(wanted, shape)
    if few(key, shape):
        return in_rounds(propose, key, parameters, wanted, proposed)
    first, rest = threefry.split(key)
    values = proposed(propose, first, shape, parameters)

    def again(key: Any, _: Any, at: Any, there: Any) -> Any:
        return until_accepted(propose, key, at.shape, [taken(p, at) for p in parameters], there, proposed)

    return xp.where(wanted, redone(values, wanted & xp.isnan(values), rest, again), np.nan)


def few(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether the refused ones among so many draws are proposed again where they are."""
    return isinstance(key, threefry.Entries) or math.prod(shape) < MANY


def in_blocks(draw: Callable[..., Any], key: Any, shape: tuple[int, ...], parameters: Sequence[Any]) -> Any:
    """`draw(key, shape, *parameters)`; of very many draws block after block, so that what a block needs stays in the
    cache, and in memory that the system hands out once. A parameter is a scalar or has the shape of the draws."""
    size = math.prod(shape)
    blocks = round(size / BLOCK)
    if blocks < 2 or isinstance(key, threefry.Entries):
        return draw(key, shape, *parameters)
    length = -(-size // (64 * blocks)) * 64  # in whole words
    rows = [
        xp.pad(p.reshape(-1), (0, blocks * length - size), mode="edge").reshape(blocks, length)
        for p in parameters
        if np.ndim(p)
    ]

    def block(row: Any) -> Any:
        key, *rows = row
        arrays = iter(rows)
        return draw(key, (length,), *[next(arrays) if np.ndim(p) else p for p in parameters])

    keys = threefry.split(key, blocks)
    if isinstance(key, threefry.HostKey):
        return np.concatenate([block(row) for row in zip(keys, *rows, strict=True)])[:size].reshape(shape)
    found = lax.map(block, (keys, *rows))
    return found.reshape(-1)[:size].reshape(shape)


def redone(values: Any, open_: Any, key: Any, again: Callable[..., Any], part: int = 16) -> Any:
    """The values, the open ones replaced by `again(key, values, places, whether there is an entry)`: a sixteenth of
    all at a time, or another `part`, moved together, so that it costs what the open ones cost."""
    size = values.size
    count = max(size // (64 * part), 1) * 64  # in whole words
    if isinstance(key, threefry.HostKey):
        return _redone_by_numpy(values, np.flatnonzero(open_), key, again, count)

    def move(state: Any) -> Any:
        step, values, open_ = state
        at = places(open_, count)
        inside = jnp.minimum(at, size - 1)
        found = again(threefry.fold_in(key, step), values[inside], inside, at < size)
        put = {"mode": "drop", "unique_indices": True}
        return step + 1, values.at[at].set(found, **put), open_.at[at].set(False, **put)

    start = (jnp.uint32(0), values.reshape(-1), open_.reshape(-1))
    return lax.while_loop(lambda state: jnp.any(state[2]), move, start)[1].reshape(values.shape)


def _redone_by_numpy(
    values: np.ndarray, at: np.ndarray, key: threefry.HostKey, again: Callable[..., Any], count: int
) -> np.ndarray:
    found, size = np.array(values).reshape(-1), values.size
    for step, start in enumerate(range(0, at.size, count)):
        some = at[start : start + count]
        inside = np.concatenate([some, np.full(count - some.size, size - 1)])
        found[some] = again(key.changed(step), found[inside], inside, np.arange(count) < some.size)[: some.size]
    return found.reshape(values.shape)


def taken(parameter: Any, at: Any) -> Any:
    """A parameter at some places: a scalar is that of all of them."""
    return parameter.reshape(-1)[at] if np.ndim(parameter) else parameter


def in_rounds(
    propose: Propose, key: Any, parameters: Sequence[Any], wanted: Any, proposed: Proposed | None = None
) -> Any:
    """Proposals for all entries until none that is wanted is nan; nan where none is wanted."""
    if isinstance(key, threefry.HostKey):
        key = key.entries(wanted.shape)
    if isinstance(key, threefry.Entries):
        return _in_rounds_by_numpy(propose, key, parameters, wanted)
    proposed = proposed or proposed_number

    def again(state: Any) -> Any:
        step, values = state
        found = proposed(propose, threefry.fold_in(key, step), wanted.shape, parameters)
        return step + 1, jnp.where(jnp.isnan(values), found, values)

    start = (jnp.uint32(0), jnp.full(wanted.shape, jnp.nan))
    values = lax.while_loop(lambda state: jnp.any(wanted & jnp.isnan(state[1])), again, start)[1]
    return jnp.where(wanted, values, jnp.nan)


def _in_rounds_by_numpy(propose: Propose, key: Any, parameters: Sequence[Any], wanted: Any) -> np.ndarray:
    """The same, with those that are open moved together after each round."""
    values = np.full(wanted.size, np.nan)
    at = np.flatnonzero(wanted)
    whole = [np.broadcast_to(p, wanted.shape) if np.ndim(p) else p for p in parameters]
    step = 0
    while at.size:
        some = key.at(at).changed(step)
        found, accepted = propose(some.bits((2, at.size), np.uint64), *[taken(p, at) for p in whole])
        values[at] = np.where(accepted, found, np.nan)
        at, step = at[np.isnan(values[at])], step + 1
    return values.reshape(wanted.shape)


def proposed_number(propose: Propose, key: Any, shape: tuple[int, ...], parameters: Sequence[Any]) -> Any:
    """One proposal for each entry, nan where it is refused; rounded alike over one key and over many."""
    values, accepted = propose(threefry.bits(key, (2, *shape), np.uint64), *parameters)
    return held(xp.where(accepted, values, np.nan), key)


def held(values: Any, key: Any) -> Any:
    """Values that are computed once, and rounded alike over one key and over many."""
    if isinstance(key, threefry.Entries | threefry.HostKey):
        return values
    return apart.held(values, jax.random.key_data(key)[0])


def proposed_count(propose: Propose, key: Any, shape: tuple[int, ...], parameters: Sequence[Any]) -> Any:
    """The same for whole numbers, where what a branch rounds otherwise does not show."""

    def values() -> Any:
        counts, accepted = propose(threefry.bits(key, (2, *shape), np.uint64), *parameters)
        return xp.where(accepted, counts, np.nan)

    return once(values, key, shape)


def once(values: Callable[[], Any], key: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Values that are computed once: what XLA holds for cheap, as random bits, it computes again for each use, and it
    drops barriers on the CPU. A branch it does not repeat; that it is always taken must not be seen."""
    if isinstance(key, threefry.Entries | threefry.HostKey):
        return values()
    always = lax.population_count(jax.random.key_data(key)[0]) <= 32
    return lax.cond(always, values, lambda: jnp.zeros(shape, dtype))


def places(mask: Any, count: int) -> Any:
    """Where the first `count` true entries of a vector are; its length and beyond where there are fewer.

    Sixty-four entries make a word. The words that end before the k-th true entry are counted by a running total, and
    the bit in its own word is found by halving: no pass over the entries but the first, and no search.
    """
    size = mask.shape[0]
    bits = jnp.pad(mask, (0, -size % 64)).reshape(-1, 64)
    words = jnp.sum(jnp.where(bits, np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0)), axis=1)
    inside = lax.population_count(words).astype(jnp.int32)
    ends = jnp.cumsum(inside)
    k = lax.iota(jnp.int32, count)
    row = jnp.cumsum(jnp.zeros_like(k).at[ends].add(1, mode="drop"))
    row = jnp.minimum(row, len(words) - 1)
    word, left = words[row], k - (ends - inside)[row]
    bit = jnp.zeros_like(k)
    for half in (32, 16, 8, 4, 2, 1):
        low = word & np.uint64((1 << half) - 1)
        there = lax.population_count(low).astype(jnp.int32)
        upper = left >= there
        left, bit = jnp.where(upper, left - there, left), jnp.where(upper, bit + half, bit)
        word = jnp.where(upper, word >> np.uint64(half), low)
    return jnp.where(k < ends[-1], row * 64 + bit, size + k)
