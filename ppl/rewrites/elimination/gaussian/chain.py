r"""Block tridiagonal positive definite systems by cyclic reduction.

Blocks at odd places are independent given those at even places; eliminating them leaves a chain of half the length. So
n blocks take log₂ n steps of vector arithmetic in the place of a loop over n, on any device (Heller 1976).
"""

from __future__ import annotations

from collections.abc import Sequence

import ppl.tensor as tt
from ppl.rewrites.elimination.gaussian.spd import Column, Factor, like
from ppl.tensor.tensor import Tensor

Block = Sequence[Sequence[Tensor]]


class ChainFactor:
    """M = L L' for M with diagonal blocks D_t and blocks B_t between t and t - 1 (rows t, columns t - 1; no B_0)."""

    def __init__(self, diagonal: Block, below: Block, count: int) -> None:
        k = self.size = len(diagonal)
        self.count = count
        self.rest: ChainFactor | None = None
        if count == 1:
            self.odd = Factor(diagonal)
            return
        span = range(k)
        self.odd = Factor([[diagonal[i][j][1::2] if j <= i else diagonal[j][i][1::2] for j in span] for i in span])
        odds, evens = count // 2, (count + 1) // 2
        left = [[below[i][j][1::2] for j in span] for i in span]  # odd block, and the even one before it
        right = [[_padded(below[j][i][2::2], odds) for j in span] for i in span]  # and the even one after it
        self.left = [self.odd.forward([left[i][j] for i in span]) for j in span]  # by column
        self.right = [self.odd.forward([right[i][j] for i in span]) for j in span]
        even = [
            [
                diagonal[max(i, j)][min(i, j)][0::2]
                - _padded(_dot(self.left[i], self.left[j]), evens)
                - _shifted(_dot(self.right[i], self.right[j]), evens)
                for j in span
            ]
            for i in span
        ]
        between = [[-_shifted(_dot(self.right[i], self.left[j]), evens) for j in span] for i in span]
        self.rest = ChainFactor(even, between, evens)

    def log_det(self) -> Tensor:
        """log |M|."""
        own = tt.sum(self.odd.log_det())
        return own if self.rest is None else own + self.rest.log_det()

    def solve(self, h: Column) -> Column:
        """M⁻¹ h."""
        if self.rest is None:
            return self.odd.solve(h)
        evens = (self.count + 1) // 2
        first = self.odd.forward([x[1::2] for x in h])
        ahead = [
            x[0::2] - _padded(_dot(self.left[i], first), evens) - _shifted(_dot(self.right[i], first), evens)
            for i, x in enumerate(h)
        ]
        return self._joined(self.rest.solve(ahead), first)

    def backward(self, h: Column) -> Column:
        """L'⁻¹ h."""
        if self.rest is None:
            return self.odd.backward(h)
        return self._joined(self.rest.backward([x[0::2] for x in h]), [x[1::2] for x in h])

    def _joined(self, even: Column, first: Column) -> Column:
        """All blocks, from those at even places and what stands on the right for the odd ones."""
        odds, evens = self.count // 2, (self.count + 1) // 2
        rest = []
        for i, x in enumerate(first):
            for j, y in enumerate(even):
                before, after = y[:odds], _padded(y[1:], odds)
                x = x - like(self.left[j][i], before) * before - like(self.right[j][i], after) * after
            rest.append(x)
        odd = [_padded(x, evens) for x in self.odd.backward(rest)]
        return [
            tt.stack([a, b], axis=1).reshape((2 * evens, *a.type.shape[1:]))[: self.count]
            for a, b in zip(even, odd, strict=True)
        ]


def _dot(a: Column, b: Column) -> Tensor:
    total = like(a[0], b[0]) * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + like(x, y) * y
    return total


def _padded(x: Tensor, count: int) -> Tensor:
    """Zeros at the end."""
    have = int(x.type.shape[0] or 0)
    return x if have == count else tt.concatenate([x, tt.zeros((count - have, *x.type.shape[1:]))], axis=0)


def _shifted(x: Tensor, count: int) -> Tensor:
    """One place later, zero in front, cut off at `count`."""
    return _padded(tt.concatenate([tt.zeros((1, *x.type.shape[1:])), x], axis=0)[:count], count)
