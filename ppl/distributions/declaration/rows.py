"""Observed rows, as a family that has sums for them sees them: rows of a cell share all parameters of their law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.tensor import Tensor, as_tensor


class Rows:
    """The values of rows, and which cell each belongs to; `first` is one row of each cell.

    The parameters that a family is asked with are those of the cells. `numbers(x)` are the present numbers of an
    expression of the values.
    """

    def __init__(self, values: Any, cell: np.ndarray, first: np.ndarray, numbers: Callable[[Any], np.ndarray]) -> None:
        self.values, self.cell, self.first, self.numbers = values, cell, first, numbers
        self.cells, self.count = len(first), len(cell)
        self.counts = as_tensor(np.bincount(cell, minlength=self.cells).astype(float))

    def sums(self, x: Any) -> Tensor:
        """Sums of numbers of rows over their cells."""
        x = tt.cast(as_tensor(x), "floatX")
        if x.ndim == 0:
            return self.counts * x
        return tt.sum(x, axis=0, keepdims=True) if self.cells == 1 else segment_sum(x, self.cell, self.cells)

    def each(self, of_cells: Any) -> Tensor:
        """What rows have of their cells."""
        return tt.broadcast_to(as_tensor(of_cells), (self.cells,))[self.cell]


class NotSummed(Exception):  # noqa: N818  an answer, not an error
    """Sums do not serve these rows; the message says why."""
