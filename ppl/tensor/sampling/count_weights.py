r"""Log-probabilities of counts, by functions that run in vectors: what rejection and inversion of counts are made of.

Twice the logarithm of a probability is a sum of logarithms of numbers that are multiplied first, and of
deviances: no large terms cancel, up to counts of 1e15, and few logarithms are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import MANY
from ppl.xla.either import cond, of_numpy, xp
from ppl.xla.later import lax

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)  # of Stirling, in odd powers of 1/x
_FEW = 8  # below, Stirling's remainder is multiplied out: a table would keep the loop from running in vectors


def _exactly(x: int) -> float:
    return math.lgamma(x + 1) - x * math.log(x) + x if x else 0.0


_GROWTH = [math.exp(2 * (_exactly(k) - _exactly(k - 1))) for k in range(1, _FEW)]


def factor(x: Any) -> Any:
    """One of two parts of Stirling's remainder, log x! - x log x + x for whole x ≥ 0: half the logarithm of `factor`,
    plus `rest`."""
    product = xp.ones_like(x)
    for k, growth in enumerate(_GROWTH, 1):
        product = product * xp.where(x >= k, growth, 1.0)
    return xp.where(x < _FEW, product, 2 * math.pi * x)


def rest(x: Any) -> Any:
    """The other part of Stirling's remainder; see `factor`."""
    inverse = 1 / xp.maximum(x, _FEW)
    square = inverse * inverse
    series = xp.full_like(x, _SERIES[-1])
    for c in _SERIES[-2::-1]:
        series = series * square + c
    return xp.where(x < _FEW, 0.0, series * inverse)


def deviance(x: Any, m: Any) -> Any:
    """x log(x/m) + m - x, without cancellation for x near m."""
    t = (x - m) / m
    ratio = 1 + t
    lost = t - (ratio - 1)  # by rounding the sum
    log_ratio = standard.log(xp.where(x > 0, ratio, 1.0))
    return x * log_ratio + m * lost + (m - x)


STEPS = 56  # a count whose mean is below ten exceeds it with probability 1e-21
TURNS = 11  # of the loop over these steps


def by_inversion(u: Any, none: Any, ratio: Any) -> Any:
    """The smallest count whose distribution function exceeds u: the probability of 0 is `none`, that of k is the one of
    k - 1 times `ratio(k)`. For means below ten: the steps are written out, to run in vectors; for few entries five at
    a time in a loop, which compiles sooner."""

    def step(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        count, weight, below = state
        weight = weight * ratio(k)
        return count + xp.where(u >= below, 1.0, 0.0), weight, below + weight

    def steps(turn: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        for i in range(1, 1 + (STEPS - 1) // TURNS):
            state = step((turn * ((STEPS - 1) // TURNS) + i).astype(np.float64), state)
        return state

    start = (xp.zeros_like(u), none + xp.zeros_like(u), none + xp.zeros_like(u))
    if of_numpy(u):
        for k in range(1, STEPS):
            start = step(k, start) if np.any(u >= start[2]) else start
        return start[0]
    if u.size < MANY:
        return lax.fori_loop(0, TURNS, steps, start)[0]
    for k in range(1, STEPS):
        start = step(k, start)
    return start[0]


def by_mean(large: Any, wanted: Any, few: Callable[[], Any], many: Callable[[], Any], shape: tuple[int, ...]) -> Any:
    """`many` for the entries that are large, `few` for the others; neither is computed where none is wanted."""
    if np.ndim(large) == 0:
        return cond(large, many, few)
    nothing = lambda: xp.broadcast_to(xp.zeros_like(large, np.float64), shape)
    small = cond(xp.any(wanted & ~large), few, nothing)
    return xp.where(large, cond(xp.any(wanted & large), many, nothing), small)
