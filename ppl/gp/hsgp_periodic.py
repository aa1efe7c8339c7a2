"""Periodic Gaussian processes by their first harmonics."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Normal
from ppl.gp.bases import calc_basis_periodic
from ppl.gp.covariances.inputs import table
from ppl.gp.covariances.periodic import Periodic
from ppl.gp.hsgp import center_of
from ppl.gp.process import Base
from ppl.model import Deterministic
from ppl.tensor.tensor import Tensor


class HSGPPeriodic(Base):
    r"""A Gaussian process with the `Periodic` kernel by m harmonics: with w = 2π/T and the variances q² of the kernel

    .. math:: f(x) = m(x) + s\Big[\sum_{j<m} q_j β_j \cos wjx + \sum_{0<j<m} q_j β_{m+j-1} \sin wjx\Big]

    As m grows its covariance is s² times the kernel.

    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     gp = pm.gp.HSGPPeriodic(m=5, cov_func=pm.gp.cov.Periodic(1, period=1.0, ls=0.5))
    ...     f = gp.prior("f", X=np.linspace(0, 3, 30)[:, None])
    >>> model.free_RVs[0].name, model.free_RVs[0].type.shape
    ('f_hsgp_coeffs_', (9,))
    """

    def __init__(self, m: int, scale: Any = 1.0, *, mean_func: Any = None, cov_func: Periodic) -> None:
        if not isinstance(m, int | np.integer) or m <= 0:
            raise ValueError(
                "`m` must be a positive integer as the `Periodic` kernel approximation is only implemented for "
                "1-dimensional case."
            )
        if not isinstance(cov_func, Periodic):
            raise ValueError(
                "`cov_func` must be an instance of a `Periodic` kernel only. Use the `scale` parameter to control the "
                "variance."
            )
        if cov_func.n_dims > 1:
            raise ValueError("HSGP approximation for `Periodic` kernel only implemented for 1-dimensional case.")
        self._m, self.scale, self._X_center = int(m), scale, None
        super().__init__(mean_func=mean_func, cov_func=cov_func)

    def prior_linearized(self, X: Any) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """The cosines and the sines at the rows of X, a column for each harmonic, and the standard deviations of their
        coefficients: f = phi_cos @ (psd * beta[:m]) + phi_sin[:, 1:] @ (psd[1:] * beta[m:]) with standard normal beta.
        """
        X = table("gp.HSGPPeriodic", X)
        if self._X_center is None:
            self._X_center = center_of(X)
        x, _ = self.cov_func._slice(X - self._X_center)
        deviations = tt.exp(0.5 * self.cov_func._log_variances(self._m))
        return calc_basis_periodic(x, self.cov_func.period, self._m, tl=tt), self.scale * deviations

    def prior(  # type: ignore[override]
        self, name: str, X: Any, dims: Any = None, hsgp_coeffs_dims: Any = None
    ) -> Any:
        """The process at the rows of X: a Deterministic `name` of coefficients `name_hsgp_coeffs_`, cosines first."""
        basis = self.prior_linearized(X)
        self._beta = Normal(f"{name}_hsgp_coeffs_", size=2 * self._m - 1, dims=hsgp_coeffs_dims)
        self.f = Deterministic(name, self.mean_func(X) + self._total_of(basis), dims=dims)
        return self.f

    def _total_of(self, basis: tuple[tuple[Tensor, Tensor], Tensor]) -> Tensor:
        (cosines, sines), psd = basis
        m, beta = self._m, self._beta
        return cosines @ (psd * beta[:m]) + sines[:, 1:] @ (psd[1:] * beta[m:])

    def _build_conditional(self, Xnew: Any) -> Tensor:
        """The process at new points, as an expression."""
        if not hasattr(self, "_beta"):
            raise ValueError("Prior is not set, can't create a conditional.  Call `.prior(name, X)` first.")
        return self.mean_func(Xnew) + self._total_of(self.prior_linearized(Xnew))

    def conditional(self, name: str, Xnew: Any, dims: Any = None) -> Any:  # type: ignore[override]
        """The process at new points, a Deterministic of the coefficients."""
        return Deterministic(name, self._build_conditional(Xnew), dims=dims)
