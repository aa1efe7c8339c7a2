r"""Where a density has mass: populations of points that move there, whatever their scale, without derivatives.

Points are drawn from a normal law, and weighted by :math:`(p/q)^β` with the largest :math:`β \le 1` at which enough of
them count; mean and covariance of the weighted points make the next normal law. At :math:`β = 1` the points are an
importance sample. A law that moves is stretched along its way, so that far masses are reached in few rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Density = Callable[[np.ndarray], np.ndarray]  # (n, d) -> log-densities (n,)

MEMBERS = 28  # points for each dimension
WIDER = 1.25  # than the law that points settle at, so that it is seen when they have to spread
STEADY = 2.2  # times the variance in any direction: one that grows by more has not come to rest
COUNT = 0.25  # the share of points that count
MOST_ROUNDS = 60
APART = 1.0  # standard deviations between masses that are different
LEAST = 1e-12  # of the scales that a law keeps, beside numbers of unit size


class Settled(NamedTuple):
    """A law that a population came to rest at, and the logarithm of the mass that it saw."""

    mean: np.ndarray
    scale: np.ndarray
    log_mass: float


def settled(density: Density, starts: np.ndarray, scales: np.ndarray, rng: np.random.Generator) -> list[Settled]:
    """Where populations from some starts, with triangular scales, come to rest; those that do not are left out."""
    dim, found = starts.shape[1], list[Settled]()
    size = MEMBERS * dim
    laws = list(zip(starts, scales, strict=True))
    for _ in range(MOST_ROUNDS):
        if not laws:
            break
        noise = rng.standard_normal((len(laws), size, dim))
        points = np.stack([mean + WIDER * z @ scale.T for (mean, scale), z in zip(laws, noise, strict=True)])
        values = density(points.reshape(-1, dim)).reshape(len(laws), size)
        values = np.where(values == np.inf, np.nan, values)
        moved: list[tuple[np.ndarray, np.ndarray]] = []
        for (mean, scale), x, z, value in zip(laws, points, noise, values, strict=True):
            known = np.isfinite(value)
            if known.sum() < 2 * dim + 2:
                moved.append((x[known].mean(axis=0) if np.any(known) else mean, 0.5 * scale))
                continue
            own = -0.5 * np.sum(z * z, axis=1) - np.sum(np.log(WIDER * np.diag(scale))) - dim / 2 * np.log(2 * np.pi)
            ratio = np.where(np.isfinite(value), value - own, -np.inf)
            power = tempered(ratio)
            weights = _shares(power * ratio)
            center = weights @ x
            off, way = x - center, center - mean
            spread = np.einsum("n,ni,nj->ij", weights, off, off) / (1 - np.sum(weights**2))
            if power < 1:
                spread = spread + np.outer(way, way)
            new = _root(spread, center)
            if new is None:
                continue
            if power == 1 and np.linalg.norm(np.linalg.solve(scale, new), 2) < np.sqrt(STEADY):
                found.append(Settled(center, new, float(np.logaddexp.reduce(ratio) - np.log(size))))
            else:
                moved.append((center, new))
        laws = moved
    return found


def different(laws: Sequence[Settled]) -> list[Settled]:
    """One law for each mass, the largest first: populations from several places come to rest at the same."""
    found: list[Settled] = []
    for law in sorted(laws, key=lambda law: -law.log_mass):
        if all(np.linalg.norm(np.linalg.solve(other.scale, law.mean - other.mean)) > APART for other in found):
            found.append(law)
    return found


def tempered(ratio: np.ndarray) -> float:
    """The largest power up to one of weights, given by logarithms, at which a share `COUNT` of points counts."""
    enough = lambda power: 1 / np.sum(_shares(power * ratio) ** 2) >= COUNT * len(ratio)
    if enough(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2 if low > 0 else high / 16
        low, high = (middle, high) if enough(middle) else (low, middle)
    return high if low == 0 else low


def _shares(logs: np.ndarray) -> np.ndarray:
    logs = np.where(np.isnan(logs), -np.inf, logs)
    found: np.ndarray = np.exp(logs - logs.max())
    return found / found.sum()


def _root(spread: np.ndarray, center: np.ndarray) -> np.ndarray | None:
    """A triangular root of a covariance; None where it has shrunk to a point."""
    least = LEAST * (1.0 + np.abs(center))
    if not np.all(np.isfinite(spread)) or np.any(np.sqrt(np.diag(spread)) < least):
        return None
    try:
        return np.linalg.cholesky(spread + 1e-10 * np.diag(np.diag(spread)))
    except np.linalg.LinAlgError:
        return None
