"""Whether numbers between 0 and 1 are uniform: a p-value, and a band for their whole distribution function."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PLACES = 100  # at which the distribution function is looked at
SIMULATED = 2000


class Band(NamedTuple):
    """Places, and between what the distribution function of uniform numbers lies there, at all places at once."""

    at: np.ndarray
    low: np.ndarray
    high: np.ndarray


def uniform_p(ranks: np.ndarray) -> np.ndarray:
    """For each entry the p-value of the Kolmogorov-Smirnov test of uniformity, (replications, ...)."""
    from scipy.stats import kstest

    columns = ranks.reshape(len(ranks), -1).T
    found = np.array([kstest(column, "uniform").pvalue for column in columns])
    return found.reshape(ranks.shape[1:])


def band_of(count: int, level: float) -> Band:
    """The simultaneous band of the distribution function of `count` uniform numbers: as wide at each place as leaves
    it with the same chance, which simulation finds (Säilynoja, Bürkner & Vehtari 2022, algorithm 1)."""
    from scipy.stats import binom

    at = np.arange(1, PLACES + 1) / (PLACES + 1)
    rng = np.random.default_rng(0)
    counts = np.stack([np.searchsorted(np.sort(rng.random(count)), at, "right") for _ in range(SIMULATED)])
    tails = np.minimum(binom.cdf(counts, count, at), binom.sf(counts - 1, count, at))
    tail = float(np.quantile(2 * tails.min(axis=1), 1 - level)) / 2
    return Band(at, binom.ppf(tail, count, at) / count, binom.isf(tail, count, at) / count)
