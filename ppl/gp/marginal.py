"""A Gaussian process under normal noise, with its values integrated out."""

from __future__ import annotations

import warnings
from typing import Any

import ppl.tensor as tt
from ppl.distributions import MvNormal
from ppl.gp.covariances.inputs import rows
from ppl.gp.process import (
    JITTER_DEFAULT,
    Base,
    Conditioned,
    as_noise,
    noise_of,
    observations,
    point_by_point,
    stabilize,
)
from ppl.gp.values import replace_with_values
from ppl.tensor.tensor import Tensor, as_tensor


class Marginal(Base):
    r"""A Gaussian process seen with normal noise: :math:`y \sim N(m(X), K(X, X) + K_σ(X))`.

    >>> import ppl as pm
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> with pm.Model() as model:
    ...     gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=0.3))
    ...     y = gp.marginal_likelihood("y", X=X, y=np.sin(X[:, 0]), sigma=0.1)
    >>> mu, var = gp.predict(np.array([[0.5]]), diag=True, model=model)
    >>> bool(abs(mu[0] - np.sin(0.5)) < 0.05)
    True
    """

    X, y, sigma = Conditioned(), Conditioned(), Conditioned()

    def marginal_likelihood(
        self,
        name: str,
        X: Any,
        y: Any,
        sigma: Any = None,
        jitter: float = JITTER_DEFAULT,
        is_observed: bool = True,
        **kwargs: Any,
    ) -> Any:
        """The data `y` at the rows of X. `sigma` is the standard deviation of the noise, a number or one for each
        point, or a covariance function."""
        noise = as_noise(noise_of(sigma, kwargs))
        mu, cov = self.mean_func(X), stabilize(self.cov_func(X) + noise(X), jitter)
        self.X, self.y, self.sigma = X, observations(f'gp.{type(self).__name__} "{name}"', y, rows(X)), noise
        if is_observed:
            return point_by_point(MvNormal(name, mu=mu, cov=cov, observed=y, **kwargs))
        warnings.warn(
            "The 'is_observed' argument has been deprecated.  If the GP is unobserved use gp.Latent instead.",
            FutureWarning,
            stacklevel=2,
        )
        return MvNormal(name, mu=mu, cov=cov, **kwargs)

    def conditional(
        self,
        name: str,
        Xnew: Any,
        pred_noise: bool = False,
        given: dict[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Any:
        r"""The process at new points, given the data; with `pred_noise`, new data there:

        .. math:: f_* \sim N\big(m_* + A'L^{-1}(y - m),\; K_{**} - A'A\big),\qquad LL' = K + K_σ,\; A = L^{-1}K_{x*}

        `given` holds X, y, sigma and `gp`, the sum of processes that y is of, where this one is a summand.
        """
        mu, cov = self._predict_at(Xnew, False, pred_noise, given, jitter)
        return MvNormal(name, mu=mu, chol=tt.cholesky_lifted(cov), **kwargs)

    def predict(
        self,
        Xnew: Any,
        point: dict[str, Any] | None = None,
        diag: bool = False,
        pred_noise: bool = False,
        given: dict[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        model: Any = None,
    ) -> Any:
        """Mean and covariance at new points (with `diag` its diagonal) as arrays, where the model's variables have the
        values of `point`."""
        return replace_with_values(self._predict_at(Xnew, diag, pred_noise, given, jitter), point, model)

    def _predict_at(
        self,
        Xnew: Any,
        diag: bool = False,
        pred_noise: bool = False,
        given: dict[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
    ) -> tuple[Tensor, Tensor]:
        """Mean and covariance at new points, as expressions."""
        return self._at(Xnew, pred_noise, diag, given or {}, jitter)

    def _data(self, given: dict[str, Any], *names: str) -> list[Any]:
        """What the process is conditioned on: of `given` if that has all of it, else what it has met."""
        if "noise" in given:
            given = {**given, "sigma": noise_of(given.get("sigma"), dict(given))}
        return [given[n] for n in names] if set(names) <= given.keys() else [getattr(self, n) for n in names]

    def _at(
        self, Xnew: Any, pred_noise: bool, diag: bool, given: dict[str, Any], jitter: float
    ) -> tuple[Tensor, Tensor]:
        cov_total, mean_total = self._total(given)
        X, y, sigma = self._data(given, "X", "y", "sigma")
        noise = as_noise(sigma)
        chol = tt.cholesky(stabilize(cov_total(X), jitter) + noise(X))
        a = tt.solve_triangular(chol, self.cov_func(X, Xnew), lower=True)
        v = tt.solve_lower(chol, as_tensor(y) - mean_total(X))
        mu = self.mean_func(Xnew) + tt.matmul(v, a)
        if diag:
            var = self.cov_func(Xnew, diag=True) - tt.sum(a**2, axis=0)
            return mu, var + noise(Xnew, diag=True) if pred_noise else var
        cov = self.cov_func(Xnew) - tt.matmul(a.T, a)
        return mu, cov + noise(Xnew) if pred_noise else stabilize(cov, jitter)
