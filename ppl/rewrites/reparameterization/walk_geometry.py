r"""How a gradient sampler moves in a random walk of n steps of scale σ, with the information I about each place.

The precision of a walk is D'D/σ², with the eigenvalues of D'D

.. math:: λ_k = 4 \sin^2 \frac{(2k - 1) π}{2 (2n + 1)}

Where I is the same in all places, the precision of the posterior has the same eigenvectors. So with a = σ²I its
eigenvalues are λ_k/a + 1 for the walk itself, 1 + a/λ_k for its innovations, and about 1 where it is whitened.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ppl.rewrites.marginalization.costs import leapfrog, trajectory

SCALES = (0.1, 0.3, 1.0)  # times the scale where sampling starts: what it may turn out to be, since priors are wide


def _spectrum(n: int) -> np.ndarray:
    """λ."""
    return 4.0 * np.sin((2.0 * np.arange(1, n + 1) - 1.0) * np.pi / (2.0 * (2.0 * n + 1.0))) ** 2


def _centered(n: int, a: float, known: bool) -> tuple[float, bool]:
    """Where the scale is not known, it moves no further than a given walk lets it: of the information that a walk of
    itself has about it, the data have the share Σ r²/n, r = a/(a + λ)."""
    spectrum = _spectrum(n)
    steps, columns = trajectory(spectrum / a + 1.0)
    share = 1.0 if known else float(np.mean((a / (a + spectrum)) ** 2))
    return steps / share, columns


def _noncentered(n: int, a: float, known: bool) -> tuple[float, bool]:
    return trajectory(1.0 + a / _spectrum(n))


def _whitened(n: int, a: float, known: bool) -> tuple[float, bool]:
    return 1.0, False


GEOMETRY: dict[str, Callable[[int, float, bool], tuple[float, bool]]] = {
    "centered": _centered,
    "non-centered": _noncentered,
    "whitened": _whitened,
}


def work_of_draw(way: str, gradient: float, information: np.ndarray, scale: float, known: bool) -> float:
    """Operations of an effective draw, up to a common multiple: those of a step times the steps, in the geometric mean
    over what the scale may turn out to be. `known` says that the scale is data."""
    n, each = information.size, float(np.mean(information))
    works = []
    for times in (1.0,) if known else SCALES:
        steps, columns = GEOMETRY[way](n, max((times * scale) ** 2 * each, 1e-12), known)
        works.append(steps * leapfrog(gradient, n, columns))
    return float(np.exp(np.mean(np.log(works))))
