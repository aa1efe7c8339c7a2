r"""Ratios of gamma functions that are a whole number apart:

.. math:: \sum_i \log \frac{Γ(x + n_i)}{Γ(x)} = \sum_{k} \#\{i : n_i > k\} \log(x + k)

One logarithm for each k up to the largest count takes the place of two gamma functions for every i, and nothing cancels
where x is near zero or large. Other steps, and steps so many that logarithms do not pay, go by Stirling's series.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import data_value, is_data
from ppl.tensor.tensor import Tensor, as_tensor


def log_rising(x: Any, n: Any) -> Tensor:
    """log Γ(x + n) - log Γ(x), added up over the entries of x and n broadcast together."""
    x, n = as_tensor(x), as_tensor(n)
    steps = _whole(n)
    if steps is None or None in x.type.shape:
        return _by_stirling(x, n)
    core = (1,) * (steps.ndim - x.ndim) + x.type.shape
    steps = np.broadcast_to(steps, np.broadcast_shapes(steps.shape, core))
    most = int(steps.max(initial=0))
    if prod(core) * most > min(LIMITS.logs, LIMITS.logs_for_a_log_gamma * steps.size):
        return _by_stirling(x, n)
    if most == 0:
        return as_tensor(0.0)
    shared = tuple(axis for axis, length in enumerate(core) if length == 1)
    counts = np.stack([(steps > k).sum(axis=shared, keepdims=True) for k in range(most)], axis=-1)
    logs = tt.log(tt.expand_dims(x.reshape(core), -1) + np.arange(float(most)))
    return tt.sum(tt.cast(as_tensor(counts), "floatX") * logs)


def _whole(n: Tensor) -> np.ndarray | None:
    """Steps, where they are whole numbers and known."""
    if not is_data(n) or None in n.type.shape:
        return None
    steps = np.asarray(data_value(n), dtype=float)
    good = np.isfinite(steps).all() and (steps >= 0).all() and (steps == np.floor(steps)).all()
    return steps if good else None


def _by_stirling(x: Tensor, n: Tensor) -> Tensor:
    """For any n, with log Γ(x) = (x - 1) log x - x + `stirling`; digits of x that is much larger than n are kept."""
    powers = (x + n - 1.0) * tt.log1p(n / x) + n * (tt.log(x) - 1.0)
    return tt.sum(powers + (tt.stirling(x + n) - tt.stirling(x)))


def once(x: Tensor) -> Tensor:
    """What is repeated, where something is."""
    while x.op.name in ("broadcast_to", "named"):
        x = x.inputs[0]  # type: ignore[assignment]
    return x
