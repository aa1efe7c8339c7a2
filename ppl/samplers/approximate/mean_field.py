"""Deterministic mean-field variational inference, with linear response (Giordano, Ingram & Broderick 2024, "DADVI").

The evidence lower bound of a normal q with independent coordinates, averaged over *fixed* standard normal draws z_m,

    F(μ, σ) = -(1/M) Σ_m log p(μ + σ z_m) - Σ_i log σ_i,

is an ordinary function: L-BFGS finds its minimum in tens of steps, and knows when it is there. The draws come in
opposite pairs, whitened where there are enough of them, which makes F exact for a normal target. How far μ lies from
the minimum over all draws follows from the spread of the pairs; the number of draws is doubled until that is little.

Mean field gives standard deviations that are too small where coordinates depend on each other. *Linear response* asks
how μ moves if the target is tilted; the derivative of E z by the tilt is the covariance: the block of the inverse
Hessian of F that belongs to μ. It is exact for a normal target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ppl.samplers.approximate.draws import antithetic
from ppl.samplers.approximate.lbfgs import Found, minimize
from ppl.samplers.approximate.normal import Normal, cholesky_of_precision
from ppl.samplers.approximate.target import Target, hessians

FEWEST, MOST = 8, 128  # draws, first and at most
ROUGH, FINE = 1e-3, 1e-8  # slopes, in units of standard deviations, while draws are chosen and in the end
ENOUGH = 0.05  # standard deviations that the mean may be off by the choice of draws
MOST_RESPONSE = 200  # dimensions up to which linear response is worked out unasked

Watch = Callable[[np.ndarray, np.ndarray, float], None]


class MeanField(NamedTuple):
    """What was found."""

    mean: np.ndarray
    sd: np.ndarray
    losses: list[float]
    converged: bool
    why: str
    error: float  # of the mean, in standard deviations, by the choice of fixed draws; nan where it is not known
    draws: int
    response: Normal | None  # with the covariance by linear response


def mean_field(
    target: Target,
    start: np.ndarray,
    sd: np.ndarray | None = None,
    most: int = 1000,
    seed: int = 0,
    respond: bool | None = None,
    watch: Watch | None = None,
) -> MeanField:
    """The best normal approximation with independent coordinates. `watch` sees mean, sd and loss of each step."""
    mean, sd = near_mode(target, start, sd, most)
    losses: list[float] = []
    left = lambda: max(0, most - len(losses))
    mean, sd, _ = _fitted(target, antithetic(FEWEST, target.dim, seed), mean, sd, left(), ROUGH, losses, watch)
    rows = int(np.clip(2 * target.dim, 2 * FEWEST, MOST))
    while True:
        noise = antithetic(rows, target.dim, seed)
        mean, sd, found = _fitted(target, noise, mean, sd, left(), ROUGH, losses, watch)
        error = _error(target, noise, mean, sd)
        if not found.converged or not error > ENOUGH or 2 * rows > MOST or not left():
            break
        rows *= 2
    mean, sd, found = _fitted(target, noise, mean, sd, left(), FINE, losses, watch)
    response = None
    if respond or (respond is None and target.dim <= MOST_RESPONSE):
        response = _response(target, noise, mean, sd)
    return MeanField(mean, sd, losses, found.converged, found.why, error, rows, response)


def near_mode(target: Target, start: np.ndarray, sd: np.ndarray | None, most: int) -> tuple[np.ndarray, np.ndarray]:
    """A place to begin at: some steps uphill, and scales by the curvature there, never above one or far below it."""
    if not target.dim:
        return np.zeros(0), np.zeros(0)
    found = minimize(
        target.downhill, start, most=min(most, 30), value_tolerance=1e-3, longest=10.0 * np.sqrt(target.dim)
    )
    if sd is not None:
        return found.point, np.asarray(sd, float)
    step = np.full(target.dim, 1e-4)
    curvature = np.empty(target.dim)
    for i in range(0, target.dim, 32):
        shifts = np.eye(target.dim)[i : i + 32] * step
        _, gradients = target(np.concatenate([found.point + shifts, found.point - shifts]))
        at = np.arange(len(shifts))
        curvature[i : i + 32] = (gradients[len(shifts) + at, i + at] - gradients[at, i + at]) / (2 * step[i + at])
    with np.errstate(all="ignore"):
        sd = np.where(curvature > 0, 1 / np.sqrt(curvature), 1.0)
    return found.point, np.where(np.isfinite(sd), sd, 1.0)


def _fitted(
    target: Target, noise: np.ndarray, mean: np.ndarray, sd: np.ndarray, most: int, tolerance: float,
    losses: list[float], watch: Watch | None,
) -> tuple[np.ndarray, np.ndarray, Found]:  # fmt: skip
    """The minimum of F in units of the standard deviations at the start."""
    dim, units = len(mean), sd

    def read(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            return mean + units * x[:dim], units * np.exp(x[dim:])

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        center, spread = read(x)
        points = center + spread * noise
        if not np.all(np.isfinite(points)):
            return np.inf, np.zeros_like(x)
        values, gradients = target(points)
        if not np.all(np.isfinite(values)):
            return np.inf, np.zeros_like(x)
        by_log = np.mean(gradients * noise, axis=0) * spread + 1.0
        with np.errstate(divide="ignore"):
            loss = -float(np.mean(values)) - float(np.sum(np.log(spread) + 0.5 + 0.5 * np.log(2 * np.pi)))
        return loss, -np.concatenate([np.mean(gradients, axis=0) * units, by_log])

    def each(x: np.ndarray, loss: float) -> None:
        losses.append(loss)
        if watch is not None:
            watch(*read(x), loss)

    found = minimize(
        objective, np.zeros(2 * dim), most=most, gradient_tolerance=tolerance, value_tolerance=0.0, each=each
    )
    center, spread = read(found.point)
    return center, spread, found


def _response(target: Target, noise: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> Normal | None:
    """The normal law with the covariance by linear response."""
    points = mean + sd * noise
    _, gradients = target(points)
    curvatures = -hessians(target, points, sd)
    unit = sd * noise
    m_m = curvatures.mean(axis=0)
    m_s = np.einsum("mij,mj->ij", curvatures, unit) / len(noise)
    s_s = np.einsum("mi,mij,mj->ij", unit, curvatures, unit) / len(noise)
    s_s[np.diag_indices(len(sd))] -= np.mean(gradients * unit, axis=0)
    try:
        precision = m_m - m_s @ np.linalg.solve(s_s, m_s.T)
    except np.linalg.LinAlgError:
        return None
    factor = cholesky_of_precision(0.5 * (precision + precision.T))
    return None if factor is None else Normal(mean, factor)


def _error(target: Target, noise: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> float:
    """How far the mean may be off, in standard deviations: the spread of the gradients of pairs of draws, in the units
    of this law."""
    _, gradients = target(mean + sd * noise)
    half = len(noise) // 2
    pairs = 0.5 * (gradients[:half] + gradients[half:])
    if half < 2 or not pairs.size:
        return np.nan
    return float(np.max(np.std(pairs, axis=0, ddof=1) * sd) / np.sqrt(half))
