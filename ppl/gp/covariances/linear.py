"""Kernels of linear and polynomial functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.tensor.tensor import Tensor


class Linear(Covariance):
    r"""The kernel of linear functions that are zero at c: :math:`k = (x - c)·(x' - c)`."""

    def __init__(self, input_dim: int, c: Any, active_dims: Sequence[int] | None = None) -> None:
        super().__init__(input_dim, active_dims)
        self.c = c

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        left = X - self.c
        return tt.dot(left, (left if Xs is None else Xs - self.c).T)

    def diag(self, X: Any) -> Tensor:
        X, _ = self._slice(X)
        return tt.sum((X - self.c) ** 2, axis=1)


class Polynomial(Linear):
    r"""The kernel of polynomials of degree d: :math:`k = ((x - c)·(x' - c) + b)^d`."""

    def __init__(self, input_dim: int, c: Any, d: Any, offset: Any, active_dims: Sequence[int] | None = None) -> None:
        super().__init__(input_dim, c, active_dims)
        self.d, self.offset = d, offset

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        return (super().full(X, Xs) + self.offset) ** self.d

    def diag(self, X: Any) -> Tensor:
        return (super().diag(X) + self.offset) ** self.d
