"""How far an approximation may be trusted: the tail of its importance ratios (Vehtari et al. 2024).

Ratios r = p/q of draws from q have a generalized Pareto tail. Its shape k says how many moments they have: below 0.5
importance sampling corrects the approximation, below 0.7 it still can, above it cannot, and the approximation is far
from the target in some direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

GOOD = 0.7


class Smoothed(NamedTuple):
    """Log-weights that sum to one, their tail smoothed, and the shape of the tail."""

    log_weights: np.ndarray
    shape: float


def smoothed(log_ratios: np.ndarray) -> Smoothed:
    """Pareto smoothed importance weights; a ratio that is not a number counts as zero."""
    ratios = np.where(np.isnan(log_ratios), -np.inf, np.asarray(log_ratios, np.float64))
    n = len(ratios)
    if n == 0 or not np.any(ratios > -np.inf):
        return Smoothed(ratios, np.inf)
    if np.any(ratios == np.inf):
        return Smoothed(np.where(ratios == np.inf, 0.0, -np.inf), np.inf)
    logs = ratios - ratios.max()
    tail = int(np.ceil(min(0.2 * n, 3 * np.sqrt(n))))
    shape = np.inf
    if tail >= 5:
        order = np.argsort(logs)
        ends, cut = order[-tail:], max(logs[order[-tail - 1]], np.log(np.finfo(float).tiny))
        excess = np.exp(logs[ends]) - np.exp(cut)
        if excess[-1] <= 1e-10 * np.exp(cut):  # all ratios alike: nothing is wrong with them
            shape = -np.inf
        else:
            shape, scale = generalized_pareto(np.maximum(excess, 1e-300))
            quantile = (np.arange(tail) + 0.5) / tail
            thinned = scale * np.expm1(-shape * np.log1p(-quantile)) / shape if shape else -scale * np.log1p(-quantile)
            logs[ends] = np.minimum(np.log(thinned + np.exp(cut)), 0.0)
    top = logs.max()
    return Smoothed(logs - top - np.log(np.exp(logs - top).sum()), float(shape))


def generalized_pareto(excess: np.ndarray) -> tuple[float, float]:
    """Shape and scale of the generalized Pareto law of ordered positive numbers (Zhang & Stephens 2009); the shape is
    drawn a little towards 1/2, as if ten numbers more had been seen."""
    n = len(excess)
    grid = 30 + int(np.sqrt(n))
    b = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = b / (3 * excess[int(n / 4 + 0.5) - 1]) + 1 / excess[-1]
    k = np.mean(np.log1p(-b[:, None] * excess), axis=1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        profile = n * (np.log(-b / k) - k - 1)
        weights = 1 / np.exp(profile - profile[:, None]).sum(axis=1)
    kept = weights >= 10 * np.finfo(float).eps
    b, weights = b[kept], weights[kept] / weights[kept].sum()
    mean = float((b * weights).sum())
    shape = float(np.mean(np.log1p(-mean * excess)))
    scale = -shape / mean
    return (n * shape + 5) / (n + 10), scale
