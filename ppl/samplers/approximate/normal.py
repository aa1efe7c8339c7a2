"""Multivariate normal laws that approximate a target: draws, densities, and how good they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl.samplers.approximate.pareto import smoothed
from ppl.samplers.approximate.target import Target

LOG_2PI = float(np.log(2 * np.pi))


class Normal(NamedTuple):
    """N(mean, factor·factorᵀ); a vector in place of the lower triangular factor is its diagonal."""

    mean: np.ndarray
    factor: np.ndarray

    def at(self, noise: np.ndarray) -> np.ndarray:
        """The points that standard normal rows become."""
        return self.mean + (noise * self.factor if self.factor.ndim == 1 else noise @ self.factor.T)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """At rows of points."""
        away = points - self.mean
        noise = away / self.factor if self.factor.ndim == 1 else np.linalg.solve(self.factor, away.T).T
        diagonal = self.factor if self.factor.ndim == 1 else np.diagonal(self.factor)
        return -0.5 * np.sum(noise * noise, axis=1) - np.log(diagonal).sum() - 0.5 * LOG_2PI * len(self.mean)

    @property
    def covariance(self) -> np.ndarray:
        """The covariance matrix."""
        return np.diag(self.factor**2) if self.factor.ndim == 1 else self.factor @ self.factor.T

    @property
    def sd(self) -> np.ndarray:
        """The standard deviations."""
        return self.factor if self.factor.ndim == 1 else np.sqrt(np.sum(self.factor**2, axis=1))


class Quality(NamedTuple):
    """How an approximation compares with its target, from the importance ratios of some of its draws."""

    pareto_k: float
    elbo: float
    elbo_error: float
    log_evidence: float  # by importance sampling; to be believed where `pareto_k` is small
    draws: int


def quality(target: Target, law: Normal, draws: int = 1000, seed: int = 0) -> Quality:
    """The quality of a normal approximation."""
    points = law.at(np.random.default_rng(seed).standard_normal((draws, target.dim)))
    return quality_of(target(points)[0] - law.log_density(points))


def quality_of(log_ratios: np.ndarray) -> Quality:
    """The quality of an approximation, from the logarithms of its importance ratios."""
    n = len(log_ratios)
    finite = log_ratios[np.isfinite(log_ratios)]
    if not finite.size:
        return Quality(np.inf, -np.inf, np.nan, -np.inf, n)
    weights = smoothed(log_ratios)
    top = finite.max()
    evidence = float(top + np.log(np.exp(finite - top).sum() / n))
    whole = finite.size == n
    elbo = float(finite.mean()) if whole else -np.inf
    return Quality(weights.shape, elbo, float(finite.std() / np.sqrt(n)) if whole else np.nan, evidence, n)


def cholesky_of_precision(precision: np.ndarray) -> np.ndarray | None:
    """The lower triangular factor of the covariance with this inverse; None where that is not positive definite."""
    if not np.all(np.isfinite(precision)):
        return None
    scale = np.sqrt(np.abs(np.diagonal(precision)))
    if not np.all(scale > 0):
        return None
    try:
        factor = np.linalg.cholesky(precision / np.outer(scale, scale))
        inverse = np.linalg.inv(factor)
        return np.linalg.cholesky((inverse.T @ inverse) / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return None
