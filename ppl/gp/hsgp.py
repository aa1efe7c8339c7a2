"""Hilbert-space approximations of Gaussian processes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Normal
from ppl.gp.bases import boundaries, calc_eigenvalues, calc_eigenvectors, set_boundary
from ppl.gp.covariances.inputs import table
from ppl.gp.process import Base
from ppl.model import Deterministic
from ppl.tensor.tensor import Tensor, as_tensor

SIZES = (
    "`m` and `L`, if provided, must be sequences with one element per active dimension of the kernel or covariance "
    "function."
)


def center_of(X: Tensor) -> np.ndarray:
    """The middle of the range of each column, as it is now."""
    return np.asarray(((tt.max(X, axis=0) + tt.min(X, axis=0)) / 2.0).eval())


class HSGP(Base):
    r"""A stationary Gaussian process by a few basis functions: :math:`f = m + \sum_j β_j \sqrt{S(\sqrt{λ_j})}\,φ_j(x)`.

    The basis lives on a box around the points that `prior` meets: `L` half widths, or `c` times that of the points.
    Functions of length scales below about 2L/m are not seen, and outside the box there is nothing: points there are
    refused. `hsgp_size` finds m and c. `boundary` is what holds at the ends of the box, "dirichlet", "neumann" or
    "mixed" (see `ppl.gp.bases`), for all dimensions or for each.

    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     gp = pm.gp.HSGP(m=[10], c=1.5, cov_func=pm.gp.cov.Matern52(1, ls=0.5))
    ...     f = gp.prior("f", X=np.linspace(0, 1, 100)[:, None])
    >>> [v.name for v in model.free_RVs]
    ['f_hsgp_coeffs']
    """

    def __init__(
        self,
        m: Sequence[int],
        L: Sequence[float] | None = None,
        c: Any = None,
        drop_first: bool = False,
        parametrization: str | None = "noncentered",
        *,
        boundary: str | Sequence[str] = "dirichlet",
        mean_func: Any = None,
        cov_func: Any,
    ) -> None:
        if not isinstance(m, Sequence) or len(m) != cov_func.n_dims:
            raise ValueError(SIZES)
        if (L is None) == (c is None):
            raise ValueError("Provide one of `c` or `L`")
        if L is not None and (not isinstance(L, Sequence) or len(L) != cov_func.n_dims):
            raise ValueError(SIZES)
        if c is not None and np.any(np.asarray(c) < 1.2):
            warnings.warn("For an adequate approximation `c >= 1.2` is recommended.", UserWarning, stacklevel=2)
        form = parametrization.lower().replace("-", "").replace("_", "") if parametrization else None
        if form not in ("centered", "noncentered"):
            raise ValueError("`parametrization` must be either 'centered' or 'noncentered'.")
        if drop_first:
            warnings.warn(
                "The drop_first argument will be deprecated in future versions."
                " See https://github.com/pymc-devs/pymc/pull/6877",
                DeprecationWarning,
                stacklevel=2,
            )
        self._drop_first, self._m, self._c, self._parametrization = drop_first, tuple(m), c, form
        self._m_star = self.n_basis_vectors = prod(self._m)
        self._boundary = boundaries(boundary, len(self._m))
        self._L: np.ndarray | None = None if L is None else _half_widths(L)
        self._X_center: np.ndarray | None = None
        super().__init__(mean_func=mean_func, cov_func=cov_func)

    def __add__(self, other: Any) -> Any:
        raise NotImplementedError("Additive HSGPs aren't supported.")

    @property
    def L(self) -> Tensor:
        """The half width of the box in each dimension, once it is known."""
        if self._L is None:
            raise RuntimeError("Boundaries `L` required but still unset.")
        return as_tensor(self._L)

    @L.setter
    def L(self, value: Any) -> None:
        self._L = _half_widths(value)

    def prior_linearized(self, X: Any) -> tuple[Tensor, Tensor]:
        """The basis functions at the rows of X, a column for each, and the standard deviations of their coefficients:
        f = phi @ (beta * sqrt_psd) with standard normal beta.

        The middle and the width of the box are those of the points met first, also after `set_data`.
        """
        X = table("gp.HSGP", X)
        if self._X_center is None:
            self._X_center = center_of(X)
        if self._L is None:
            self.L = set_boundary(self.cov_func._slice(X)[0], self._c)
        phi = self._basis(X)
        psd = self.cov_func.power_spectral_density(self._eigenvalues() ** 0.5)
        return phi, tt.sqrt(psd[int(self._drop_first) :])

    def _eigenvalues(self) -> np.ndarray:
        return np.asarray(calc_eigenvalues(self._L, self._m, self._boundary))

    def _basis(self, X: Any) -> Tensor:
        """The basis functions at the rows of X."""
        x, _ = self.cov_func._slice(table("gp.HSGP", X) - self._X_center)
        half = np.asarray(self.L.eval())
        _inside(x, half)
        return calc_eigenvectors(x, half, self._eigenvalues(), self._m, self._boundary)[:, int(self._drop_first) :]

    def prior(  # type: ignore[override]
        self, name: str, X: Any, dims: Any = None, hsgp_coeffs_dims: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """The process at the rows of X: a Deterministic `name` of coefficients `name_hsgp_coeffs`."""
        phi, self._sqrt_psd = self.prior_linearized(X)
        centered = self._parametrization == "centered"
        count = self.n_basis_vectors - int(self._drop_first)
        law = {"sigma": self._sqrt_psd} if centered else {}
        self._beta = Normal(f"{name}_hsgp_coeffs", **law, size=count, dims=hsgp_coeffs_dims)
        self.f = Deterministic(name, self.mean_func(X) + phi @ self._weights(), dims=dims)
        return self.f

    def _weights(self) -> Tensor:
        beta: Tensor = self._beta
        return beta if self._parametrization == "centered" else beta * self._sqrt_psd

    def _build_conditional(self, Xnew: Any) -> Tensor:
        """The process at new points, as an expression."""
        if not hasattr(self, "_beta"):
            raise ValueError("Prior is not set, can't create a conditional.  Call `.prior(name, X)` first.")
        return self.mean_func(Xnew) + self._basis(Xnew) @ self._weights()

    def conditional(self, name: str, Xnew: Any, dims: Any = None) -> Any:  # type: ignore[override]
        """The process at new points, a Deterministic of the coefficients."""
        return Deterministic(name, self._build_conditional(Xnew), dims=dims)


def _half_widths(L: Any) -> np.ndarray:
    """The half widths of the box as an array; refuses what is not positive."""
    value = np.asarray(as_tensor(L).eval(), dtype=float)
    if not np.all(value > 0):
        raise ValueError(
            f"gp.HSGP: the boundary L must be positive in each dimension, got {value}. If it comes from c, the points "
            "have no width there."
        )
    return value


def _inside(x: Tensor, half: np.ndarray) -> None:
    """Refuse points, measured from the middle, that lie outside the box: the basis would repeat itself there."""
    value = np.abs(np.asarray(x.eval())).max(axis=0, initial=0.0)
    if np.any(value > half * (1 + 1e-9)):
        d = int(np.argmax(value - half))
        raise ValueError(
            f"gp.HSGP: a point is {value[d]:.6g} away from the middle in dimension {d}, and the box ends at L = "
            f"{half[d]:.6g}. Give a larger L or c, so that all points to predict at lie inside."
        )
