"""Kernels of Stein's operator: functions from points (n, d) to k(x_i, x_j) and the sums of its derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt

__all__ = ["rbf"]


class Kernel:
    """`kernel(X)` is a pair: the matrix k(x_i, x_j), and for each i the sum over j of ∇_{x_j} k(x_j, x_i)."""

    def __call__(self, X: Any) -> tuple[Any, Any]:
        raise NotImplementedError


class RBF(Kernel):
    """k(x, y) = exp(-|x - y|²/(2h)), with h the median of all squared distances by 2 log(n + 1)."""

    def __call__(self, X: Any) -> tuple[Any, Any]:
        away = X[:, None, :] - X[None, :, :]
        squares = tt.sum(away**2, axis=-1)
        h = 0.5 * _median(squares) / tt.log(X.shape[0] + 1.0)
        k = tt.exp(-0.5 * squares / h)
        return k, (X * tt.sum(k, axis=1)[:, None] - tt.dot(k, X)) / h


def _median(squares: Any) -> Any:
    """The median of all entries of a symmetric matrix with zeros on its diagonal, by sorting one half of it."""
    n = squares.type.shape[0]
    if n is None:
        return tt.median(squares)
    if n < 2:
        return tt.as_tensor(1.0)
    rows, columns = np.triu_indices(n, 1)
    half = tt.sort(squares[rows, columns])
    at = [max(0, (i - n) // 2) for i in ((n * n - 1) // 2, n * n // 2)]
    return 0.5 * (half[at[0]] + half[at[1]])


class Scaled(Kernel):
    """The same of coordinates in units of their standard deviations, which may differ in size."""

    def __call__(self, X: Any) -> tuple[Any, Any]:
        sd = tt.std(X, axis=0) + np.finfo(float).tiny
        k, slopes = rbf(X / sd)
        return k, slopes / sd


rbf, scaled = RBF(), Scaled()
KERNELS = {"rbf": rbf, "scaled": scaled}
