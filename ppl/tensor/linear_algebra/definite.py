r"""The log-determinant of positive definite matrices, and the normal log-density by its covariance, with the derivative
of the function, not of a factorization:

.. math:: d \log\det M = \operatorname{tr}(M^{-1} dM), \qquad
          d\,\big(-\tfrac12 (r'K^{-1}r + \log\det K)\big) =
          \tfrac12 α'dK α - \tfrac12 \operatorname{tr}(K^{-1} dK) - α'dr, \quad α = K^{-1} r

A derivative through a Cholesky factor takes several times as long, and XLA some seconds to compile where the factor is
written out.
"""

from __future__ import annotations

from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp, unify
from ppl.tensor.linear_algebra import unrolled
from ppl.tensor.linear_algebra.decompositions import OfSquare
from ppl.tensor.tensor import Tensor, TensorType, told
from ppl.xla.later import custom_jvp, jnp

HALVED = 256  # rows, up to which a triangle is inverted by the library: beyond, by its halves


@custom_jvp
def _log_det_definite(a: Any) -> Any:
    return _twice_the_logs(unrolled.cholesky(a))


def _twice_the_logs(lower: Any) -> Any:
    diagonal = jnp.sum(jnp.where(jnp.eye(lower.shape[-1], dtype=bool), lower, 0), axis=-1)
    return 2.0 * jnp.sum(jnp.log(diagonal), axis=-1)


@_log_det_definite.defjvp
def _by_inverse(primals: Any, tangents: Any) -> Any:
    (a,), (da,) = primals, tangents
    lower = unrolled.cholesky(a)
    unit = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    half = unrolled.solve_triangular(lower, unit, lower=True, unit_diagonal=False, trans=0, b_ndim=2)
    inverse = unrolled.matmul(jnp.swapaxes(half, -1, -2), half)
    return _twice_the_logs(lower), jnp.sum(inverse * da, axis=(-1, -2))


class _OfDefinite(OfSquare):
    """A number from a square matrix."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        square = super().infer(inputs, attrs)
        return TensorType(square.dtype, square.shape[:-2])


log_det_definite = _OfDefinite("log_det_definite", _log_det_definite, to_float=True)
log_det_definite.__doc__ = "The log-determinants of a stack of positive definite matrices; nan where one is not."


@custom_jvp
def _normal_log_density(residual: Any, cov: Any) -> Any:
    lower = unrolled.cholesky(cov)
    z = unrolled.solve_triangular(lower, residual, lower=True, unit_diagonal=False, trans=0, b_ndim=1)
    return -0.5 * (jnp.sum(z**2, axis=-1) + _twice_the_logs(lower))


@_normal_log_density.defjvp
def _by_inverse_factor(primals: Any, tangents: Any) -> Any:
    (residual, cov), (moved, cov_moved) = primals, tangents
    lower = unrolled.cholesky(cov)
    half = inverse_of_triangle(lower)
    z = residual @ half.T
    alpha, inverse = z @ half, gram_of_triangle(half)
    value = -0.5 * (jnp.sum(z**2, axis=-1) + _twice_the_logs(lower))
    if residual.ndim == 1:
        squares = jnp.sum((alpha[:, None] * alpha - inverse) * cov_moved)
    else:
        squares = jnp.sum((alpha @ cov_moved) * alpha, axis=-1) - jnp.sum(inverse * cov_moved)
    return value, 0.5 * squares - jnp.sum(alpha * moved, axis=-1)


def inverse_of_triangle(lower: Any) -> Any:
    """L⁻¹, by halves of L: what is above the diagonal is never touched, and most is done by products."""
    n = lower.shape[-1]
    if n <= HALVED:
        unit = jnp.eye(n, dtype=lower.dtype)
        return unrolled.solve_triangular(lower, unit, lower=True, unit_diagonal=False, trans=0, b_ndim=2)
    k = n // 2
    first, last = inverse_of_triangle(lower[:k, :k]), inverse_of_triangle(lower[k:, k:])
    below = -(last @ (lower[k:, :k] @ first))
    return jnp.block([[first, jnp.zeros((k, n - k), lower.dtype)], [below, last]])


def gram_of_triangle(lower: Any) -> Any:
    """L'L, by halves."""
    n = lower.shape[-1]
    if n <= HALVED:
        return unrolled.matmul(lower.T, lower)
    k = n // 2
    first, below, last = lower[:k, :k], lower[k:, :k], lower[k:, k:]
    across = last.T @ below
    return jnp.block([[gram_of_triangle(first) + below.T @ below, across.T], [across, gram_of_triangle(last)]])


class _NormalLogDensity(TensorOp):
    """-½ (r'K⁻¹r + log |K|) for r (..., n), one or a stack of vectors, and K (n, n): nan where K is not positive
    definite."""

    def __call__(self, residual: Any, cov: Any, *, name: str | None = None) -> Tensor:
        return self.build(unify((residual, cov), to_float=True), {}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        residual, cov = inputs
        sizes = {d for d in (*residual.type.shape[-1:], *cov.type.shape) if d is not None}
        if cov.type.ndim != 2 or not residual.type.ndim or len(sizes) > 1:
            raise ValueError(
                f"{self.name}: vectors (..., n) go with one covariance (n, n), got {told(residual)} of shape"
                f" {residual.type.shape} and {told(cov)} of shape {cov.type.shape}"
            )
        return TensorType(residual.type.dtype, residual.type.shape[:-1])


normal_log_density = _NormalLogDensity("normal_log_density", _normal_log_density)
