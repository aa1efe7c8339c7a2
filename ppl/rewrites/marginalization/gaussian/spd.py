"""Small positive definite systems: the factor, solutions and log-determinant, for stacks of matrices.

Up to four columns (`LIMITS.unrolled_factor`) the factorization is written out in scalars, which compiles into plain
arithmetic; beyond it the library's Cholesky factorization serves.
"""

from __future__ import annotations

from collections.abc import Sequence

import ppl.tensor as tt
from ppl.rewrites.limits import LIMITS
from ppl.tensor.linear_algebra.definite import log_det_definite
from ppl.tensor.tensor import Tensor

Column = list[Tensor]  # entries of a vector, each of the batch shape


def like(entry: Tensor, h: Tensor) -> Tensor:
    """An entry of a matrix beside an entry of the right-hand side, which may have further axes."""
    return tt.expand_dims(entry, tuple(range(entry.ndim, h.ndim))) if h.ndim > entry.ndim else entry


class Factor:
    """M = L L' for M given by its entries, each a tensor of the batch shape."""

    def __init__(self, entries: Sequence[Sequence[Tensor]]) -> None:
        n = self.size = len(entries)
        self.matrix: Tensor | None = None
        self.lower: list[list[Tensor]] = [[] for _ in range(n)]
        if n <= LIMITS.unrolled_factor:
            for i in range(n):
                for j in range(i + 1):
                    rest = entries[i][j]
                    for k in range(j):
                        rest = rest - self.lower[i][k] * self.lower[j][k]
                    self.lower[i].append(tt.sqrt(rest) if i == j else rest / self.lower[j][j])
            return
        self.matrix = tt.stack(
            [tt.stack([entries[max(i, j)][min(i, j)] for j in range(n)], axis=-1) for i in range(n)], axis=-2
        )
        self.lower = self._entries(tt.cholesky(self.matrix))

    @staticmethod
    def _entries(lower: Tensor) -> list[list[Tensor]]:
        return [[lower[..., i, j] for j in range(i + 1)] for i in range(int(lower.type.shape[-1] or 0))]

    @classmethod
    def of_lower(cls, lower: Tensor) -> Factor:
        """The factor L itself, as a stack of matrices."""
        made = cls.__new__(cls)
        made.matrix = None
        made.lower = cls._entries(lower)
        made.size = len(made.lower)
        return made

    def log_det(self) -> Tensor:
        """log |M|."""
        if self.matrix is not None:
            return log_det_definite(self.matrix)
        total = 2.0 * tt.log(self.lower[0][0])
        for i in range(1, self.size):
            total = total + 2.0 * tt.log(self.lower[i][i])
        return total

    def forward(self, h: Column) -> Column:
        """L⁻¹ h."""
        result: Column = []
        for i in range(self.size):
            rest = h[i]
            for k in range(i):
                rest = rest - like(self.lower[i][k], rest) * result[k]
            result.append(rest / like(self.lower[i][i], rest))
        return result

    def backward(self, h: Column) -> Column:
        """L'⁻¹ h."""
        result: Column = [h[0]] * self.size
        for i in reversed(range(self.size)):
            rest = h[i]
            for k in range(i + 1, self.size):
                rest = rest - like(self.lower[k][i], rest) * result[k]
            result[i] = rest / like(self.lower[i][i], rest)
        return result

    def adjoint(self, h: Column) -> Column:
        """L' h."""
        products = [[like(self.lower[k][i], h[k]) * h[k] for k in range(i, self.size)] for i in range(self.size)]
        return [sum(row[1:], row[0]) for row in products]

    def solve(self, h: Column) -> Column:
        """M⁻¹ h."""
        return self.backward(self.forward(h))


class DenseFactor:
    """The same for one matrix and vectors. One or two numbers are written out, which NumPy does faster for many."""

    def __init__(self, matrix: Tensor) -> None:
        n = int(matrix.type.shape[0] or 0)
        self.size, self.matrix, self.lower = n, matrix, tt.cholesky(matrix)
        self.small = Factor([[matrix[i, j] for j in range(n)] for i in range(n)]) if n <= LIMITS.few_columns else None

    def log_det(self) -> Tensor:
        """log |M|."""
        return log_det_definite(self.matrix) if self.small is None else self.small.log_det()

    def forward(self, h: Tensor) -> Tensor:
        """L⁻¹ h."""
        if self.small is not None:
            return tt.stack(self.small.forward([h[i] for i in range(self.size)]))
        return tt.solve_triangular(self.lower, h, lower=True)

    def backward(self, h: Tensor) -> Tensor:
        """L'⁻¹ h."""
        if self.small is not None:
            return tt.stack(self.small.backward([h[i] for i in range(self.size)]))
        return tt.solve_triangular(self.lower.T, h, lower=False)

    def solve(self, h: Tensor) -> Tensor:
        """M⁻¹ h."""
        return self.backward(self.forward(h))
