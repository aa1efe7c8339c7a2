r"""The evidence of a tempered path, from all particles of all temperatures, and how far it may be off.

Particles i were drawn at inverse temperatures β_k, with densities prior × L^β / Z(β), s_k of them in effect. All
together they are draws of the mixture, so that

.. math:: Z_j = \sum_i \frac{c_i L_i^{β_j}}{\sum_k s_k L_i^{β_k} / Z_k}, \qquad Z_0 = 1,

with :math:`c_i = s_k / n_k` for a particle of the stage k (Shirts & Chodera 2008, eq. 11; with the estimates of the
past alone these are the weights of persistent sampling, Karamanis & Seljak 2025). The equations are the stationary
points of a concave function, found by Newton's method.

The error is that of an M-estimator whose terms depend on each other where particles have a common ancestor in the prior
(Chan & Lai 2013): squares of sums over families.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

NEWTON = 50
MOST = 10_000_000  # numbers, of each particle at each temperature
TOLERANCE = 1e-10


class Stage(NamedTuple):
    """The log-likelihoods that were seen at one inverse temperature, (moves, particles), and for each particle the
    number of its ancestor in the prior; `effective` is about how many independent draws they are worth."""

    beta: float
    log_likelihoods: np.ndarray
    ancestors: np.ndarray
    effective: float


class Evidence(NamedTuple):
    """The logarithm of the evidence, and its standard error."""

    log_z: float
    error: float


def path_evidence(stages: Sequence[Stage], guess: Sequence[float]) -> Evidence:
    """The evidence at the last temperature, from all stages; `guess` holds a first estimate of log Z for each."""
    stages = _thinned(stages)
    if sum(stage.log_likelihoods.size for stage in stages) * len(stages) > MOST:
        return Evidence(float(guess[-1]), np.nan)  # a path of so many stages is told by chains that are apart
    betas = np.array([stage.beta for stage in stages])
    effective = np.array([max(1.0, stage.effective) for stage in stages])
    log_likelihood = np.concatenate([stage.log_likelihoods.ravel() for stage in stages])
    share = np.concatenate([np.full(stage.log_likelihoods.size, s / stage.log_likelihoods.size)
                            for stage, s in zip(stages, effective, strict=True)])  # fmt: skip
    with np.errstate(invalid="ignore"):
        powers = np.where(betas[:, None] > 0, betas[:, None] * log_likelihood, 0.0)  # L⁰ is 1 where L is 0, too
    log_z = _solved(np.asarray(guess, float), powers, np.log(effective), share)
    chances = _chances(log_z, powers, np.log(effective))
    slopes = np.diag(chances @ share) - (chances * share) @ chances.T
    last = np.zeros(len(betas) - 1)
    last[-1] = 1.0
    direction = np.linalg.lstsq(slopes[1:, 1:], last, rcond=None)[0]
    influence = share * (direction @ chances[1:])
    return Evidence(float(log_z[-1]), float(np.sqrt(_variance(influence, stages))))


def _thinned(stages: Sequence[Stage]) -> list[Stage]:
    """Of long paths fewer moves of each stage, the last one among them, so that all fit into memory."""
    step = -(-sum(stage.log_likelihoods.size for stage in stages) * len(stages) // MOST)
    return [stage._replace(log_likelihoods=stage.log_likelihoods[::-step][::-1]) for stage in stages]


def _chances(log_z: np.ndarray, powers: np.ndarray, log_effective: np.ndarray) -> np.ndarray:
    """For each stage and each particle the chance that it is of that stage, given its likelihood."""
    terms = (log_effective - log_z)[:, None] + powers
    terms -= terms.max(axis=0)
    np.exp(terms, out=terms)
    terms /= terms.sum(axis=0)
    return terms


def _solved(log_z: np.ndarray, powers: np.ndarray, log_effective: np.ndarray, share: np.ndarray) -> np.ndarray:
    """log Z of all stages, so that as many particles are expected of each as there are: by Newton's method, whose steps
    are shortened so that they never go too far (Bach 2010, proposition 2, for sums of logarithms of sums)."""
    wanted = np.exp(log_effective)
    log_z = log_z - log_z[0]
    chances = _chances(log_z, powers, log_effective)  # of a later estimate by weights: exponentials are taken once
    moved = np.zeros_like(log_z)
    for _ in range(NEWTON):
        weights = np.exp(-moved)
        total = weights @ chances
        counts = weights * (chances @ (share / total))
        slopes = np.diag(counts) - np.outer(weights, weights) * ((chances * (share / total**2)) @ chances.T)
        step = np.zeros_like(log_z)
        step[1:] = np.linalg.lstsq(slopes[1:, 1:], (counts - wanted)[1:], rcond=None)[0]
        width = np.ptp(step)
        if width < TOLERANCE:
            return log_z + moved + step
        moved += step * np.log1p(width) / width
    return log_z + moved


def _variance(influence: np.ndarray, stages: Sequence[Stage]) -> float:
    """The variance of the sum of what particles contribute, families apart."""
    families = np.zeros(1 + max(int(stage.ancestors.max()) for stage in stages))
    at = 0
    for stage in stages:
        moves, count = stage.log_likelihoods.shape
        mine = influence[at : at + moves * count].reshape(moves, count).sum(axis=0)
        families += np.bincount(stage.ancestors, mine - mine.mean(), len(families))
        at += moves * count
    return float(np.sum(families**2))
