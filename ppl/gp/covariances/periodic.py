r"""Periodic kernels: a stationary kernel of the chord, :math:`r^2 = \sum_k \sin^2(π(x_k - x'_k)/T)/ℓ_k^2`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.gp.covariances.inputs import positive_numbers, rows
from ppl.gp.covariances.stationary import CorrelationOfDistance, Stationary
from ppl.tensor.tensor import Tensor, as_tensor


class Periodic(CorrelationOfDistance):
    r"""The periodic kernel: :math:`k = e^{-\frac12 \sin^2(π(x - x')/T)/ℓ^2}`.

    The usual definition has 2 in place of ½: it is this one at half the length scale.
    """

    def __init__(
        self, input_dim: int, period: Any, ls: Any = None, ls_inv: Any = None, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, ls, ls_inv, active_dims)
        self.period = positive_numbers("gp.cov.Periodic", "period", period)

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        return tt.exp_quad(tt.periodic_distance(X, X if Xs is None else Xs, self.ls, self.period))

    def _correlation(self, squares: Any) -> Tensor:
        return tt.exp_quad(squares)

    def power_spectral_density_approx(self, J: Any) -> Tensor:
        r"""The variances of the harmonics J = 0, 1, ...: :math:`k = \sum_j q_j^2 \cos 2πj(x - x')/T` with

        .. math:: q_0^2 = e^{-a} I_0(a),\quad q_j^2 = 2 e^{-a} I_j(a),\qquad a = 1/(4ℓ^2)
        """
        orders = np.asarray(as_tensor(J).eval()).astype(int)
        return tt.exp(self._log_variances(int(orders.max()) + 1))[orders]

    def _log_variances(self, count: int) -> Tensor:
        """The logarithms of the variances of the first harmonics."""
        a = tt.reshape(1 / (4 * self.ls**2), ())
        return tt.log_harmonics(a, count=count) + np.where(np.arange(count) > 0, np.log(2.0), 0.0)


class WrappedPeriodic(Covariance):
    """A stationary kernel of the chord: a periodic kernel made of any other."""

    def __init__(self, cov_func: Stationary, period: Any) -> None:
        if not isinstance(cov_func, Stationary):
            raise TypeError("Must inherit from the Stationary class")
        super().__init__(cov_func.input_dim, cov_func.active_dims)
        self.cov_func = cov_func
        self.period = positive_numbers("gp.cov.WrappedPeriodic", "period", period)

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        distance = tt.periodic_distance(X, X if Xs is None else Xs, self.cov_func.ls, self.period)
        return self.cov_func.full_from_distance(distance, squared=True)

    def diag(self, X: Any) -> Tensor:
        return tt.ones((rows(X),))
