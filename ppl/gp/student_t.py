"""Student's t processes."""

from __future__ import annotations

import warnings
from typing import Any

import ppl.tensor as tt
from ppl.distributions import MvStudentT
from ppl.gp.covariances.inputs import rows
from ppl.gp.latent import Latent
from ppl.gp.process import JITTER_DEFAULT, Conditioned, stabilize
from ppl.model import Deterministic


class TP(Latent):
    r"""A Student's t process: :math:`f(X) \sim t_ν(m(X), K(X, X))`, jointly, with a scale matrix K.

    Its values are heavier in their tails than those of a Gaussian process, all together: one extreme scale makes all of
    them large. Shah, Wilson and Ghahramani (2014).

    >>> import ppl as pm
    >>> with pm.Model() as model:
    ...     tp = pm.gp.TP(scale_func=pm.gp.cov.ExpQuad(1, ls=0.3), nu=5)
    ...     f = tp.prior("f", X=np.linspace(0, 1, 4)[:, None])
    >>> [v.name for v in model.free_RVs]
    ['f_rotated_']
    """

    X, f, nu = Conditioned(), Conditioned(), Conditioned()

    def __init__(self, *, mean_func: Any = None, scale_func: Any = None, cov_func: Any = None, nu: Any = None) -> None:
        if nu is None:
            raise ValueError("Student's T process requires a degrees of freedom parameter, 'nu'")
        if cov_func is not None:
            warnings.warn(
                "Use the scale_func argument to specify the scale function."
                "cov_func will be removed in future versions.",
                FutureWarning,
                stacklevel=2,
            )
        self.nu = nu
        super().__init__(mean_func=mean_func, cov_func=scale_func if cov_func is None else cov_func)

    def __add__(self, other: Any) -> Any:
        raise TypeError("Student's T processes aren't additive")

    def prior(  # type: ignore[override]
        self, name: str, X: Any, reparameterize: bool = True, jitter: float = JITTER_DEFAULT, **kwargs: Any
    ) -> Any:
        """The process at the rows of X. By default it is `name`, a Deterministic of `name_rotated_`, a t vector whose
        scale matrix is the identity; otherwise an MvStudentT."""
        mu, scale = self.mean_func(X), stabilize(self.cov_func(X), jitter)
        if reparameterize:
            n = rows(X)
            v = MvStudentT(f"{name}_rotated_", nu=self.nu, mu=tt.zeros((n,)), chol=tt.eye(n), **kwargs)
            self.f = Deterministic(name, mu + tt.times_vectors(tt.cholesky(scale), v), dims=kwargs.get("dims"))
        else:
            self.f = MvStudentT(name, nu=self.nu, mu=mu, scale=scale, **kwargs)
        self.X = X
        return self.f

    def conditional(  # type: ignore[override]
        self, name: str, Xnew: Any, jitter: float = JITTER_DEFAULT, **kwargs: Any
    ) -> Any:
        r"""The process at new points, given its values at X: with n points and :math:`β = |L^{-1}(f - m)|^2`

        .. math:: f_* \sim t_{ν + n}\Big(m_* + A'L^{-1}(f - m),\; \frac{ν + β}{ν + n}\,(K_{**} - A'A)\Big)
        """
        X, f = self.X, self.f
        mu, scale = self._at(Xnew, {}, jitter)
        v = tt.solve_lower(tt.cholesky(stabilize(self.cov_func(X), jitter)), f - self.mean_func(X))
        nu = self.nu + rows(X)
        root = tt.sqrt((self.nu + tt.sum(v**2)) / nu) * tt.cholesky_lifted(scale)
        return MvStudentT(name, nu=nu, mu=mu, chol=root, **kwargs)
