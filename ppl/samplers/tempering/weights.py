"""Weights of particles on a tempered path: how far the next temperature may go, and who has offspring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PRECISION = 1e-6  # relative, of the temperature at which the effective sample size is the wanted one
HALVINGS = 200


class Reweighted(NamedTuple):
    """The next inverse temperature, the normalized weights there, and log mean of the weights before."""

    beta: float
    weights: np.ndarray
    log_mean: float


def log_mean_exp(x: np.ndarray) -> float:
    """The logarithm of the mean of exponentials; -inf where all are."""
    top = np.max(x)
    return float(top + np.log(np.mean(np.exp(x - top)))) if np.isfinite(top) else float(top)


def reweighted(log_likelihood: np.ndarray, beta: float, threshold: float) -> Reweighted:
    """The next inverse temperature: the greatest, up to 1, at which the effective sample size is still the share
    `threshold` of the particles whose likelihood is not zero.

    Those with zero likelihood have no weight at any temperature above 0, so they do not hold the path up.
    """
    alive = np.isfinite(log_likelihood)
    wanted = int(alive.sum() * threshold)
    size = lambda at: _effective(at * log_likelihood[alive])
    if size(1.0 - beta) >= wanted:
        return _at(1.0, log_likelihood, beta)
    low, high = 0.0, 1.0 - beta
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(middle) >= wanted else (low, middle)
        if high - low <= PRECISION * high:
            break
    return _at(beta + (low if low > 0 else high), log_likelihood, beta)


def _at(new: float, log_likelihood: np.ndarray, beta: float) -> Reweighted:
    log_weights = (new - beta) * log_likelihood
    log_mean = log_mean_exp(log_weights)
    weights = np.exp(log_weights - np.max(log_weights))
    return Reweighted(new, weights / weights.sum(), log_mean)


def _effective(log_weights: np.ndarray) -> float:
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def systematic_resampling(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The numbers of the particles that go on, each about as often as its weight says, by one uniform number."""
    count = len(weights)
    edges = np.cumsum(weights)
    points = (np.arange(count) + rng.random()) / count
    return np.minimum(np.searchsorted(edges / edges[-1], points), count - 1)
