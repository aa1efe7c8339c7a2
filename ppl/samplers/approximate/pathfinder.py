"""Pathfinder (Zhang, Carpenter, Gelman & Vehtari 2022): normal approximations along the way to a mode, the best kept.

L-BFGS climbs from a random start. At each point θ_l of its way the pairs (s, z) of steps and changes of the gradient
give an inverse Hessian in factored form, Σ = diag(α) + βγβᵀ, and a normal law N(θ_l + Σ∇log p, Σ). The law with the
greatest evidence lower bound stands for the path: not that of the mode, which in a hierarchical model lies far from
where the probability is. Several paths are pooled: the proposal is the *mixture* of their laws, so that a draw has the
importance weight p / mean_i q_i, and draws are made again by these weights, Pareto smoothed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl.samplers.approximate.lbfgs import Found, minimize
from ppl.samplers.approximate.normal import LOG_2PI, Normal, cholesky_of_precision
from ppl.samplers.approximate.pareto import smoothed
from ppl.samplers.approximate.target import Target, hessians

CURVED = 1e-12  # a pair counts where s·z is more than this part of z·z
BEST, MORE = 5, 25  # laws that are looked at again, with as many draws more
FIRST = 40  # points of a way at which the curvature is worked out
EXACT = 50  # dimensions up to which the curvature is worked out along the way


class PathNormal(NamedTuple):
    """N(mean, D(1 + Q W Qᵀ)D) with D = diag(√α), Q orthonormal columns: `half` is a factor of 1 + W."""

    mean: np.ndarray
    root: np.ndarray  # √α
    basis: np.ndarray  # Q, (dim, rank)
    half: np.ndarray  # lower triangular

    def at(self, noise: np.ndarray) -> np.ndarray:
        """The points that standard normal rows become."""
        inside = noise @ self.basis
        return self.mean + (noise + (inside @ self.half.T - inside) @ self.basis.T) * self.root

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """At rows of points."""
        away = (points - self.mean) / self.root
        inside = away @ self.basis
        noise = away + (np.linalg.solve(self.half, inside.T).T - inside) @ self.basis.T
        size = np.log(self.root).sum() + np.log(np.diagonal(self.half)).sum()
        return -0.5 * np.sum(noise * noise, axis=1) - size - 0.5 * LOG_2PI * len(self.mean)

    @property
    def covariance(self) -> np.ndarray:
        """The covariance matrix."""
        inner = self.half @ self.half.T - np.eye(len(self.half))
        return (np.eye(len(self.mean)) + self.basis @ inner @ self.basis.T) * np.outer(self.root, self.root)


Law = PathNormal | Normal


class Path(NamedTuple):
    """One path: its law, and how it came about."""

    law: Law | None  # None where no point of the way has a law with a finite bound
    elbo: float
    found: Found
    at: int  # the point of the way that the law was made at
    why: str


class Pooled(NamedTuple):
    """Draws of all paths, weighted together."""

    points: np.ndarray  # (draws, dim), drawn again by importance
    pareto_k: float
    log_ratios: np.ndarray
    paths: list[Path]


def path(
    target: Target, start: np.ndarray, memory: int | None = None, most: int = 1000, elbo_draws: int = 10, seed: int = 0
) -> Path:
    """One path from a start."""
    memory = memory or max(int(np.ceil(3 * np.log(max(2, target.dim)))), 5)
    found = minimize(target.downhill, start, memory=memory, most=most, gradient_tolerance=1e-8, value_tolerance=1e-5)
    laws: list[tuple[int, Law]] = [*laws_along(found, memory), *curved_along(target, found)]
    if not laws:
        return Path(None, -np.inf, found, 0, "the search made no step")
    noise = np.random.default_rng(seed).standard_normal((elbo_draws + MORE, target.dim))
    bounds = _elbos(target, [law for _, law in laws], noise[:elbo_draws])
    best = np.argsort(-np.nan_to_num(bounds, nan=-np.inf, neginf=-np.inf))[:BEST]
    again = _elbos(target, [laws[i][1] for i in best], noise)
    if not np.any(np.isfinite(again)):
        return Path(None, -np.inf, found, 0, "no law along the path has a finite evidence lower bound")
    chosen = int(np.nanargmax(np.where(np.isfinite(again), again, -np.inf)))
    at, law = laws[best[chosen]]
    return Path(law, float(again[chosen]), found, at, found.why)


def _elbos(target: Target, laws: list[Law], noise: np.ndarray) -> np.ndarray:
    """Evidence lower bounds by the same noise for all laws."""
    points = np.concatenate([law.at(noise) for law in laws])
    finite = np.all(np.isfinite(points), axis=1)
    each = np.full(len(points), -np.inf)
    each[finite] = target(points[finite])[0]
    values = each.reshape(len(laws), len(noise))
    with np.errstate(invalid="ignore"):
        return np.array([
            np.mean(value - law.log_density(law.at(noise))) for law, value in zip(laws, values, strict=True)
        ])  # fmt: skip


def laws_along(found: Found, memory: int) -> list[tuple[int, PathNormal]]:
    """The law at each point of a way but the first, by the pairs up to there."""
    alpha = np.ones(len(found.point))
    steps: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    laws: list[tuple[int, PathNormal]] = []
    for i in range(1, len(found.points)):
        s, z = found.points[i] - found.points[i - 1], found.gradients[i] - found.gradients[i - 1]
        if s @ z > CURVED * (z @ z):
            alpha = next_diagonal(alpha, s, z)
            steps, changes = [*steps[1 - memory :], s], [*changes[1 - memory :], z]
        if steps:
            law = law_at(found.points[i], -found.gradients[i], alpha, np.array(steps).T, np.array(changes).T)
            if law is not None:
                laws.append((i, law))
    return laws


def curved_along(target: Target, found: Found) -> list[tuple[int, Law]]:
    """In few dimensions, the laws by the curvature itself at each point where it is definite: the pairs of a short way
    know only the directions that were walked in."""
    if target.dim > EXACT:
        return []
    scale = np.ones(target.dim)
    laws: list[tuple[int, Law]] = []
    for i, matrix in enumerate(-hessians(target, found.points[:FIRST], scale)):
        factor = cholesky_of_precision(matrix)
        if factor is not None:
            law = Normal(found.points[i], factor)
            laws.append((i, law._replace(mean=found.points[i] - law.covariance @ found.gradients[i])))
    return laws


def next_diagonal(alpha: np.ndarray, s: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The diagonal of the inverse Hessian after one more pair (Gilbert & Lemaréchal 1989)."""
    a, b, c = z @ (alpha * z), z @ s, s @ (s / alpha)
    return 1 / (a / (b * alpha) + z * z / b - a * s * s / (b * c * alpha * alpha))


def law_at(
    point: np.ndarray, gradient: np.ndarray, alpha: np.ndarray, steps: np.ndarray, changes: np.ndarray
) -> PathNormal | None:
    """The law of a point, by the diagonal and the pairs (Byrd, Nocedal & Schnabel 1994); None where it is none."""
    if not (np.all(alpha > 0) and np.all(np.isfinite(alpha))):
        return None
    root = np.sqrt(alpha)
    inner = steps.T @ changes
    upper = np.triu(inner)
    try:
        inverse = np.linalg.inv(upper)
        middle = inverse.T @ (np.diag(np.diagonal(inner)) + changes.T @ (alpha[:, None] * changes)) @ inverse
        beta = np.concatenate([root[:, None] * changes, steps / root[:, None]], axis=1)
        zeros = np.zeros_like(middle)
        gamma = np.block([[zeros, -inverse], [-inverse.T, middle]])
        basis, triangle = np.linalg.qr(beta)
        half = np.linalg.cholesky(np.eye(len(triangle)) + triangle @ gamma @ triangle.T)
    except np.linalg.LinAlgError:
        return None
    scaled = root * gradient
    inside = basis.T @ scaled
    mean = point + root * (scaled + basis @ (half @ (half.T @ inside) - inside))
    return PathNormal(mean, root, basis, half) if np.all(np.isfinite(mean)) else None


def pooled(target: Target, paths: list[Path], each: int, draws: int, how: str | None = "psis", seed: int = 0) -> Pooled:
    """Draws of the paths that have a law. `how` says what is done with their weights: drawn again by smoothed ones
    ("psis"), by plain ones ("psir"), or not at all ("identity" and None keep the draws, a part of each path)."""
    rng = np.random.default_rng(seed)
    laws = [p.law for p in paths if p.law is not None]
    points = np.concatenate([law.at(rng.standard_normal((each, target.dim))) for law in laws])
    by_law = np.array([law.log_density(points) for law in laws])
    top = by_law.max(axis=0)
    mixture = top + np.log(np.mean(np.exp(by_law - top), axis=0))
    values, _ = target(points)
    log_ratios = np.where(np.isfinite(values), values - mixture, -np.inf)
    weights = smoothed(log_ratios)
    if how in ("psis", "psir"):
        logs = weights.log_weights if how == "psis" else log_ratios - np.max(log_ratios)
        chances = np.exp(logs) / np.exp(logs).sum()
        chosen = rng.choice(len(points), draws, p=chances)
    else:
        chosen = rng.permutation(len(points))[:draws]
    return Pooled(points[chosen], weights.shape, log_ratios, paths)
