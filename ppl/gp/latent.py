"""A Gaussian process as a variable of the model."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.distributions import MvNormal, Normal
from ppl.gp.covariances.inputs import rows
from ppl.gp.process import JITTER_DEFAULT, Base, Conditioned, stabilize
from ppl.model import Deterministic
from ppl.tensor.tensor import Tensor


class Latent(Base):
    r"""A Gaussian process whose values are unknown: :math:`f(X) \sim N(m(X), K(X, X))`.

    >>> import ppl as pm
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> with pm.Model() as model:
    ...     f = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=0.3)).prior("f", X=X)
    >>> [v.name for v in model.free_RVs]
    ['f_rotated_']
    """

    X, f = Conditioned(), Conditioned()

    def prior(
        self,
        name: str,
        X: Any,
        n_outputs: int = 1,
        reparameterize: bool = True,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Any:
        """The process at the rows of X: of `n_outputs` independent processes, as rows of a matrix.

        By default it is `name`, a Deterministic of standard normal variables `name_rotated_`; otherwise an MvNormal.
        """
        mu, cov = self.mean_func(X), stabilize(self.cov_func(X), jitter)
        if reparameterize:
            n = rows(X)
            size = {} if "dims" in kwargs else {"size": (n_outputs, n) if n_outputs > 1 else n}
            v = Normal(f"{name}_rotated_", mu=0.0, sigma=1.0, **size, **kwargs)
            self.f = Deterministic(name, mu + tt.times_vectors(tt.cholesky(cov), v), dims=kwargs.get("dims"))
        else:
            if n_outputs > 1:
                mu = tt.stack([mu] * n_outputs, axis=0)
            self.f = MvNormal(name, mu=mu, cov=cov, **kwargs)
        self.X, self.n_outputs = X, n_outputs
        return self.f

    def conditional(
        self,
        name: str,
        Xnew: Any,
        given: dict[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Any:
        r"""The process at new points, given its values f at X:

        .. math:: f_* \sim N\big(m_* + A'L^{-1}(f - m),\; K_{**} - A'A\big),\qquad LL' = K,\; A = L^{-1}K_{x*}

        `given` holds X, f and `gp`, the sum of processes that f is of, where this one is a summand.
        """
        mu, cov = self._at(Xnew, given or {}, jitter)
        return MvNormal(name, mu=mu, chol=tt.cholesky_lifted(cov), **kwargs)

    def _at(self, Xnew: Any, given: dict[str, Any], jitter: float) -> tuple[Tensor, Tensor]:
        """Mean and covariance at new points."""
        cov_total, mean_total = self._total(given)
        X, f = (given["X"], given["f"]) if {"X", "f"} <= given.keys() else (self.X, self.f)
        chol = tt.cholesky(stabilize(cov_total(X), jitter))
        a = tt.solve_triangular(chol, self.cov_func(X, Xnew), lower=True)
        v = tt.solve_lower(chol, f - mean_total(X))
        return self.mean_func(Xnew) + tt.matmul(v, a), self.cov_func(Xnew) - tt.matmul(a.T, a)
