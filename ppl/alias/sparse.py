"""PyTensor's products with sparse matrices that are known: each stored entry is multiplied once."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.application import known_as
from ppl.tensor.tensor import Tensor, as_tensor


class SparseMatrix:
    """A known sparse matrix, by its stored entries."""

    def __init__(self, matrix: Any) -> None:
        entries = matrix.tocoo()
        self.shape, self.dtype = tuple(entries.shape), np.dtype(entries.dtype).name
        self.rows, self.columns, self.data = entries.row, entries.col, entries.data
        self.matrix = matrix

    @property
    def T(self) -> SparseMatrix:
        return SparseMatrix(self.matrix.T)

    def dot(self, y: Any) -> Tensor:
        """The product with a dense vector or matrix."""
        return structured_dot(self, y)

    __matmul__ = dot


class StructuredDot:
    """PyTensor's operation of `structured_dot`; here the product is a sum of stored entries, which is known by it."""


STRUCTURED_DOT = StructuredDot()


def as_sparse_variable(x: Any, name: str | None = None, **options: Any) -> SparseMatrix:
    """A SciPy sparse matrix as one that products take."""
    return x if isinstance(x, SparseMatrix) else SparseMatrix(x)


as_sparse = as_sparse_or_tensor_variable = as_sparse_variable


def structured_dot(x: Any, y: Any) -> Tensor:
    """A known sparse matrix times a dense vector or matrix."""
    x, y = as_sparse_variable(x), as_tensor(y)
    weights = x.data if y.ndim == 1 else x.data[:, None]
    length = x.shape[0]
    start = tt.zeros((length, *(y.shape[axis] for axis in range(1, y.ndim))))
    product = tt.inc_subtensor(start[x.rows], weights * y[x.columns])
    known_as[product] = STRUCTURED_DOT
    return product


dot = basic_dot = structured_dot
SparseTensorType = SparseVariable = SparseMatrix
