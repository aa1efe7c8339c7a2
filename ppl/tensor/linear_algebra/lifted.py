r"""The Cholesky factor of a covariance that rounding may have left a little below positive definite.

Where there is no factor, a multiple of the identity is added that grows tenfold: 1e-10, 1e-9, ... of the mean of the
diagonal, up to `MOST`. A matrix that has none then is no covariance, and its factor is nan; that of zeros is next to
zero. With LL' = A + jI,

.. math:: dL = L\,Φ(L^{-1}\,dA\,L'^{-1}),\qquad Φ: \text{the lower triangle, half of its diagonal}
"""

from __future__ import annotations

from typing import Any

from ppl.tensor.core.later import jsl
from ppl.tensor.linear_algebra.decompositions import OfSquare
from ppl.xla.later import custom_jvp, jnp, lax

LEAST, MOST = 1e-10, 1e-4  # of the mean of the diagonal


def _plain(a: Any) -> Any:
    """The factor of the matrix whose lower triangle is given."""
    return lax.linalg.cholesky(a, symmetrize_input=False)


def _factor(a: Any) -> Any:
    eye = jnp.eye(a.shape[-1], dtype=a.dtype)
    scale = jnp.maximum(jnp.mean(jnp.diagonal(a)), 100 * jnp.finfo(a.dtype).tiny / LEAST)  # of zeros too

    def failed(state: Any) -> Any:
        lower, share = state
        return jnp.isnan(lower).any() & (share < 0.5 * MOST)

    def raised(state: Any) -> Any:
        share = jnp.maximum(10 * state[1], LEAST)
        return _plain(a + share * scale * eye), share

    lower, _ = lax.while_loop(failed, raised, (_plain(a), jnp.zeros((), a.dtype)))
    return lower


@custom_jvp
def _lifted(a: Any) -> Any:
    return _factor(a)


@_lifted.defjvp
def _slope(primals: Any, tangents: Any) -> Any:
    (a,), (da,) = primals, tangents
    lower = _lifted(a)
    half = jsl.solve_triangular(lower, (da + da.T) / 2, lower=True)
    inner = jsl.solve_triangular(lower, half.T, lower=True)
    triangle = jnp.tril(inner) - 0.5 * jnp.diag(jnp.diagonal(inner))
    return lower, lower @ triangle


def _of_stacks(a: Any) -> Any:
    return jnp.vectorize(_lifted, signature="(n,n)->(n,n)")(a)


cholesky_lifted = OfSquare("cholesky_lifted", _of_stacks, to_float=True)
cholesky_lifted.__doc__ = "The lower Cholesky factor; of the matrix with a small multiple of 1 added where it has none."
