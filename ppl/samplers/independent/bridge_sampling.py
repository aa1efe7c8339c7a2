r"""Bridge sampling: the constant of a density from its draws and those of a normal law that is like it.

With p the density and q the normal law, and s₁, s₂ the shares of their draws, the constant r solves

.. math:: r = \frac{\operatorname{mean}_q \; p / (s_1 p + s_2 r q)}{\operatorname{mean}_p \; q / (s_1 p + s_2 r q)}

(Meng & Wong 1996, eq. 4.1). Draws of a Markov chain count as many as they are effective. Half of the draws tell the
normal law, the other half meets its draws, and then the halves change places. With the method "warp3" the density is
that of a draw reflected about the mean at random, which is more like a normal law where it is skewed (Meng & Schilling
2002).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ppl.samplers.runs.diagnostics import ess_mean

METHODS = ("normal", "warp3")
ITERATIONS = 1000
TOLERANCE = 1e-10
PROPOSALS = 2  # for each draw

LogDensity = Callable[[np.ndarray], np.ndarray]  # of positions, (n, dim)


class Constant(NamedTuple):
    """The logarithm of the constant, its standard error, and how many iterations it took."""

    log_z: float
    error: float
    iterations: int


class Normal(NamedTuple):
    """A normal law: its mean and a factor of its covariance."""

    mean: np.ndarray
    factor: np.ndarray

    def log_density(self, standard: np.ndarray) -> np.ndarray:
        """At standardized positions."""
        volume = np.sum(np.log(np.diag(self.factor))) + 0.5 * len(self.mean) * np.log(2 * np.pi)
        return -0.5 * np.sum(standard**2, axis=-1) - float(volume)

    def standardized(self, positions: np.ndarray) -> np.ndarray:
        """Positions in coordinates in which the law is standard normal."""
        found: np.ndarray = np.linalg.solve(self.factor, (positions - self.mean).reshape(-1, len(self.mean)).T).T
        return found.reshape(positions.shape)


def bridged(log_density: LogDensity, draws: np.ndarray, method: str = "normal", seed: int = 0) -> Constant:
    """The constant of a density, given draws of it, (chains, draws, dim)."""
    rng = np.random.default_rng(seed)
    half = draws.shape[1] // 2
    parts = draws[:, :half], draws[:, half : 2 * half]
    both = [_met(log_density, fitted, met, method, rng) for fitted, met in (parts, parts[::-1])]
    log_z = float(np.mean([each.log_z for each in both]))
    error = float(np.sqrt(np.sum([each.error**2 for each in both])) / 2)
    return Constant(log_z, error, max(each.iterations for each in both))


def _met(
    log_density: LogDensity, fitted: np.ndarray, met: np.ndarray, method: str, rng: np.random.Generator
) -> Constant:
    """The constant from some draws, with the normal law that others tell."""
    law = _law(fitted)
    dim = met.shape[2]
    standard = law.standardized(met)
    proposed = rng.standard_normal((PROPOSALS * met.shape[0] * met.shape[1], dim))
    at = lambda z: _at(log_density, law, z, method)
    here = at(standard.reshape(-1, dim)) - law.log_density(standard.reshape(-1, dim))
    there = at(proposed) - law.log_density(proposed)
    here = here.reshape(met.shape[:2])
    if not np.isfinite(here).all():
        raise ValueError("a draw has no finite log-density: these are not draws of this density")
    return _solved(here, there)


def _law(draws: np.ndarray) -> Normal:
    flat = draws.reshape(-1, draws.shape[2])
    covariance = np.atleast_2d(np.cov(flat, rowvar=False))
    covariance += np.diag(1e-10 * np.diag(covariance) + 1e-300)
    try:
        return Normal(flat.mean(axis=0), np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise ValueError("the covariance of the draws is singular: give more draws than there are dimensions") from None


def _at(log_density: LogDensity, law: Normal, standard: np.ndarray, method: str) -> np.ndarray:
    positions = lambda z: law.mean + z @ law.factor.T
    finite = lambda x: np.where(np.isnan(x), -np.inf, x)
    found = finite(log_density(positions(standard)))
    if method == "normal":
        return found
    return np.logaddexp(found, finite(log_density(positions(-standard)))) - np.log(2.0)


def _solved(here: np.ndarray, there: np.ndarray) -> Constant:
    """The constant from log p/q at draws of p, (chains, draws), and at draws of q."""
    top = float(np.median(here))
    here, there = here - top, there - top
    effective = min(float(ess_mean(np.clip(here, *np.quantile(here, [0.001, 0.999])))), here.size)
    effective = effective if np.isfinite(effective) and np.ptp(here) > 0 else float(here.size)
    share = effective / (effective + there.size)
    log_r, step, iterations = 0.0, np.inf, 0
    while abs(step) > TOLERANCE and iterations < ITERATIONS:
        of_q = _ratio(there - log_r, share)
        of_p = _inverse(here - log_r, share)
        step = float(np.log(np.mean(of_q)) - np.log(np.mean(of_p)))
        log_r, iterations = log_r + step, iterations + 1
    of_q, of_p = _ratio(there - log_r, share), _inverse(here - log_r, share)
    seen = ess_mean(of_p) if np.ptp(of_p) > 1e-12 else of_p.size
    variance = _relative(of_q) / of_q.size + _relative(of_p) / max(1.0, min(float(seen), of_p.size))
    return Constant(log_r + top, float(np.sqrt(variance)), iterations)


def _ratio(log_ratio: np.ndarray, share: float) -> np.ndarray:
    """x / (s₁ x + s₂) for x = p/(r q)."""
    found: np.ndarray = 1.0 / (share + (1.0 - share) * np.exp(np.minimum(-log_ratio, 700.0)))
    return found


def _inverse(log_ratio: np.ndarray, share: float) -> np.ndarray:
    """1 / (s₁ x + s₂) for x = p/(r q)."""
    found: np.ndarray = 1.0 / (share * np.exp(np.minimum(log_ratio, 700.0)) + (1.0 - share))
    return found


def _relative(x: np.ndarray) -> float:
    return float(np.var(x) / np.mean(x) ** 2)
