"""Counts of one law, many at once: by a table of its distribution function.

The unit interval is cut into as many buckets as fit the cache. A random word falls into one of them; where all of the
bucket belongs to one count, that is the draw, and where it does not, the place inside the bucket decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import few, held, in_blocks, once, redone
from ppl.xla import threefry
from ppl.xla.either import cond, of_numpy, xp
from ppl.xla.later import jnp

MANY = 65_536  # draws from which on a table pays
SIZE = 2048  # counts in a table
_BITS = 14  # of the number of buckets
_NEGLIGIBLE = -46.0  # the logarithm of 1e-20: beyond such weights, laws whose ratios fall have no mass that shows


def worth_a_table(key: Any, shape: tuple[int, ...], parameters: Sequence[Any]) -> bool:
    """Whether there are many draws of one law."""
    return not few(key, shape) and math.prod(shape) >= MANY and not any(map(np.ndim, parameters))


def by_table(
    key: Any,
    shape: tuple[int, ...],
    ends: tuple[Any, Any],
    middle: Any,
    ratio: Callable[[Any], Any],
    otherwise: Callable[[], Any],
) -> Any:
    """Draws of the law between `ends` whose probability of k is that of k - 1 times `ratio(k)`, as doubles.

    The table lies about the `middle`; `otherwise()` are the draws where it does not reach over all that has mass.
    """
    low, high = ends
    first = xp.maximum(xp.floor(middle) - SIZE // 2, low)
    counts = first + np.arange(SIZE)
    inside = counts[1:] <= high
    steps = xp.where(inside, xp.log(ratio(xp.where(inside, counts[1:], first + 1))), -np.inf)
    logs = xp.concatenate([xp.zeros_like(steps[:1]), xp.cumsum(steps)])
    logs = logs - xp.max(logs)
    fits = ((first == low) | (logs[0] < _NEGLIGIBLE)) & (logs[-1] < _NEGLIGIBLE)
    return cond(fits, lambda: first + drawn(key, shape, xp.exp(logs)), otherwise)


def drawn(key: Any, shape: tuple[int, ...], weights: Any) -> Any:
    """Positions in a vector of weights, each as often as its share of the sum."""
    ends = xp.cumsum(weights)
    ends = ends / ends[-1]
    buckets = 1 << _BITS
    at = xp.minimum(_places(ends, np.arange(buckets + 1) / buckets), len(weights) - 1)
    table = xp.where(at[1:] == at[:-1], at[:-1], -1 - np.arange(buckets)).astype(np.float64)

    def block(key: Any, shape: tuple[int, ...]) -> Any:
        first, rest = threefry.split(key)
        found = held(table[threefry.bits(first, shape, np.uint64) >> np.uint64(64 - _BITS)], first)
        return redone(found, found < 0, rest, inside)

    def inside(key: Any, found: Any, at: Any, there: Any) -> Any:
        uniform = lambda: standard.uniform_of(threefry.bits(key, found.shape, np.uint64))
        u = once(lambda: (-1 - found + uniform()) / buckets, key, found.shape)  # each step of the search asks for it
        return _places(ends, u).astype(np.float64)

    return in_blocks(block, key, shape, ())


def _places(ends: Any, values: Any) -> Any:
    """How many ends are at most each value."""
    if of_numpy(ends, values):
        return np.searchsorted(ends, values, side="right")
    return jnp.searchsorted(ends, values, side="right", method="scan_unrolled")
