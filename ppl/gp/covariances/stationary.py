"""Stationary kernels: correlations of the distance between two points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.gp.covariances.covariance import Covariance
from ppl.gp.covariances.inputs import positive_numbers, rows
from ppl.tensor.tensor import Tensor, as_tensor


class Stationary(Covariance):
    """A kernel that is a function of :math:`r^2 = \\sum_k ((x_k - x'_k)/ℓ_k)^2`, and one at distance zero.

    The length scale is given as `ls`, a number or one for each coordinate, or by `ls_inv`, its inverse.
    """

    def __init__(
        self, input_dim: int, ls: Any = None, ls_inv: Any = None, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, active_dims)
        if (ls is None) == (ls_inv is None):
            raise ValueError("Only one of 'ls' or 'ls_inv' must be provided")
        if ls is None:
            ls = 1.0 / (np.asarray(ls_inv) if isinstance(ls_inv, list | tuple) else ls_inv)
        self.ls = positive_numbers(f"gp.cov.{type(self).__name__}", "ls", ls)

    def square_dist(self, X: Any, Xs: Any) -> Tensor:
        """r² between the rows of two tables; of one with itself, where Xs is None."""
        X = as_tensor(X)
        return tt.squared_distance(X, X if Xs is None else Xs, self.ls)

    def euclidean_dist(self, X: Any, Xs: Any) -> Tensor:
        """r between the rows of two tables."""
        return self._sqrt(self.square_dist(X, Xs))

    def _sqrt(self, r2: Any) -> Tensor:
        return tt.sqrt(r2 + 1e-12)

    def diag(self, X: Any) -> Tensor:
        return tt.ones((rows(X),))

    def full(self, X: Any, Xs: Any = None) -> Tensor:
        X, Xs = self._slice(X, Xs)
        return self.full_from_distance(self.square_dist(X, Xs), squared=True)

    def full_from_distance(self, dist: Any, squared: bool = False) -> Tensor:
        """The kernel at distances, given as they are or squared."""
        raise NotImplementedError(f"{type(self).__name__} is no function of distances: define full_from_distance")

    def power_spectral_density(self, omega: Any) -> Tensor:
        """The spectral density at the rows of `omega`, a table of frequencies."""
        raise NotImplementedError(
            f"{type(self).__name__} has no spectral density, which HSGP needs: define power_spectral_density, or take "
            "gp.Latent or gp.Marginal, which do without"
        )

    def _lengths(self) -> Tensor:
        """A length scale for each coordinate."""
        return tt.ones((self.n_dims,)) * self.ls


class CorrelationOfDistance(Stationary):
    """A stationary kernel that is one of the operations of `ppl.tensor.kernels.correlations`."""

    def _correlation(self, squares: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say which operation it is: define _correlation")

    def full_from_distance(self, dist: Any, squared: bool = False) -> Tensor:
        return self._correlation(dist if squared else as_tensor(dist) ** 2)
