"""Binomial and multinomial draws, for any number of trials that a double can count."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import once, proposed_count, until_accepted
from ppl.tensor.sampling.count_tables import by_table, worth_a_table
from ppl.tensor.sampling.count_weights import by_inversion, by_mean, deviance, factor, rest
from ppl.tensor.sampling.draws import Draw
from ppl.xla import threefry
from ppl.xla.either import scan, xp


def _binomial(key: Any, n: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    """Hörmann's transformed rejection (1993, BTRS) where ten or more successes are expected, inversion below; many
    draws of one law come from a table. -1 where n is negative or p no probability. The rarer outcome is counted."""
    shape, n, p = tuple(shape), n.astype("float64"), p.astype("float64")
    n, p = (xp.broadcast_to(x, shape) if x.ndim else x for x in (n, p))
    turned = p > 0.5
    rare = xp.where(turned, 1 - p, p)
    large, valid = n * rare >= 10, (n >= 0) & xp.isfinite(n) & (p >= 0) & (p <= 1)
    some, big = valid & ~large, valid & large
    many = lambda: _by_rejection(key, shape, xp.where(big, n, 100.0), xp.where(big, rare, 0.5), big)
    if worth_a_table(key, shape, (n, p)):
        trials, share = xp.where(valid, n, 1.0), xp.maximum(xp.where(valid, rare, 0.5), 1e-300)
        ratio = lambda k: (trials - k + 1) / k * (share / (1 - share))
        count = by_table(key, shape, (0.0, trials), trials * share, ratio, many)
    else:
        few = lambda: _by_inversion(key, shape, xp.where(some, n, 0.0), xp.where(some, rare, 0.0))
        count = by_mean(large, valid, few, many, shape)
    return xp.where(valid, xp.where(turned, n - count, count), -1).astype(dtype)


def _by_inversion(key: Any, shape: tuple[int, ...], n: Any, p: Any) -> Any:
    u = once(lambda: standard.uniform(key, shape, "float64"), key, shape)
    odds = p / (1 - p)
    ratio = lambda k: odds * xp.maximum((n + 1) * (1 / k) - 1, 0)
    return xp.minimum(by_inversion(u, xp.exp(n * xp.log1p(-p)), ratio), n)


def _by_rejection(key: Any, shape: tuple[int, ...], n: Any, p: Any, wanted: Any) -> Any:
    squares, rests = _less_likely(xp.floor((n + 1) * p), n, p)
    at_mode = 0.5 * xp.log(squares) + rests

    def propose(words: Any, n: Any, p: Any, at_mode: Any) -> tuple[Any, Any]:
        spread = xp.sqrt(n * p * (1 - p))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * p
        side, height = map(standard.open_uniform_of, words)
        u = side - 0.5
        steep = 1 / (0.5 - xp.abs(u))
        k = xp.floor((2 * a * steep + b) * u + n * p + 0.5)
        x = xp.clip(k, 0, n)
        hat = height * (2.83 + 5.1 / b) * spread / (a * steep**2 + b)
        squares, rests = _less_likely(x, n, p)
        return x, (k == x) & (0.5 * standard.log(hat * hat * squares) + rests <= at_mode)

    return until_accepted(propose, key, shape, (n, p, at_mode), wanted, proposed_count)


def _less_likely(x: Any, n: Any, p: Any) -> tuple[Any, Any]:
    """Two numbers: half the logarithm of the first, plus the second, is -log P(x), but for what x does not change."""
    y = n - x
    return factor(x) * factor(y), rest(x) + rest(y) + deviance(x, n * p) + deviance(y, n * (1 - p))


def _multinomial(key: Any, n: Any, p: Any, *, shape: Any, dtype: Any) -> Any:
    """How `n` trials (with a last axis of length one) fall on the last axis of `p`: binomials of what is left over."""
    p = xp.broadcast_to(p, (*p.shape[:-1], shape[-1]))
    left = xp.broadcast_to(n, (*shape[:-1], 1))[..., 0]
    tails = xp.flip(xp.cumsum(xp.flip(p, -1), -1), -1)
    shares = xp.where(tails > 0, xp.clip(p / xp.where(tails > 0, tails, 1), 0, 1), 0)
    shares = xp.broadcast_to(shares, shape)  # not before: XLA would add up as many constants while it compiles

    if isinstance(key, threefry.Entries):
        key = key.over(key.place.shape[:-1])

    def step(carry: Any, inputs: Any) -> Any:
        left, i = carry
        count = _binomial(threefry.fold_in(key, i), left, inputs, shape=left.shape, dtype=left.dtype)
        return (left - count, i + 1), count

    (left, _), counts = scan(step, (left, np.uint32(0)), xp.moveaxis(shares[..., :-1], -1, 0))
    return xp.concatenate([xp.moveaxis(counts, 0, -1), left[..., None]], -1).astype(dtype)


binomial = Draw("random_binomial", _binomial, 2, "int", at_once=True)
multinomial = Draw("random_multinomial", _multinomial, 2, "int", vectors=True, at_once=True)
