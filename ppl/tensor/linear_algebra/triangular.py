"""Triangles of matrices: their packed storage, and what covariances ask of them.

Nothing here lowers to a scatter, backwards neither: see `unrolled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.creation import eye
from ppl.tensor.arrays.diagonals import tril
from ppl.tensor.arrays.reductions import sum
from ppl.tensor.arrays.shaping import expand_dims, squeeze
from ppl.tensor.core.elementwise import log
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.linear_algebra.decompositions import cholesky, solve_triangular
from ppl.tensor.linear_algebra.products import matmul
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, constant, function, is_constant, value_of
from ppl.xla.later import jax, jnp


def _square(name: str, node: Node) -> int | None:
    """The number of rows of a stack of square matrices."""
    shape = node.type.shape
    if len(shape) < 2 or (None not in shape[-2:] and shape[-1] != shape[-2]):
        raise ValueError(f"{name} takes square matrices, got {node!r} of shape {shape}")
    return shape[-1] if shape[-1] is not None else shape[-2]


# --- parts of matrices
class _DiagonalOf(TensorOp):
    """The diagonals of a stack of square matrices, as a masked sum (an index would become a scatter backwards)."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        _square(self.name, inputs[0])
        return TensorType(inputs[0].type.dtype, inputs[0].type.shape[:-1])


diagonal_of = _DiagonalOf(
    "diagonal_of", lambda x: jnp.sum(jnp.where(np.eye(jnp.shape(x)[-1], dtype=bool), x, 0), axis=-1, dtype=x.dtype)
)


def row_ends(n: int, lower: bool, strict: bool) -> list[tuple[int, int]]:
    """From where to where each row of a triangle goes; without the diagonal if `strict`."""
    return [(0, i + 1 - strict) if lower else (i + strict, n) for i in range(n)]


class _Pack(TensorOp):
    """The entries of the triangles of a stack of matrices, row by row; without the diagonal if `strict`."""

    def __call__(self, x: Any, lower: bool = True, strict: bool = False, *, name: str | None = None) -> Tensor:
        return self.build((as_tensor(x),), {"lower": bool(lower), "strict": bool(strict)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        n, x = _square(self.name, inputs[0]), inputs[0].type
        return TensorType(x.dtype, (*x.shape[:-2], None if n is None else n * (n + 1) // 2 - n * attrs["strict"]))


def _pack(x: Any, lower: bool, strict: bool) -> Any:
    rows = [jax.lax.index_in_dim(x, i, axis=x.ndim - 2, keepdims=False) for i in range(x.shape[-1])]
    ends = row_ends(x.shape[-1], lower, strict)
    parts = [jax.lax.slice_in_dim(row, *end, axis=row.ndim - 1) for row, end in zip(rows, ends, strict=True)]
    return jnp.concatenate(parts, axis=-1) if parts else x.reshape((*x.shape[:-2], 0))


pack_triangular = _Pack("pack_triangular", _pack)


class _Unpack(TensorOp):
    """A stack of triangular matrices with `n` rows from their packed entries."""

    def __call__(self, x: Any, n: int, lower: bool = True, strict: bool = False, *, name: str | None = None) -> Tensor:
        return self.build((as_tensor(x),), {"n": int(n), "lower": bool(lower), "strict": bool(strict)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, n = inputs[0].type, attrs["n"]
        entries = n * (n + 1) // 2 - n * attrs["strict"]
        if x.ndim == 0 or x.shape[-1] not in (None, entries):
            raise ValueError(f"a triangle with {n} rows is packed into {entries} entries, got {inputs[0]!r}")
        return TensorType(x.dtype, (*x.shape[:-1], n, n))


def _unpack(x: Any, n: int, lower: bool, strict: bool) -> Any:
    blank, zero, start, rows = [(0, 0, 0)] * (x.ndim - 1), jnp.zeros((), x.dtype), 0, []
    for first, last in row_ends(n, lower, strict):
        row = jax.lax.slice_in_dim(x, start, start + last - first, axis=x.ndim - 1)
        rows.append(jax.lax.pad(row, zero, [*blank, (first, n - last, 0)]))
        start += last - first
    return jnp.stack(rows, axis=-2)


unpack_triangular = _Unpack("unpack_triangular", _unpack)


@function()
def expand_packed_triangular(n: Any, packed: Any, lower: bool = True, diagonal_only: bool = False) -> Tensor:
    """The triangular matrix with `n` rows whose entries are packed row by row; its diagonal if `diagonal_only`.

    >>> import ppl.tensor as tt
    >>> pm.expand_packed_triangular(2, tt.constant([1.0, 2.0, 3.0])).eval()
    array([[1., 0.],
           [2., 3.]])
    """
    if isinstance(n, Tensor):
        if not is_constant(n):
            raise ValueError(f"expand_packed_triangular: the number of rows must be known, got {n!r}")
        n = value_of(n).item()
    matrix = unpack_triangular(packed, n, lower)
    return diagonal_of(matrix) if diagonal_only else matrix


# --- what distributions ask
def surely_lower(x: Node) -> bool:
    """Whether a matrix is lower triangular by the way in which it was made."""
    if x.op is cholesky or x.op is unpack_triangular:
        return bool(x.attrs["lower"])
    if x.op is tril:
        return int(x.attrs["k"]) <= 0
    if x.op.name not in ("multiply", "matmul", "named", "cast", "true_divide"):
        return x.op.name == "cholesky_lifted"
    alike = [each.type.shape[-2:] == x.type.shape[-2:] and surely_lower(each) for each in x.inputs]
    if x.op.name == "multiply":
        return any(alike)
    return all(alike) if x.op.name == "matmul" else alike[0]


@function()
def cholesky_of(matrix: Any) -> Tensor:
    """`cholesky`, but that of a constant is computed now, so that no program repeats it."""
    matrix = as_tensor(matrix)
    return constant(np.linalg.cholesky(value_of(matrix))) if is_constant(matrix) else cholesky(matrix)


@function()
def cholesky_of_inverse(matrix: Any) -> Tensor:
    """The Cholesky factor of the inverse of a matrix, without the inverse.

    With J the reversal of order and J A J = M Mᵀ, the factor of A⁻¹ is J M⁻ᵀ J, which is lower triangular.
    """
    matrix = as_tensor(matrix)
    reverse = (..., slice(None, None, -1), slice(None, None, -1))
    if is_constant(matrix):
        flipped = np.linalg.cholesky(value_of(matrix)[reverse])
        return constant(np.tril(np.swapaxes(np.linalg.inv(flipped), -1, -2)[reverse]))
    return solve_triangular(cholesky(matrix[reverse]), eye(matrix.shape[-1], dtype=matrix.dtype), 1, True, b_ndim=2)[
        reverse
    ]


@function()
def solve_lower(chol: Any, vectors: Any) -> Tensor:
    """L⁻¹ v for a lower triangular L and a stack of vectors v."""
    return solve_triangular(chol, vectors, lower=True, b_ndim=1)


@function()
def times_vectors(matrix: Any, vectors: Any) -> Tensor:
    """M v for a stack of vectors v, over the broadcast leading axes of both."""
    return squeeze(matmul(as_tensor(matrix), expand_dims(as_tensor(vectors), -1)), -1)


@function()
def half_log_det(chol: Any) -> Tensor:
    """Half the log-determinant of L Lᵀ."""
    return sum(log(diagonal_of(chol)), axis=-1)
