"""Poisson draws, for means from 0 to 1e15 and beyond."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import once, proposed_count, until_accepted
from ppl.tensor.sampling.count_tables import by_table, worth_a_table
from ppl.tensor.sampling.count_weights import by_inversion, by_mean, deviance, factor, rest
from ppl.tensor.sampling.draws import Draw
from ppl.xla.either import xp


def _poisson(key: Any, lam: Any, *, shape: Any, dtype: Any) -> Any:
    """Hörmann's transformed rejection (1993, PTRS) for a mean of 10 or more, inversion below; -1 for nan and negative.

    In double precision and by a density without cancellation: JAX's own works in single precision, which is wrong for
    means of 1e7 and more.
    """
    shape, lam = tuple(shape), lam.astype("float64")
    return poisson_counts(key, shape, xp.broadcast_to(lam, shape) if lam.ndim else lam).astype(dtype)


def poisson_counts(key: Any, shape: tuple[int, ...], lam: Any) -> Any:
    """The same as doubles. Many draws of one law come from a table, if one reaches over the counts that have mass."""
    large, valid = lam >= 10, (lam >= 0) & xp.isfinite(lam)
    many = lambda: _by_rejection(key, shape, xp.where(valid & large, lam, 10.0), valid & large)
    if worth_a_table(key, shape, (lam,)):
        mean = xp.where(valid, xp.maximum(lam, 1e-300), 1.0)
        return xp.where(valid, by_table(key, shape, (0.0, np.inf), mean, lambda k: mean / k, many), -1)
    few = lambda: _by_inversion(key, shape, xp.where(valid & ~large, lam, 0.0))
    return xp.where(valid, by_mean(large, valid, few, many, shape), -1)


def _by_inversion(key: Any, shape: tuple[int, ...], lam: Any) -> Any:
    u = once(lambda: standard.uniform(key, shape, "float64"), key, shape)
    return by_inversion(u, xp.exp(-lam), lambda k: lam * (1 / k))


def _by_rejection(key: Any, shape: tuple[int, ...], lam: Any, wanted: Any) -> Any:
    def propose(words: Any, lam: Any) -> tuple[Any, Any]:
        b = 0.931 + 2.53 * xp.sqrt(lam)
        a = 0.02483 * b - 0.059
        side, height = map(standard.open_uniform_of, words)
        u = side - 0.5
        steep = 1 / (0.5 - xp.abs(u))
        k = xp.floor((2 * a * steep + b) * u + lam + 0.43)
        x = xp.maximum(k, 0)
        hat = height * (1.1239 + 1.1328 / (b - 3.4)) / (a * steep**2 + b)
        return x, (k >= 0) & (0.5 * standard.log(hat * hat * factor(x)) + rest(x) + deviance(x, lam) <= 0)

    return until_accepted(propose, key, shape, (lam,), wanted, proposed_count)


poisson = Draw("random_poisson", _poisson, 1, "int", at_once=True)
