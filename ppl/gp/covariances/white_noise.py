"""Noise that is independent from point to point."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.covariance import BaseCovariance
from ppl.gp.covariances.inputs import rows
from ppl.tensor.tensor import Tensor, as_tensor


class WhiteNoise(BaseCovariance):
    r"""White noise: :math:`k(x, x') = σ^2` at one point of one table, and zero between two tables."""

    def __init__(self, sigma: Any) -> None:
        self.sigma = sigma

    def diag(self, X: Any) -> Tensor:
        return tt.full((rows(X),), as_tensor(self.sigma) ** 2)

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        if Xs is not None:
            return tt.zeros((rows(X), rows(Xs)))
        sigma = as_tensor(self.sigma)
        return tt.diag(sigma**2) if sigma.ndim == 1 else sigma**2 * tt.eye(rows(X))
