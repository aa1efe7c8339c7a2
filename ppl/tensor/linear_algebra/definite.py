r"""The log-determinant of positive definite matrices, with the derivative of the function, not of a factorization:

.. math:: d \log\det M = \operatorname{tr}(M^{-1} dM)

A derivative through a Cholesky factor takes several times as long, and XLA some seconds to compile where the factor is
written out.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ppl.graph import Attrs, Node
from ppl.tensor.linear_algebra import unrolled
from ppl.tensor.linear_algebra.decompositions import OfSquare
from ppl.tensor.tensor import TensorType


@jax.custom_jvp
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
