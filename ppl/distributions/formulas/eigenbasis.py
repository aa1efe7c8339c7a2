r"""Covariances K₁ ⊗ K₂ ⊗ ... + σ²I by the eigenvectors of their factors.

With K_i = Q_i diag(λ_i) Q_iᵀ the covariance is diagonal in the basis Q = Q₁ ⊗ Q₂ ⊗ ..., with the variances v = λ + σ²,
λ = λ₁ ⊗ λ₂ ⊗ ...: n numbers cost n Σ mᵢ operations, and Σ mᵢ³ for the factors.

The derivative of an eigenvector divides by differences of eigenvalues, which may meet (a unit matrix), or differ by
rounding alone (a smooth kernel). A density has no such fault. So the vectors are held still here: in their basis
C = D + E, where E is zero now but moves with the factors, and

.. math:: \log\det C = \sum \log v - \tfrac12 \operatorname{tr}(D^{-1}E)^2 + O(E^3), \qquad
          C^{-1} = D^{-1} - D^{-1}ED^{-1} + D^{-1}ED^{-1}ED^{-1} + O(E^3)

have the first and second derivatives of the density, without a difference in a denominator. Third ones are refused.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.tensor.core.derivatives import twice
from ppl.tensor.tensor import Tensor, as_tensor, constant, is_constant, value_of

SQUARED_DISTANCE = 1e-12  # what is often added under the root of a distance: a kernel of few waves is indefinite by it
ROUNDING = 1000.0  # units of m (ε + SQUARED_DISTANCE) by which eigenvalues of a smooth kernel may be below zero


class Axes(NamedTuple):
    """A factor K = Q B Qᵀ: its eigenvalues, its eigenvectors, and what B has off its diagonal, which is zero but moves
    with K; None where K is a number times a constant."""

    values: Tensor
    vectors: Tensor
    rest: Tensor | None

    def definite(self) -> Tensor:
        """Whether no eigenvalue is below zero by more than rounding."""
        unit = np.finfo(self.values.dtype).eps + SQUARED_DISTANCE
        least = ROUNDING * unit * self.vectors.shape[-1]
        return tt.all(self.values >= -least * tt.max(abs(self.values)))

    def turned(self) -> Tensor:
        """B."""
        diagonal = tt.expand_dims(self.values, -1) * tt.eye(self.vectors.shape[-1], dtype=self.values.dtype)
        return diagonal if self.rest is None else diagonal + self.rest


def axes_of(matrix: Any) -> Axes:
    """The eigenvalues and eigenvectors of a symmetric matrix; those of a constant are computed now."""
    number, matrix = _multiple(matrix)
    if is_constant(matrix):
        values, vectors = np.linalg.eigh(value_of(matrix))
        return Axes(number * constant(values), constant(vectors), None)
    _, q = tt.eigh(tt.stop_gradient(matrix))
    turned = tt.matmul(tt.matmul(q.mT, twice(matrix)), q)
    values = tt.diagonal_of(turned)
    off = turned - tt.expand_dims(values, -1) * tt.eye(q.shape[-1], dtype=values.dtype)
    return Axes(number * values, q, number * (off - tt.stop_gradient(off)))


def _multiple(matrix: Any) -> tuple[Tensor, Tensor]:
    """A matrix as a number times another."""
    if matrix.op.name in ("multiply", "true_divide"):
        a, b = matrix.inputs
        if b.ndim == 0:
            number, rest = _multiple(a)
            return (number * b if matrix.op.name == "multiply" else number / b), rest
        if a.ndim == 0 and matrix.op.name == "multiply":
            number, rest = _multiple(b)
            return a * number, rest
    return as_tensor(1.0), matrix


@record
class Eigenbasis:
    """K₁ ⊗ K₂ ⊗ ... + σ²I in the basis where it is diagonal."""

    axes: tuple[Axes, ...]
    variances: Tensor  # v, a stack of vectors as σ is a stack of numbers; nan where σ or a factor has no law

    @classmethod
    def of(cls, covs: Sequence[Any], sigma: Any) -> Eigenbasis:
        """The basis of the factors of a covariance."""
        axes = tuple([axes_of(cov) for cov in covs])
        noise = tt.expand_dims(sigma, -1)
        valid = functools.reduce(tt.logical_and, [noise >= 0, *[a.definite() for a in axes]])
        return cls(axes, tt.switch(valid, spectrum(axes) + noise**2, np.nan))

    def turn(self, x: Any) -> Tensor:
        """Qᵀx."""
        return tt.kron_times(x, *[a.vectors.mT for a in self.axes])

    def back(self, u: Any) -> Tensor:
        """Qu."""
        return tt.kron_times(u, *[a.vectors for a in self.axes])

    def _moves(self) -> bool:
        return any(a.rest is not None for a in self.axes)

    def _off(self, w: Tensor) -> Tensor:
        """Ew."""
        return tt.kron_times(w, *[a.turned() for a in self.axes]) - spectrum(self.axes) * w

    def residual(self, d: Any) -> Tensor:
        """r with r'D⁻¹r = d'C⁻¹d: linear in d, right with its first derivatives."""
        u = self.turn(d)
        return u - 0.5 * self._off(u / self.variances) if self._moves() else u

    def square(self, d: Any) -> Tensor:
        """d'C⁻¹d."""
        u = self.turn(d)
        w = u / self.variances
        if not self._moves():
            return tt.sum(u * w, axis=-1)
        e = self._off(w)
        return tt.sum(u * w - w * e + e**2 / self.variances, axis=-1)

    def log_det(self) -> Tensor:
        """log |C|."""
        total = tt.sum(tt.log(self.variances), axis=-1)
        for i, a in enumerate(self.axes):
            if a.rest is not None:
                shares = self._shares(i)
                pairs = tt.matmul(shares, shares.mT)  # Σ over the other axes, for two entries along this one
                total = total - 0.5 * tt.sum(a.rest * a.rest.mT * pairs, axis=(-1, -2))
        return total

    def _shares(self, i: int) -> Tensor:
        """What v has of the other factors, over v: the entries along axis i, then all others."""
        count = len(self.axes)
        others = [a._replace(values=tt.ones_like(a.values)) if j == i else a for j, a in enumerate(self.axes)]
        sizes = [a.vectors.shape[-1] for a in self.axes]
        table = tt.reshape(spectrum(others) / self.variances, (*self.variances.shape[:-1], *sizes))
        front = tt.moveaxis(table, i - count, -count)
        return tt.reshape(front, (*self.variances.shape[:-1], sizes[i], -1))


def spectrum(axes: Sequence[Axes]) -> Tensor:
    """λ = λ₁ ⊗ λ₂ ⊗ ..."""
    outer = lambda a, b: tt.reshape(tt.expand_dims(a, -1) * b, (-1,))
    return functools.reduce(outer, [a.values for a in axes])
