r"""Block tridiagonal positive definite systems: a block Cholesky factor along the chain, and solutions with it.

With the blocks L_t on the diagonal of the factor and C_t below it,

.. math:: x = 𝓛^{-1} h: \; x_t = L_t^{-1} (h_t - C_t x_{t-1}), \qquad
          x = 𝓛'^{-1} h: \; x_t = L_t'^{-1} (h_t - C_{t+1}' x_{t+1})

are affine recurrences, forwards and backwards in time. This is the Kalman filter and smoother in information form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import ppl.tensor as tt
from ppl.rewrites.elimination.gaussian.spd import Column, Factor
from ppl.tensor.block_chains import affine_recurrence, chain_factor
from ppl.tensor.tensor import Tensor

Block = Sequence[Sequence[Tensor]]


class ChainFactor:
    """M = 𝓛 𝓛' for M with diagonal blocks D_t and blocks B_t between t and t - 1 (rows t, columns t - 1; no B_0)."""

    def __init__(self, diagonal: Block, below: Block) -> None:
        self.size = len(diagonal)
        span = range(self.size)
        links = _later(_stacked(below)[1:])
        symmetric = [[diagonal[max(i, j)][min(i, j)] for j in span] for i in span]
        lower = chain_factor(_stacked(symmetric), links)
        self.own, before = Factor.of_lower(lower), Factor.of_lower(_later(lower[:-1], start=tt.eye(self.size)))
        self.links = [before.forward([links[:, i, j] for j in span]) for i in span]  # C, row by row

    def log_det(self) -> Tensor:
        """log |M|."""
        return tt.sum(self.own.log_det())

    def forward(self, h: Column) -> Column:
        """𝓛⁻¹ h."""
        span = range(self.size)
        maps = zip(*[self.own.forward([-self.links[i][j] for i in span]) for j in span], strict=True)
        return _columns(affine_recurrence(_stacked(maps), tt.stack(self.own.forward(h), axis=1)))

    def backward(self, h: Column) -> Column:
        """𝓛'⁻¹ h."""
        span = range(self.size)
        after = _sooner(_stacked(self.links)[1:])
        maps = zip(*[self.own.backward([-after[:, j, i] for i in span]) for j in span], strict=True)
        return _columns(affine_recurrence(_stacked(maps), tt.stack(self.own.backward(h), axis=1), reverse=True))

    def solve(self, h: Column) -> Column:
        """M⁻¹ h."""
        return self.backward(self.forward(h))


def _stacked(entries: Iterable[Iterable[Tensor]]) -> Tensor:
    """The blocks (T, k, k) of which these are the entries, row by row."""
    return tt.stack([tt.stack(list(row), axis=-1) for row in entries], axis=-2)


def _columns(x: Tensor) -> Column:
    return [x[:, i] for i in range(int(x.type.shape[1] or 0))]


def _later(blocks: Tensor, start: Tensor | None = None) -> Tensor:
    """One place later, behind a block of zeros or another one."""
    first = tt.zeros(blocks.type.shape[1:]) if start is None else start
    return tt.concatenate([tt.expand_dims(first, 0), blocks], axis=0)


def _sooner(blocks: Tensor) -> Tensor:
    """One place sooner, before a block of zeros."""
    return tt.concatenate([blocks, tt.zeros((1, *blocks.type.shape[1:]))], axis=0)
