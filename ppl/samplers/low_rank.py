r"""A low-rank metric from a window of draws and gradients, computed on the host with LAPACK.

After standardising by the diagonal, let X and G hold the centred draws and gradients. In the span Q of both, the best
linear whitening in Fisher divergence is the geometric mean of the covariance with the inverse covariance of the
gradients, M = C₁ # C₂⁻¹ with C₁ = QᵀXᵀXQ/(nγ) + I and C₂ = QᵀGᵀGQ/(nγ) + I, where γ keeps directions that were not
seen near 1. Of M's eigenpairs only those far from 1 are kept: the others are already white.
(Seyboldt, Carlson & Carpenter 2026, §4.)
"""

from typing import NamedTuple

import numpy as np

REGULARISATION = 1e-5
CUTOFF = 2.0


class Whitening(NamedTuple):
    """A = diag(scale)(I + basis diag(stretch) basisᵀ), as NumPy arrays."""

    scale: np.ndarray
    basis: np.ndarray
    stretch: np.ndarray


def diagonal(scale: np.ndarray) -> Whitening:
    """A whitening by scales alone."""
    return Whitening(scale, np.zeros((scale.size, 0)), np.zeros(0))


def low_rank(
    x: np.ndarray, g: np.ndarray, most: int, gamma: float = REGULARISATION, cutoff: float = CUTOFF
) -> Whitening:
    """The whitening with at most ``most`` columns for draws ``x`` and gradients ``g``, both (draws, dim)."""
    import scipy.linalg

    scale = np.sqrt(np.sqrt(np.var(x, axis=0) / np.var(g, axis=0)))
    scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
    n = len(x)
    white_x = (x - x.mean(axis=0)) / scale
    white_g = (g - g.mean(axis=0)) * scale
    basis = _span(white_x, white_g)
    in_x, in_g = white_x @ basis, white_g @ basis
    identity = np.eye(basis.shape[1])
    mean = spd_mean(in_x.T @ in_x / (n * gamma) + identity, in_g.T @ in_g / (n * gamma) + identity)
    values, vectors = scipy.linalg.eigh(mean)
    far = np.maximum(values, 1 / values)
    keep = [i for i in np.argsort(-far)[:most] if far[i] > cutoff]
    return Whitening(scale, basis @ vectors[:, keep], np.sqrt(values[keep]) - 1)


def spd_mean(a: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A # C⁻¹ = C^(-1/2) (C^(1/2) A C^(1/2))^(1/2) C^(-1/2), for positive definite A and C."""
    import scipy.linalg

    values, vectors = scipy.linalg.eigh(c)
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse_root = (vectors / np.sqrt(values)) @ vectors.T
    inner_values, inner_vectors = scipy.linalg.eigh(root @ a @ root)
    middle = (inner_vectors * np.sqrt(np.maximum(inner_values, 0))) @ inner_vectors.T
    return inverse_root @ middle @ inverse_root


def whiten(w: Whitening, x: np.ndarray) -> np.ndarray:
    """A⁻¹ x for each row of ``x``."""
    y = x / w.scale
    return y + ((y @ w.basis) * (1 / (1 + w.stretch) - 1)) @ w.basis.T


def whiten_gradient(w: Whitening, g: np.ndarray) -> np.ndarray:
    """Aᵀ g for each row of ``g``."""
    z = g * w.scale
    return z + ((z @ w.basis) * w.stretch) @ w.basis.T


def _span(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the rows of ``x`` and ``g`` together."""
    import scipy.linalg

    rows = np.concatenate([_directions(x), _directions(g)])
    q, r = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)[:2]
    size = np.abs(np.diag(r))
    return q[:, size > 1e-10 * max(size.max(initial=0.0), 1e-300)]


def _directions(rows: np.ndarray) -> np.ndarray:
    """Orthonormal directions of the rows, without those that rounding made."""
    import scipy.linalg

    _, sizes, vt = scipy.linalg.svd(rows, full_matrices=False)
    return vt[sizes > 1e-10 * max(sizes.max(initial=0.0), 1e-300)]
