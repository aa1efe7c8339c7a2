r"""Mixtures of Student's laws over a few dimensions: known densities with heavy tails that are drawn from at once.

.. math:: q(x) = \sum_k a_k\, t_ν(x; m_k, L_k L_k^T)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

FREEDOM = 6.0  # of the components: of a normal law in four dimensions three draws in four are kept
ROUNDS = 8  # of expectation and maximization
LEAST_SHARE = 1e-7  # of the variance of all points that a component keeps in each direction
WIDE_SHARE, WIDE, WIDE_FREEDOM = 0.05, 3.0, 2.0  # what is beside the fit, so that tails are heavier than those of it


_lgamma = np.vectorize(math.lgamma, otypes=[float])  # of few numbers: SciPy takes its time to load


class Mixture(NamedTuple):
    """Components: weights (k,), locations (k, d), lower triangular scales (k, d, d), degrees of freedom (k,)."""

    weights: np.ndarray
    locations: np.ndarray
    scales: np.ndarray
    freedom: np.ndarray

    @property
    def dim(self) -> int:
        return self.locations.shape[1]

    def terms(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-densities of the components times their weights, and squared distances from them, (n, k) both."""
        d, nu = self.dim, self.freedom
        distance = np.empty((len(x), len(nu)))
        for k, inverse in enumerate(np.linalg.inv(self.scales)):
            z = (x - self.locations[k]) @ inverse.T
            distance[:, k] = np.sum(z * z, axis=1)
        volume = np.sum(np.log(np.diagonal(self.scales, axis1=1, axis2=2)), axis=1)
        constant = _lgamma((nu + d) / 2) - _lgamma(nu / 2) - d / 2 * np.log(nu * np.pi) - volume
        return np.log(self.weights) + constant - (nu + d) / 2 * np.log1p(distance / nu), distance

    def log_density(self, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.logaddexp.reduce(self.terms(x)[0], axis=1)
        return found

    def draws(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Independent draws, (count, d)."""
        which = rng.choice(len(self.weights), count, p=self.weights)
        shrunk = np.sqrt(self.freedom[which] / rng.chisquare(self.freedom[which]))
        z = rng.standard_normal((count, self.dim)) * shrunk[:, None]
        return self.locations[which] + np.einsum("nij,nj->ni", self.scales[which], z)

    def with_more(self, locations: np.ndarray, scales: np.ndarray, share: float) -> Mixture:
        """Further components of equal weight, which take a share of the mass."""
        more = len(locations)
        return Mixture(
            np.concatenate([(1 - share) * self.weights, np.full(more, share / more)]),
            np.concatenate([self.locations, locations]),
            np.concatenate([self.scales, scales]),
            np.concatenate([self.freedom, np.full(more, FREEDOM)]),
        )

    def fitted(self, x: np.ndarray, weights: np.ndarray) -> Mixture:
        """The mixture that suits weighted points best, from here by expectation and maximization."""
        found, weights = self, weights / weights.sum()
        least = LEAST_SHARE * moments(x, weights)[1]
        for _ in range(ROUNDS):
            terms, distance = found.terms(x)
            share = np.exp(terms - np.logaddexp.reduce(terms, axis=1, keepdims=True)) * weights[:, None]
            mass = share.sum(axis=0)
            enough = mass**2 > 2 * (self.dim + 1) * np.sum(share**2, axis=0)  # points that a component stands on
            if not np.any(enough):
                return found
            share, mass = share[:, enough], mass[enough]
            near = share * ((FREEDOM + self.dim) / (FREEDOM + distance[:, enough]))
            locations = near.T @ x / near.sum(axis=0)[:, None]
            off = [x - location for location in locations]
            spread = np.stack([(n * o.T) @ o / m for n, o, m in zip(near.T, off, mass, strict=True)]) + least
            found = Mixture(mass / mass.sum(), locations, np.linalg.cholesky(spread), np.full(len(mass), FREEDOM))
        return found


def moments(x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the covariance of points whose weights add up to one."""
    mean = weights @ x
    off = x - mean
    return mean, (weights * off.T) @ off


def alone(location: np.ndarray, scale: np.ndarray, freedom: float = FREEDOM) -> Mixture:
    """One component."""
    return Mixture(np.ones(1), location[None], scale[None], np.full(1, freedom))


def guarded(fit: Mixture) -> Mixture:
    """A fit with a wide component beside it, which covers all of it."""
    mean, spread = moments(fit.locations, fit.weights)
    spread = spread + np.einsum("k,kij,klj->il", fit.weights, fit.scales, fit.scales)
    both = zip(fit, alone(mean, WIDE * np.linalg.cholesky(spread), WIDE_FREEDOM), strict=True)
    _, *rest = (np.concatenate(each) for each in both)
    return Mixture(np.append((1 - WIDE_SHARE) * fit.weights, WIDE_SHARE), *rest)
