r"""A low-rank metric from a window of draws and gradients, computed on the host with LAPACK.

After standardizing by the diagonal, let X and G hold the centered draws and gradients. In the span Q of both, the best
linear whitening in Fisher divergence is the geometric mean of the covariance with the inverse covariance of the
gradients, M = C₁ # C₂⁻¹ with C₁ = QᵀXᵀXQ/(nγ) + I and C₂ = QᵀGᵀGQ/(nγ) + I, where γ keeps directions that were not
seen near 1 (Seyboldt, Carlson & Carpenter 2026, §4). Of M's eigenpairs as few become columns as leave the others, and
the directions that were not seen, nearly alike; whatever those have in common goes into the scale. So a thousand
directions of variance 0.1 beside one of 100 need one column, not a thousand.
"""

from typing import NamedTuple

import numpy as np

REGULARIZATION = 1e-5
CUTOFF = 2.0  # the condition number of what no column corrects is at most its square
SMALLEST = 1e-300


class Whitening(NamedTuple):
    """A = diag(scale)(I + basis diag(stretch) basisᵀ), as NumPy arrays."""

    scale: np.ndarray
    basis: np.ndarray
    stretch: np.ndarray


def diagonal(scale: np.ndarray) -> Whitening:
    """A whitening by scales alone."""
    return Whitening(scale, np.zeros((scale.size, 0)), np.zeros(0))


def low_rank(
    x: np.ndarray, g: np.ndarray, most: int, gamma: float = REGULARIZATION, cutoff: float = CUTOFF
) -> Whitening:
    """The whitening with at most ``most`` columns for draws ``x`` and gradients ``g``, both (draws, dim).

    Without columns where rounding leaves no matrix to be factorized, as when gradients lie sixteen digits apart.
    """
    scale = np.sqrt(np.sqrt(np.var(x, axis=0) / np.var(g, axis=0)))
    scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
    n = len(x)
    white_x = (x - x.mean(axis=0)) / scale
    white_g = (g - g.mean(axis=0)) * scale
    basis = _span(white_x, white_g)
    in_x, in_g = white_x @ basis, white_g @ basis
    identity = np.eye(basis.shape[1])
    try:
        mean = spd_mean(in_x.T @ in_x / (n * gamma) + identity, in_g.T @ in_g / (n * gamma) + identity)
        values, vectors = np.linalg.eigh(mean)
    except np.linalg.LinAlgError:
        return diagonal(scale)
    values = np.maximum(values, SMALLEST)
    below, above, middle = outside(np.log(values), scale.size > values.size, most, 2 * np.log(cutoff))
    columns = np.r_[:below, values.size - above : values.size]
    found = Whitening(
        scale * np.exp(middle / 2), basis @ vectors[:, columns], np.sqrt(values[columns] / np.exp(middle)) - 1
    )
    return found if all(np.all(np.isfinite(part)) for part in found) else diagonal(scale)


def outside(logs: np.ndarray, unseen: bool, most: int, width: float) -> tuple[int, int, float]:
    """How many of the least and of the greatest ``logs`` (ascending) to take away, and the middle of the rest.

    As few as leave a rest that spans at most ``width``, or else ``most``, so that the rest spans as little as it can.
    With ``unseen`` there is a zero that cannot be taken away.
    """
    from_below, from_above = np.append(logs, np.inf), np.insert(logs, 0, -np.inf)
    for count in range(min(most, logs.size if unseen else logs.size - 1) + 1):
        least, greatest = from_below[: count + 1], from_above[logs.size - count :]  # by how many are taken below
        if unseen:
            least, greatest = np.minimum(least, 0), np.maximum(greatest, 0)
        below = int(np.argmin(greatest - least))
        if greatest[below] - least[below] <= width:
            break
    return below, count - below, float(least[below] + greatest[below]) / 2


def spd_mean(a: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A # C⁻¹ = K (K⁻¹ A K⁻ᵀ)^(1/2) Kᵀ for any K with K Kᵀ = C⁻¹; here K⁻ᵀ is the Cholesky factor of C."""
    factor = np.linalg.cholesky(c)
    values, vectors = np.linalg.eigh(factor.T @ a @ factor)
    half = np.linalg.solve(factor.T, vectors * np.sqrt(np.sqrt(np.maximum(values, 0))))
    return half @ half.T


def whiten(w: Whitening, x: np.ndarray) -> np.ndarray:
    """A⁻¹ x for each row of ``x``."""
    y = x / w.scale
    return y + ((y @ w.basis) * (1 / (1 + w.stretch) - 1)) @ w.basis.T


def whiten_gradient(w: Whitening, g: np.ndarray) -> np.ndarray:
    """Aᵀ g for each row of ``g``."""
    z = g * w.scale
    return z + ((z @ w.basis) * w.stretch) @ w.basis.T


def _span(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """An orthonormal basis of a space with all rows of ``x`` and ``g``; directions that no row has do no harm."""
    rows, dim = np.concatenate([x, g]), x.shape[1]
    return np.linalg.qr(rows.T)[0] if len(rows) < dim else np.eye(dim)
