r"""Ratios of gamma functions that are a whole number apart:

.. math:: \sum_i \log \frac{Γ(x + n_i)}{Γ(x)} = \sum_{k} \#\{i : n_i > k\} \log(x + k)

One logarithm for each k up to the largest count takes the place of two gamma functions for every i, and nothing cancels
where x is near zero or large.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.rewrites.elimination.affine import data_value, is_data
from ppl.tensor.tensor import Tensor, as_tensor

WORTH = 16  # logarithms take no longer than a log-gamma function and its slope
MOST_LOGS = 100_000


class NotRising(Exception):  # noqa: N818  an answer, not an error
    """The steps are not known whole numbers, or so large that logarithms do not pay."""


def log_rising(x: Any, steps: Any) -> Tensor:
    """log Γ(x + n) - log Γ(x), added up over the entries of x and n broadcast together; raises `NotRising`."""
    x, steps = as_tensor(x), as_tensor(steps)
    if not is_data(steps) or None in (*x.type.shape, *steps.type.shape):
        raise NotRising
    n = np.asarray(data_value(steps), dtype=float)
    if not np.isfinite(n).all() or (n < 0).any() or (n != np.floor(n)).any():
        raise NotRising
    core = (1,) * (n.ndim - x.ndim) + x.type.shape
    n = np.broadcast_to(n, np.broadcast_shapes(n.shape, core))
    most = int(n.max(initial=0))
    if prod(core) * most > min(MOST_LOGS, WORTH * n.size):
        raise NotRising
    if most == 0:
        return as_tensor(0.0)
    shared = tuple(axis for axis, length in enumerate(core) if length == 1)
    counts = np.stack([(n > k).sum(axis=shared, keepdims=True) for k in range(most)], axis=-1)
    logs = tt.log(tt.expand_dims(x.reshape(core), -1) + np.arange(float(most)))
    return tt.sum(tt.cast(as_tensor(counts), "floatX") * logs)


def once(x: Tensor) -> Tensor:
    """What is repeated, where something is."""
    while x.op.name in ("broadcast_to", "named"):
        x = x.inputs[0]  # type: ignore[assignment]
    return x
