r"""How a gradient sampler moves in a series of n steps of scale σ, with the information I about each place.

Each step carries the part ρ of the value before it on, all of it in a random walk. The precision of the series is
D'D/σ², with about the eigenvalues of D'D

.. math:: λ_k = (1 - ρ)^2 + 4ρ \sin^2 \frac{(2k - 1) π}{2 (2n + 1)}

Where I is the same in all places, the precision of the posterior has the same eigenvectors. So with a = σ²I its
eigenvalues are λ_k/a + 1 for the series itself, 1 + a/λ_k for its innovations, and about 1 where it is whitened.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ppl.rewrites.marginalization.costs import leapfrog, trajectory

SCALES = (0.1, 0.3, 1.0)  # times the scale where sampling starts: what it may turn out to be, since priors are wide


def _spectrum(n: int, carried: float) -> np.ndarray:
    """λ."""
    waves = 4.0 * np.sin((2.0 * np.arange(1, n + 1) - 1.0) * np.pi / (2.0 * (2.0 * n + 1.0))) ** 2
    return (1.0 - carried) ** 2 + carried * waves


def _centered(spectrum: np.ndarray, a: float, known: bool) -> tuple[float, bool]:
    """Where the scale is not known, it moves no further than a given series lets it: of the information that a series
    of itself has about it, the data have the share Σ r²/n, r = a/(a + λ)."""
    steps, columns = trajectory(spectrum / a + 1.0)
    share = 1.0 if known else float(np.mean((a / (a + spectrum)) ** 2))
    return steps / share, columns


def _noncentered(spectrum: np.ndarray, a: float, known: bool) -> tuple[float, bool]:
    return trajectory(1.0 + a / spectrum)


def _whitened(spectrum: np.ndarray, a: float, known: bool) -> tuple[float, bool]:
    return 1.0, False


GEOMETRY: dict[str, Callable[[np.ndarray, float, bool], tuple[float, bool]]] = {
    "centered": _centered,
    "non-centered": _noncentered,
    "whitened": _whitened,
}


def work_of_draw(
    way: str, gradient: float, information: np.ndarray, scale: float, known: bool, carried: float = 1.0
) -> float:
    """Operations of an effective draw, up to a common multiple: those of a step times the steps, in the geometric mean
    over what the scale may turn out to be. `known` says that the scale is data, `carried` is ρ."""
    n, each = information.size, float(np.mean(information))
    spectrum, works = _spectrum(n, carried), []
    for times in (1.0,) if known else SCALES:
        steps, columns = GEOMETRY[way](spectrum, max((times * scale) ** 2 * each, 1e-12), known)
        works.append(steps * leapfrog(gradient, n, columns))
    return float(np.exp(np.mean(np.log(works))))
