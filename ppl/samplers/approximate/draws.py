"""Fixed standard normal draws for deterministic objectives."""

from __future__ import annotations

import numpy as np


def antithetic(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    """An even number of standard normal points, each with its opposite, so that their mean is zero.

    Where there are enough of them, their covariance is made the identity too: averages of quadratic functions are
    then exact, and with them the fit of a normal target.
    """
    half = np.random.default_rng(seed).standard_normal((rows // 2, dim))
    if rows // 2 >= dim > 0:
        factor = np.linalg.cholesky(half.T @ half / len(half))
        half = np.linalg.solve(factor, half.T).T
    elif dim:
        half *= 1 / np.sqrt(np.mean(half * half, axis=0))
    return np.concatenate([half, -half])
