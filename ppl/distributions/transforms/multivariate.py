"""Transforms of vectors and matrices, by PyMC's names and formulas, without an index that becomes a scatter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.transforms.transform import Transform
from ppl.tensor.tensor import Tensor, as_tensor


class CholeskyCovPacked(Transform):
    """Packed Cholesky factors by the logarithms of their diagonal entries; the others stay."""

    name = "cholesky-cov-packed"
    ndim_supp = 1

    def __init__(self, n: int) -> None:
        self.n = int(n)
        self.diag_idxs = np.arange(1, self.n + 1).cumsum() - 1
        self._on_diagonal = np.isin(np.arange(self.n * (self.n + 1) // 2), self.diag_idxs)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        value, diagonal = as_tensor(value), self._on_diagonal
        return tt.switch(diagonal, tt.log(tt.switch(diagonal, value, 1.0)), value)

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        value, diagonal = as_tensor(value), self._on_diagonal
        return tt.switch(diagonal, tt.exp(tt.switch(diagonal, value, 0.0)), value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return tt.sum(tt.switch(self._on_diagonal, as_tensor(value), 0.0), axis=-1)


class ZeroSumTransform(Transform):
    """Arrays that sum to zero along some axes, by an orthonormal basis of that plane: one entry less along each axis.

    An axis of n entries x is given by n - 1 entries y. With s = Σ y, u = s / (√n + n) and v = u - s / √n, the entries
    of x are y - u and then v - u. The map is an isometry, so its Jacobian is 1.
    """

    name = "zerosum"

    def __init__(self, zerosum_axes: Iterable[int]) -> None:
        self.zerosum_axes = tuple(int(axis) for axis in zerosum_axes)
        self.ndim_supp = max([-axis for axis in self.zerosum_axes if axis < 0], default=0)

    def forward(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        for axis in self.zerosum_axes:
            where = axis % value.ndim
            n = _float(value.shape[where])
            total = -value[(slice(None),) * where + (slice(-1, None),)] * tt.sqrt(n)
            value = value[(slice(None),) * where + (slice(None, -1),)] + total / (tt.sqrt(n) + n)
        return value

    def backward(self, value: Any, *inputs: Any) -> Tensor:
        value = as_tensor(value)
        for axis in self.zerosum_axes:
            where = axis % value.ndim
            n = _float(value.shape[where] + 1)
            total = tt.sum(value, axis=where, keepdims=True)
            shift = total / (tt.sqrt(n) + n)
            value = tt.concatenate([value, shift - total / tt.sqrt(n)], axis=where) - shift
        return value

    def log_jac_det(self, value: Any, *inputs: Any) -> Tensor:
        return tt.zeros_like(tt.sum(as_tensor(value), axis=self.zerosum_axes))


def _float(n: Any) -> Any:
    return tt.cast(n, "floatX") if isinstance(n, Tensor) else float(n)
