"""Full-rank variational inference by batch-and-match (Cai, Modi, Pillaud-Vivien, Margossian, Gower, Blei & Saul 2024).

A batch of draws z from the present N(m, C), with g = ∇ log p(z), has means z̄, ḡ and covariances Σ_z, Γ. The next law
matches the scores of the target at the batch as well as it can while it stays near the present one. It solves
C' U C' + C' = V with

    U = λΓ + λ/(1+λ) ḡḡᵀ,    V = C + λΣ_z + λ/(1+λ) (m - z̄)(m - z̄)ᵀ,

that is C' = 2V(1 + (1 + 4UV)^½)⁻¹, and m' = m/(1+λ) + λ/(1+λ) (C'ḡ + z̄). No learning rate is to be chosen, and for a
normal target the steps converge to it. Off it λ falls as 1/t, and the last laws are averaged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ppl.samplers.approximate.draws import antithetic
from ppl.samplers.approximate.lbfgs import minimize
from ppl.samplers.approximate.mean_field import near_mode
from ppl.samplers.approximate.normal import Normal, cholesky_of_precision
from ppl.samplers.approximate.target import Target, hessians

SETTLED = 1e-9  # change of a step, in units of the law, below which nothing changes any more
MOST_STEPS = 200
LITTLE = 0.03  # change of the averaged law from one half of the steps to the next that counts as converged


class FullRank(NamedTuple):
    """What was found."""

    law: Normal
    losses: list[float]
    converged: bool
    why: str
    steps: int


def at_mode(target: Target, start: np.ndarray, most: int = 1000) -> tuple[np.ndarray, np.ndarray | None, bool, int]:
    """The mode near a start, the factor of the covariance of Laplace's approximation there (None where the curvature is
    not that of a maximum), whether the search has converged, and its steps."""
    found = minimize(target.downhill, start, most=most, gradient_tolerance=1e-10, value_tolerance=0.0)
    point, factor = found.point, None
    scale = np.ones(target.dim)
    for _ in range(2):  # the second time in units of the standard deviations, with one step of Newton's
        precision = -hessians(target, point[None], scale)[0]
        factor = cholesky_of_precision(precision)
        if factor is None:
            break
        law = Normal(point, factor)
        value, gradient = target.one(point)
        newton = point + law.covariance @ gradient
        if found.converged and target.one(newton)[0] >= value:
            point = newton
        scale = law.sd
    return point, factor, found.converged, len(found.points) - 1


def full_rank(
    target: Target,
    start: np.ndarray,
    most: int = 1000,
    seed: int = 0,
    law: Normal | None = None,
    watch: Callable[[Normal, float], None] | None = None,
) -> FullRank:
    """A normal approximation with all covariances, begun at Laplace's, or at `law`."""
    dim = target.dim
    if law is None:
        law = _first(target, start, min(most, 100))
    mean, covariance = law.mean, law.covariance
    batch = 2 * min(max(4, dim + 1), 32)
    losses: list[float] = []
    sums: list[tuple[np.ndarray, np.ndarray]] = []
    longest = min(most, MOST_STEPS)
    converged, why = False, f"the averaged law still changes after {longest} steps"
    last: Normal | None = None
    for step in range(longest):
        law = Normal(mean, _factor(covariance))
        points = law.at(antithetic(batch, dim, seed + step))
        values, gradients = target(points)
        fine = np.isfinite(values) & np.all(np.isfinite(gradients), axis=1)
        if fine.sum() < 2:
            why = "the log-density is not finite at the draws of the approximation"
            break
        losses.append(-float(np.mean(values[fine] - law.log_density(points[fine]))))
        if watch is not None:
            watch(law, losses[-1])
        weight = batch * dim / (1.0 + max(0, step - 5))
        try:
            new_mean, new_covariance = _matched(mean, covariance, points[fine], gradients[fine], weight)
            _factor(new_covariance)
        except np.linalg.LinAlgError:
            why = "the covariance of the approximation degenerates, as in a funnel"
            break
        change = _distance(law, new_mean, new_covariance)
        mean, covariance = new_mean, new_covariance
        if change < SETTLED:
            converged, why, sums = True, "the law changes no more", [(mean, covariance)]
            break
        sums.append((mean, covariance))
        if step % 10 == 9 and step > 10:
            recent = _average(sums[len(sums) // 2 :])
            if last is not None and _distance(last, recent.mean, recent.covariance) < LITTLE:
                converged, why = True, "the averaged law changes no more"
                break
            last = recent
    law = _average(sums[len(sums) // 2 :]) if sums else law
    return FullRank(law, losses, converged, why, len(losses))


def _first(target: Target, start: np.ndarray, most: int) -> Normal:
    """Laplace's approximation where there is a mode, else a place on the way uphill with scales by the curvature."""
    point, factor, converged, _ = at_mode(target, start, most)
    if converged and factor is not None:
        return Normal(point, factor)
    point, sd = near_mode(target, start, None, most)
    return Normal(point, np.diag(sd))


def _average(laws: list[tuple[np.ndarray, np.ndarray]]) -> Normal:
    mean = np.mean([m for m, _ in laws], axis=0)
    return Normal(mean, _factor(np.mean([c for _, c in laws], axis=0)))


def _distance(law: Normal, mean: np.ndarray, covariance: np.ndarray) -> float:
    """How far a law is from another one, in units of the latter: the larger of the shift of the mean in standard
    deviations and the relative change of a standard deviation."""
    sd = law.sd
    return float(
        max(np.max(np.abs(mean - law.mean) / sd), np.max(np.abs(np.sqrt(np.diagonal(covariance)) / sd - 1)),
            np.max(np.abs(covariance - law.covariance) / np.outer(sd, sd)))
    )  # fmt: skip


def _matched(
    mean: np.ndarray, covariance: np.ndarray, points: np.ndarray, gradients: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step of batch-and-match, worked out in units of the standard deviations."""
    unit = np.sqrt(np.diagonal(covariance))
    z, g, c = (points - mean) / unit, gradients * unit, covariance / np.outer(unit, unit)
    center, slope = z.mean(axis=0), g.mean(axis=0)
    part = weight / (1 + weight)
    u = weight * _spread(g) + part * np.outer(slope, slope)
    v = c + weight * _spread(z) + part * np.outer(center, center)
    factor = np.linalg.cholesky(v)  # with V = LLᵀ: C' = 2L(1 + (1 + 4LᵀUL)^½)⁻¹Lᵀ
    values, vectors = np.linalg.eigh(factor.T @ u @ factor)
    root = factor @ vectors
    new = (root * (2 / (1 + np.sqrt(1 + 4 * np.maximum(values, 0))))) @ root.T
    return mean + unit * part * (new @ slope + center), new * np.outer(unit, unit)


def _spread(rows: np.ndarray) -> np.ndarray:
    away = rows - rows.mean(axis=0)
    return away.T @ away / len(rows)


def _factor(covariance: np.ndarray) -> np.ndarray:
    covariance = 0.5 * (covariance + covariance.T)
    scale = np.sqrt(np.diagonal(covariance))
    correlation = covariance / np.outer(scale, scale)
    for jitter in (0.0, 1e-12, 1e-9, 1e-6):
        try:
            return scale[:, None] * np.linalg.cholesky(correlation + jitter * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("the covariance of the approximation is not positive definite")
