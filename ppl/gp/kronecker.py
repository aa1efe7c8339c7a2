"""Gaussian processes on grids: covariances that are Kronecker products of those of the axes."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import ppl.tensor as tt
from ppl.distributions import KroneckerNormal, MvNormal, Normal
from ppl.gp.covariances.covariance import Constant
from ppl.gp.covariances.inputs import rows
from ppl.gp.covariances.kron import Kron
from ppl.gp.process import JITTER_DEFAULT, Base, Conditioned, noise_of, point_by_point, stabilize
from ppl.gp.values import replace_with_values
from ppl.model import Deterministic
from ppl.model.names.math import cartesian
from ppl.tensor.tensor import Tensor, as_tensor


class _OnGrid(Base):
    """A process on the grid of several tables of inputs, the first of which changes slowest."""

    def __init__(self, *, mean_func: Any = None, cov_funcs: Any = None) -> None:
        given = Constant(0.0) if cov_funcs is None else cov_funcs
        self.cov_funcs = list(given) if isinstance(given, list | tuple) else [given]
        super().__init__(mean_func=mean_func, cov_func=_product(self.cov_funcs))

    def __add__(self, other: Any) -> Any:
        raise TypeError("Additive, Kronecker-structured processes not implemented")

    def _check_axes(self, Xs: Any) -> None:
        if len(Xs) != len(self.cov_funcs):
            raise ValueError("Must provide a covariance function for each X")

    def _on_axes(self, Xs: Any) -> list[Tensor]:
        """The covariance matrix of each axis."""
        return [as_tensor(cov(X)) for cov, X in zip(self.cov_funcs, Xs, strict=True)]


def _product(cov_funcs: list[Any]) -> Any:
    return Kron(cov_funcs) if all(hasattr(cov, "input_dim") for cov in cov_funcs) else cov_funcs[0]


class LatentKron(_OnGrid):
    r"""A Gaussian process on a grid: :math:`f \sim N(m, K_1 ⊗ K_2 ⊗ \dots)`, with one kernel for each axis.

    >>> import ppl as pm
    >>> x, y = np.linspace(0, 1, 4)[:, None], np.linspace(0, 1, 3)[:, None]
    >>> with pm.Model() as model:
    ...     gp = pm.gp.LatentKron(cov_funcs=[pm.gp.cov.ExpQuad(1, ls=0.3), pm.gp.cov.Matern52(1, ls=0.3)])
    ...     f = gp.prior("f", Xs=[x, y])
    >>> f.type.shape
    (12,)
    """

    Xs, f = Conditioned(), Conditioned()

    def prior(self, name: str, Xs: Any, jitter: float = JITTER_DEFAULT, **kwargs: Any) -> Any:  # type: ignore[override]
        """The process on the grid of the tables `Xs`, a Deterministic of standard normal variables `name_rotated_`."""
        self._check_axes(Xs)
        self.N = prod(rows(X) for X in Xs)
        factors = [tt.cholesky(stabilize(cov, jitter)) for cov in self._on_axes(Xs)]
        v = Normal(f"{name}_rotated_", mu=0.0, sigma=1.0, **{"size": self.N, **kwargs})
        f = self.mean_func(cartesian(*Xs)) + tt.kron_times(v, *factors)
        self.f, self.Xs = Deterministic(name, f, dims=kwargs.get("dims")), Xs
        return self.f

    def conditional(self, name: str, Xnew: Any, jitter: float = JITTER_DEFAULT, **kwargs: Any) -> Any:
        """The process at new points, the rows of a table with the columns of all axes, which need be no grid."""
        mu, cov = self._at(Xnew, jitter)
        return MvNormal(name, mu=mu, chol=tt.cholesky_lifted(cov), **kwargs)

    def _at(self, Xnew: Any, jitter: float) -> tuple[Tensor, Tensor]:
        Xs, X = self.Xs, cartesian(*self.Xs)
        inverses = [_inverse_of_factor(stabilize(cov, jitter)) for cov in self._on_axes(Xs)]
        a = tt.kron_times(self.cov_func(X, Xnew).T, *inverses)
        v = tt.kron_times(self.f - self.mean_func(X), *inverses)
        cov = self.cov_func(Xnew) - tt.matmul(a, a.T)
        return tt.matmul(a, v) + self.mean_func(Xnew), stabilize(cov, jitter)


def _inverse_of_factor(cov: Tensor) -> Tensor:
    return tt.solve_triangular(tt.cholesky(cov), tt.eye(rows(cov)), lower=True)


class MarginalKron(_OnGrid):
    r"""A Gaussian process on a grid under normal noise: :math:`y \sim N(m, K_1 ⊗ K_2 ⊗ \dots + σ^2 I)`.

    >>> import ppl as pm
    >>> x, y = np.linspace(0, 1, 4)[:, None], np.linspace(0, 1, 3)[:, None]
    >>> with pm.Model() as model:
    ...     gp = pm.gp.MarginalKron(cov_funcs=[pm.gp.cov.ExpQuad(1, ls=0.3), pm.gp.cov.Matern52(1, ls=0.3)])
    ...     seen = gp.marginal_likelihood("y", Xs=[x, y], y=np.zeros(12), sigma=0.1)
    >>> gp.predict(np.array([[0.2, 0.4]]), model=model)[0]
    array([0.])
    """

    Xs, y, sigma = Conditioned(), Conditioned(), Conditioned()

    def marginal_likelihood(  # type: ignore[override]
        self, name: str, Xs: Any, y: Any, sigma: Any = None, is_observed: bool = True, **kwargs: Any
    ) -> Any:
        """The data `y`, one for each point of the grid of the tables `Xs`."""
        self.sigma = noise_of(sigma, kwargs)
        self._check_axes(Xs)
        n = prod(rows(X) for X in Xs)
        if n != len(y):
            raise ValueError(f"Length of y ({len(y)}) must match length of cartesian product of Xs ({n})")
        self.X, self.Xs, self.y = cartesian(*Xs), Xs, y
        law = {"mu": self.mean_func(self.X), "covs": self._on_axes(Xs), "sigma": self.sigma}
        if is_observed:
            return point_by_point(KroneckerNormal(name, **law, observed=y, **kwargs))
        warnings.warn(
            "The 'is_observed' argument has been deprecated.  If the GP is unobserved use gp.LatentKron instead.",
            FutureWarning,
            stacklevel=2,
        )
        return KroneckerNormal(name, **law, **kwargs)

    def conditional(self, name: str, Xnew: Any, pred_noise: bool = False, diag: bool = False, **kwargs: Any) -> Any:
        """The process at new points, given the data; with `pred_noise`, new data there."""
        mu, cov = self._predict_at(Xnew, diag, pred_noise)
        if diag:
            return Normal(name, mu=mu, sigma=tt.sqrt(cov), **kwargs)
        return MvNormal(name, mu=mu, chol=tt.cholesky_lifted(cov), **kwargs)

    def predict(
        self, Xnew: Any, point: Any = None, diag: bool = False, pred_noise: bool = False, model: Any = None
    ) -> Any:
        """Mean and covariance at new points (with `diag` its diagonal) as arrays, at the values of `point`."""
        return replace_with_values(self._predict_at(Xnew, diag, pred_noise), point, model)

    def _predict_at(self, Xnew: Any, diag: bool = False, pred_noise: bool = False) -> tuple[Tensor, Tensor]:
        """Mean and covariance at new points, as expressions."""
        Xs, sigma2 = self.Xs, as_tensor(self.sigma) ** 2
        X = cartesian(*Xs)
        pairs = [tt.eigh(cov) for cov in self._on_axes(Xs)]
        eigenvalues, turns = tt.ones((1,)), [vectors.T for _, vectors in pairs]
        for values, _ in pairs:
            eigenvalues = tt.flatten(tt.outer(eigenvalues, values))
        scale = tt.sqrt(eigenvalues + sigma2)
        a = tt.kron_times(self.cov_func(X, Xnew).T, *turns) / scale
        v = tt.kron_times(as_tensor(self.y) - self.mean_func(X), *turns) / scale
        mu = tt.matmul(a, v) + self.mean_func(Xnew)
        noise = sigma2 if pred_noise else 0.0
        if diag:
            return mu, self.cov_func(Xnew, diag=True) - tt.sum(a**2, axis=1) + noise
        return mu, self.cov_func(Xnew) - tt.matmul(a, a.T) + noise * tt.eye(rows(Xnew))
