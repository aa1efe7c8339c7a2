"""Cholesky factors and triangular solves of small matrices, written out entry by entry, and small products.

XLA's CPU backend folds a loop into one kernel only where it holds no custom call, and LAPACK is one. Written out, a
stack of many small matrices is also one vectorized program. Larger matrices go to LAPACK. Nothing here is a scatter,
backwards neither.
"""

from __future__ import annotations

from typing import Any

from ppl.xla.later import jax, jnp

UNROLLED = 8  # rows; beyond, to compile takes longer than a run gains (benchmarks/lowering.py)
COLUMNS, MULTIPLICATIONS = 8, 10_000  # of a product that is taken column by column


def entries(matrix: Any) -> list[list[Any]]:
    """The entries of a stack of matrices, row by row; `split`, because its derivative is a concatenation."""
    rows, columns = matrix.shape[-2:]
    flat = matrix.reshape((*matrix.shape[:-2], rows * columns))
    parts = jax.lax.split(flat, [1] * (rows * columns), axis=flat.ndim - 1) if rows * columns else []
    return [[parts[i * columns + j][..., 0] for j in range(columns)] for i in range(rows)]


def from_entries(rows: list[list[Any]]) -> Any:
    """A stack of matrices from its entries."""
    shape = (*rows[0][0].shape, len(rows), len(rows[0]))
    return jnp.stack([x for row in rows for x in row], axis=-1).reshape(shape)


def is_small(matrix: Any) -> bool:
    return 0 < matrix.shape[-1] <= UNROLLED and not jnp.iscomplexobj(matrix)


def cholesky(a: Any) -> Any:
    """The lower factor of the matrix whose lower triangle is given; nan where it is not positive definite."""
    if not is_small(a):
        return jax.lax.linalg.cholesky(a, symmetrize_input=False)
    n, a = a.shape[-1], entries(a)
    factor = [[jnp.zeros_like(a[0][0])] * n for _ in range(n)]
    for j in range(n):
        pivot = a[j][j]
        for k in range(j):
            pivot = pivot - factor[j][k] ** 2
        factor[j][j] = jnp.sqrt(jnp.where(pivot > 0, pivot, jnp.nan))
        for i in range(j + 1, n):
            rest = a[i][j]
            for k in range(j):
                rest = rest - factor[i][k] * factor[j][k]
            factor[i][j] = rest / factor[j][j]
    return from_entries(factor)


def solve_triangular(a: Any, b: Any, *, lower: bool, unit_diagonal: bool, trans: int, b_ndim: int) -> Any:
    """x with a x = b (aᵀ, aᴴ for `trans` 1, 2); `b` is a stack of vectors (`b_ndim` 1) or of matrices (2)."""
    n = a.shape[-1]
    if n == 0:
        return jnp.zeros(
            (*jnp.broadcast_shapes(a.shape[:-2], b.shape[: b.ndim - b_ndim]), *b.shape[b.ndim - b_ndim :]), b.dtype
        )
    if is_small(a) and not jnp.iscomplexobj(b):
        rows = entries(jnp.swapaxes(a, -1, -2) if trans else a)
        return _substitution(rows, b, lower != (trans > 0), unit_diagonal, b_ndim)
    how = {"lower": lower, "unit_diagonal": unit_diagonal, "transpose_a": trans > 0, "conjugate_a": trans == 2}
    stack = jnp.broadcast_shapes(a.shape[:-2], b.shape[: b.ndim - b_ndim])
    if a.ndim == 2 and b_ndim == 1:  # one matrix for all vectors: they are its right sides
        return jax.lax.linalg.triangular_solve(a, b.reshape((-1, n)).T, left_side=True, **how).T.reshape((*stack, n))
    columns = b[..., None] if b_ndim == 1 else b
    columns = jnp.broadcast_to(columns, (*stack, *columns.shape[-2:]))
    x = jax.lax.linalg.triangular_solve(jnp.broadcast_to(a, (*stack, n, n)), columns, left_side=True, **how)
    return x[..., 0] if b_ndim == 1 else x


def _substitution(a: list[list[Any]], b: Any, lower: bool, unit: bool, b_ndim: int) -> Any:
    """Forward substitution for lower, backward for upper triangular matrices."""
    n = len(a)
    axis = b.ndim - b_ndim
    right = [jnp.squeeze(part, axis) for part in jax.lax.split(b, [1] * n, axis=axis)]
    if b_ndim == 2:
        a = [[x[..., None] for x in row] for row in a]
    solved: list[Any] = [None] * n
    order = range(n) if lower else range(n - 1, -1, -1)
    for i in order:
        rest = right[i]
        for j in range(i) if lower else range(i + 1, n):
            rest = rest - a[i][j] * solved[j]
        solved[i] = rest if unit else rest / a[i][i]
    return jnp.stack(jnp.broadcast_arrays(*solved), axis=-b_ndim)


def matmul(a: Any, b: Any) -> Any:
    """a·b; a small product of matrices column by column (or row by row).

    XLA hands products of two matrices to a library, and a loop that calls it is not folded; products of a matrix and a
    vector it writes itself. Measured in a loop, value and gradient, µs (2 cores, JAX 0.10): 20x4·4x3 0.3 for 1.3,
    200x10·10x3 3.2 for 8.0, 10x8·8x8 0.3 for 0.7; from about 200x10·10x8 on there is nothing left to gain.
    """
    if a.ndim != 2 or b.ndim != 2 or not jnp.issubdtype(jnp.result_type(a), jnp.floating):
        return jnp.matmul(a, b)
    (m, k), n = a.shape, b.shape[1]
    if not 1 < min(m, n) <= COLUMNS or m * k * n > MULTIPLICATIONS:
        return jnp.matmul(a, b)
    a, b = jnp.asarray(a), jnp.asarray(b)
    if n <= m:
        return jnp.stack([jnp.matmul(a, b[:, j]) for j in range(n)], axis=1)
    return jnp.stack([jnp.matmul(a[i], b) for i in range(m)], axis=0)
