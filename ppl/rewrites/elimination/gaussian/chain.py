r"""Block tridiagonal positive definite systems: a block Cholesky factor along the chain, and solutions with it.

With the blocks L_t on the diagonal of the factor and C_t below it,

.. math:: x = 𝓛^{-1} h: \; x_t = L_t^{-1} (h_t - C_t x_{t-1}), \qquad
          x = 𝓛'^{-1} h: \; x_t = L_t'^{-1} (h_t - C_{t+1}' x_{t+1})

are recurrences, forwards and backwards in time, with C_t = B_t L'_{t-1}⁻¹. This is the Kalman filter and smoother in
information form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import ppl.tensor as tt
from ppl.rewrites.elimination.gaussian.spd import Column
from ppl.tensor.block_chains import chain_factor, chain_substitution
from ppl.tensor.tensor import Tensor

Block = Sequence[Sequence[Tensor]]


class ChainFactor:
    """M = 𝓛 𝓛' for M with diagonal blocks D_t and blocks B_t between t and t - 1 (rows t, columns t - 1; no B_0)."""

    def __init__(self, diagonal: Block, below: Block) -> None:
        span = range(len(diagonal))
        blocks = _stacked([[diagonal[max(i, j)][min(i, j)] for j in span] for i in span])
        after = _stacked(below)[1:]
        first = tt.zeros((1, *after.type.shape[1:]))
        self.lower, self.links = chain_factor(blocks, tt.concatenate([first, after], axis=0))

    def log_det(self) -> Tensor:
        """log |M|."""
        return 2.0 * tt.sum(tt.log(tt.diagonal(self.lower, axis1=1, axis2=2)))

    def forward(self, h: Column) -> Column:
        """𝓛⁻¹ h."""
        return self._substituted(h, reverse=False)

    def backward(self, h: Column) -> Column:
        """𝓛'⁻¹ h."""
        return self._substituted(h, reverse=True)

    def solve(self, h: Column) -> Column:
        """M⁻¹ h."""
        return self.backward(self.forward(h))

    def _substituted(self, h: Column, reverse: bool) -> Column:
        x = chain_substitution(self.lower, self.links, tt.stack(h, axis=1), reverse=reverse)
        return [x[:, i] for i in range(len(h))]


def _stacked(entries: Iterable[Iterable[Tensor]]) -> Tensor:
    """The blocks (T, k, k) of which these are the entries, row by row."""
    return tt.stack([tt.stack(list(row), axis=-1) for row in entries], axis=-2)
