"""Bases of Hilbert-space approximations of Gaussian processes: eigenfunctions of the Laplacian on a box.

On [-L, L], with eigenvalues λ_j, an eigenfunction is zero at both ends (Dirichlet), flat at both (Neumann, whose first
one is a constant), or zero at the left and flat at the right end (mixed):

=========== ==================== ========================= ======
boundary    √λ_j                 eigenfunction             j
=========== ==================== ========================= ======
dirichlet   πj / 2L              sin(√λ_j (x + L)) / √L    1, 2, ...
neumann     πj / 2L              cos(√λ_j (x + L)) / √L    0, 1, ...
mixed       π(j - ½) / 2L        sin(√λ_j (x + L)) / √L    1, 2, ...
=========== ==================== ========================= ======

Riutort-Mayol, Bürkner, Andersen, Solin and Vehtari (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from types import ModuleType
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.gp.covariances.exp_quad import ExpQuad
from ppl.gp.covariances.matern import Matern32, Matern52
from ppl.tensor.tensor import Tensor, as_tensor

FIRST = {"dirichlet": 1.0, "neumann": 0.0, "mixed": 0.5}  # of the numbers j whose multiples of π/2L are the frequencies


def boundaries(boundary: str | Sequence[str], dims: int) -> tuple[str, ...]:
    """The kind of boundary in each dimension; refuses unknown ones."""
    given = (boundary,) * dims if isinstance(boundary, str) else tuple(boundary)
    if len(given) != dims or not set(given) <= FIRST.keys():
        raise ValueError(f"boundary is one of {', '.join(FIRST)}, or one of them for each dimension; got {boundary!r}")
    return given


def set_boundary(X: Any, c: Any) -> np.ndarray:
    """The half width L of the box: `c`, a number or one for each column, times half of the range of X.

    >>> float(set_boundary(np.array([[0.0], [4.0]]), 1.5)[0])
    3.0
    """
    x = as_tensor(X)
    return np.asarray((c * (tt.max(x, axis=0) - tt.min(x, axis=0)) / 2.0).eval())


def calc_eigenvalues(L: Any, m: Sequence[int], boundary: str | Sequence[str] = "dirichlet") -> Any:
    """The eigenvalues, a row for each of the prod(m) eigenfunctions and a column for each dimension.

    >>> calc_eigenvalues(np.array([np.pi / 2]), [3])[:, 0]
    array([1., 4., 9.])
    """
    kinds = boundaries(boundary, len(m))
    j = np.meshgrid(*[FIRST[kind] + np.arange(n) for kind, n in zip(kinds, m, strict=True)])
    return (np.pi * np.stack([each.ravel() for each in j], axis=1) / (2 * L)) ** 2


def calc_eigenvectors(
    Xs: Any, L: Any, eigvals: Any, m: Sequence[int], boundary: str | Sequence[str] = "dirichlet"
) -> Tensor:
    """The eigenfunctions at the rows of Xs, which lie around zero: a column for each."""
    x, half, product = as_tensor(Xs), as_tensor(L), None
    for d, kind in enumerate(boundaries(boundary, len(m))):
        frequency = eigvals[:, d] ** 0.5
        angle = frequency * (x[:, d : d + 1] + half[d])
        wave = tt.cos(angle) if kind == "neumann" else tt.sin(angle)
        norm = 1 / tt.sqrt(half[d])
        if kind == "neumann":
            norm = norm * np.where(np.asarray(_is_first(eigvals[:, d])), np.sqrt(0.5), 1.0)
        product = norm * wave if product is None else product * (norm * wave)
    if product is None:
        raise ValueError("calc_eigenvectors: m has no dimension")
    return product


def _is_first(eigenvalues: Any) -> np.ndarray:
    """Which eigenfunctions are constant."""
    return np.asarray(eigenvalues.eval() if isinstance(eigenvalues, Tensor) else eigenvalues) == 0


def calc_basis_periodic(Xs: Any, period: Any, m: int, tl: ModuleType | None = None) -> tuple[Any, Any]:
    """The cosines and the sines of 0, 1, ... m - 1 periods at the points of Xs, a column for each.

    `tl` is the library whose functions are taken, NumPy or `ppl.tensor`; by default the one that Xs and period are of.
    """
    symbolic = isinstance(Xs, Tensor) or isinstance(period, Tensor)
    library: Any = (tt if symbolic else np) if tl is None else tl
    angle = (2 * np.pi / period * Xs) * np.arange(m)
    return library.cos(angle), library.sin(angle)


def approx_hsgp_hyperparams(
    x_range: Sequence[float], lengthscale_range: Sequence[float], cov_func: str
) -> tuple[int, float]:
    """The number m of basis functions and the factor c that PyMC recommends, for "expquad", "matern52" or "matern32".

    Between the ends of the range of length scales the recommended box is too small, so that covariances are wrong by
    0.1 and more; `hsgp_size` has a rule that holds for all of them.
    """
    if lengthscale_range[0] >= lengthscale_range[1]:
        raise ValueError("One of the `lengthscale_range` boundaries is out of order.")
    if x_range[0] >= x_range[1]:
        raise ValueError("One of the `x_range` boundaries is out of order.")
    rule = {"expquad": (3.2, 1.75), "matern52": (4.1, 2.65), "matern32": (4.5, 3.42)}.get(cov_func.lower())
    if rule is None:
        raise ValueError(
            "Unsupported covariance function. Supported options are 'expquad', 'matern52', and 'matern32'."
        )
    half = (x_range[1] - x_range[0]) / 2.0
    c = max(rule[0] * (lengthscale_range[1] / half), 1.2)
    return int(rule[1] * c / (lengthscale_range[0] / half)), c


# kappa and mu of `hsgp_size`, by the largest error of a covariance between 60 points of the range: measured, and held
# to in tests/gp/test_processes_of_gp.py
SIZES: dict[type[Covariance], dict[float, tuple[float, float]]] = {
    ExpQuad: {0.01: (1.75, 1.8), 0.001: (2.0, 2.3)},
    Matern52: {0.01: (2.0, 2.8), 0.001: (2.75, 4.9)},
    Matern32: {0.01: (2.25, 4.5), 0.001: (3.0, 9.8)},
}


def hsgp_size(x_range: Sequence[float], ls_range: Sequence[float], cov: Any, tol: float = 0.01) -> tuple[int, float]:
    """The number m of basis functions and the factor c with which the covariances of an `HSGP` are right to `tol`, for
    all length scales in `ls_range`; `tol` is 0.01 or 0.001, `cov` is ExpQuad, Matern52, Matern32 or one of these.

    >>> hsgp_size([0, 10], [1, 5], ExpQuad)
    (25, 2.75)
    """
    kind = next((k for k in SIZES if cov is k or isinstance(cov, k)), None)
    if kind is None or tol not in SIZES[kind]:
        known = ", ".join(k.__name__ for k in SIZES)
        raise ValueError(f"hsgp_size: cov is one of {known} and tol 0.01 or 0.001; got {cov!r} and {tol!r}")
    if not (x_range[0] < x_range[1] and 0 < ls_range[0] <= ls_range[1]):
        raise ValueError(f"hsgp_size: x_range and ls_range go from less to more, got {x_range} and {ls_range}")
    kappa, mu = SIZES[kind][tol]
    least, most = (2 * ls / (x_range[1] - x_range[0]) for ls in ls_range)
    c = 1 + kappa * most
    return ceil(mu * c / least), c
