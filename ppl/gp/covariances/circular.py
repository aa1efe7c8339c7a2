"""A kernel on a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.gp.covariances.inputs import rows
from ppl.tensor.tensor import Tensor, as_tensor


class Circular(Covariance):
    r"""A kernel of the way t along a circle, at most c, half of its period:

    .. math:: k = (1 + τt/c)\,(1 - t/c)_+^τ,\qquad τ ≥ 4

    of Padonou and Roustant, Polar Gaussian processes for predicting on circular domains (2015).
    """

    def __init__(self, input_dim: int, period: Any, tau: Any = 4, active_dims: Sequence[int] | None = None) -> None:
        super().__init__(input_dim, active_dims)
        self.c, self.tau = as_tensor(period) / 2, tau

    def dist(self, X: Any, Xs: Any) -> Tensor:
        """The ways along the circle between the rows of two tables of one column."""
        X = as_tensor(X)
        other = (X if Xs is None else as_tensor(Xs)).T
        return tt.abs((X - other + self.c) % (2 * self.c) - self.c)

    def weinland(self, t: Any) -> Tensor:
        """The kernel at a way."""
        return (1 + self.tau * t / self.c) * tt.clip(1 - t / self.c, 0, float("inf")) ** self.tau

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        return self.weinland(self.dist(X, Xs))

    def diag(self, X: Any) -> Tensor:
        return tt.ones((rows(X),))
