r"""Gaussian processes through few inducing points.

With u the inducing points, :math:`L_uL_u' = K_{uu}`, :math:`A = L_u^{-1}K_{uf}` and :math:`Q = A'A` in place of K, the
data have the covariance Q + Λ. DTC and VFE take Λ = σ²I, FITC also the part of the variances that Q lacks; VFE is a
lower bound of the evidence, by a trace:

.. math:: \log p = -\tfrac n2\log 2π - \tfrac12\textstyle\sum\log Λ - \log\det L_B
          - \tfrac12(r'Λ^{-1}r - c'c) \;\big[- (\operatorname{tr} K - \operatorname{tr} Q)/2σ^2\big],\qquad
          L_BL_B' = I + AΛ^{-1}A',\; c = L_B^{-1}AΛ^{-1}r

Quiñonero-Candela and Rasmussen (2005); Titsias (2009).
"""

from __future__ import annotations

import warnings
from math import inf, log, pi
from typing import Any, NamedTuple

import ppl.tensor as tt
from ppl.gp.covariances.inputs import rows
from ppl.gp.marginal import Marginal
from ppl.gp.process import JITTER_DEFAULT, Conditioned, noise_of, observations, stabilize
from ppl.model import Potential
from ppl.tensor.tensor import Tensor, as_tensor


class _Reduced(NamedTuple):
    """The data as the inducing points see them."""

    root: Tensor  # L_u
    a: Tensor
    lam: Tensor
    root_b: Tensor
    r: Tensor
    c: Tensor


class MarginalApprox(Marginal):
    """A Gaussian process under normal noise, approximated through inducing points Xu: `approx` is VFE, FITC or DTC.

    >>> import ppl as pm
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> with pm.Model() as model:
    ...     gp = pm.gp.MarginalApprox(approx="FITC", cov_func=pm.gp.cov.ExpQuad(1, ls=0.3))
    ...     gp.marginal_likelihood("y", X=X, Xu=X[::6], y=np.sin(X[:, 0]), sigma=0.1)
    >>> [p.name for p in model.potentials]
    ['marginalapprox_loglik_y']
    """

    X, Xu, y, sigma = Conditioned(), Conditioned(), Conditioned(), Conditioned()
    _available_approx = ("FITC", "VFE", "DTC")

    def __init__(self, approx: str = "VFE", *, mean_func: Any = None, cov_func: Any = None) -> None:
        if approx not in self._available_approx:
            raise NotImplementedError(f"{approx!r}: approx is one of {', '.join(self._available_approx)}")
        self.approx = approx
        super().__init__(mean_func=mean_func, cov_func=cov_func)

    def __add__(self, other: Any) -> Any:
        total = super().__add__(other)
        if self.approx != other.approx:
            raise TypeError("Cannot add GPs with different approximations")
        total.approx = self.approx
        return total

    def marginal_likelihood(  # type: ignore[override]  # PyMC's order of arguments
        self, name: str, X: Any, Xu: Any, y: Any, sigma: Any = None, jitter: float = JITTER_DEFAULT, **kwargs: Any
    ) -> None:
        """Enter the log-density of the data `y` at X, through the inducing points Xu, as a Potential."""
        self.sigma = noise_of(sigma, kwargs)
        self.X, self.Xu, self.y = X, Xu, observations(f'gp.{type(self).__name__} "{name}"', y, rows(X))
        Potential(f"marginalapprox_loglik_{name}", self._log_density(jitter), **kwargs)

    def _log_density(self, jitter: float) -> Tensor:
        X, sigma2 = self.X, as_tensor(self.sigma) ** 2
        reduced = self._reduced(self.cov_func, self.mean_func, X, self.Xu, self.y, sigma2, jitter)
        _, a, lam, root_b, r, c = reduced
        volume = 0.5 * tt.sum(tt.log(lam)) + tt.sum(tt.log(tt.diagonal(root_b))) + 0.5 * log(2 * pi) * rows(X)
        squares = 0.5 * (tt.sum(r**2 / lam) - tt.sum(c**2))
        lost = 0.0
        if self.approx == "VFE":
            lost = (tt.sum(self.cov_func(X, diag=True)) - tt.sum(a**2)) / (2 * sigma2)
        return -(volume + squares + lost)

    def _reduced(
        self, cov_func: Any, mean_func: Any, X: Any, Xu: Any, y: Any, sigma2: Tensor, jitter: float
    ) -> _Reduced:
        root = tt.cholesky(stabilize(cov_func(Xu), jitter))
        a = tt.solve_triangular(root, cov_func(Xu, X), lower=True)
        seen = tt.sum(a**2, axis=0)
        lam = tt.ones_like(seen) * sigma2
        if self.approx == "FITC":
            lam = tt.clip(cov_func(X, diag=True) - seen, 0.0, inf) + sigma2
        root_b = tt.cholesky(tt.eye(rows(Xu)) + tt.matmul(a / lam, a.T))
        r = as_tensor(y) - mean_func(X)
        return _Reduced(root, a, lam, root_b, r, tt.solve_lower(root_b, tt.matmul(a, r / lam)))

    def _at(
        self, Xnew: Any, pred_noise: bool, diag: bool, given: dict[str, Any], jitter: float
    ) -> tuple[Tensor, Tensor]:
        cov_total, mean_total = self._total(given)
        X, Xu, y, sigma = self._data(given, "X", "Xu", "y", "sigma")
        sigma2 = as_tensor(sigma) ** 2
        reduced = self._reduced(cov_total, mean_total, X, Xu, y, sigma2, jitter)
        new = tt.solve_triangular(reduced.root, self.cov_func(Xu, Xnew), lower=True)
        back = tt.solve_triangular(reduced.root_b, new, lower=True)
        mu = self.mean_func(Xnew) + tt.matmul(reduced.c, back)
        if diag:
            var = self.cov_func(Xnew, diag=True) - tt.sum(new**2, axis=0) + tt.sum(back**2, axis=0)
            return mu, var + sigma2 if pred_noise else var
        cov = self.cov_func(Xnew) - tt.matmul(new.T, new) + tt.matmul(back.T, back)
        return mu, cov + sigma2 * tt.eye(rows(Xnew)) if pred_noise else stabilize(cov, jitter)


class MarginalSparse(MarginalApprox):
    """The former name of `MarginalApprox`."""

    def __init__(self, approx: str = "VFE", *, mean_func: Any = None, cov_func: Any = None) -> None:
        warnings.warn("gp.MarginalSparse has been renamed to gp.MarginalApprox.", FutureWarning, stacklevel=2)
        super().__init__(approx, mean_func=mean_func, cov_func=cov_func)
