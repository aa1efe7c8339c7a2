"""Linear algebra: PyTensor's matrix ops in ppl, which takes stacks of matrices everywhere."""

from __future__ import annotations

import ppl.tensor as tt
from ppl.bridge.by_jax import by_jax
from ppl.bridge.reading import OPS, Application, Value, converts, entry_for


@converts("Blockwise")
def of_stacks(at: Application) -> Value:
    """An op of matrices applied to stacks of them: the same op, since all of ppl's take stacks."""
    entry = entry_for(at.op.core_op, OPS)
    if entry is None or type(at.op.core_op).__name__ not in STACKED:
        return by_jax(at)
    inner = Application(at.reader, at.node, at.values)
    inner.op = at.op.core_op
    return entry(inner)


@converts("Dot")
def product(at: Application) -> Value:
    """The product of matrices, a vector having one axis."""
    return tt.matmul(*at.tensors) if all(x.ndim for x in at.tensors) else at.tensor(0) * at.tensor(1)


@converts("BatchedDot")
def batched_product(at: Application) -> Value:
    return tt.batched_dot(*at.tensors)


@converts("Cholesky")
def cholesky(at: Application) -> Value:
    factor = tt.cholesky(at.tensor(0))
    return factor if at.op.lower else tt.matrix_transpose(factor)


@converts("MatrixInverse")
def inverse(at: Application) -> Value:
    return tt.matrix_inverse(at.tensor(0))


@converts("MatrixPinv")
def pseudo_inverse(at: Application) -> Value:
    return tt.pinv(at.tensor(0))


@converts("Det")
def determinant(at: Application) -> Value:
    return tt.det(at.tensor(0))


@converts("SLogDet")
def log_determinant(at: Application) -> Value:
    return list(tt.slogdet(at.tensor(0)))


@converts("Eigh")
def eigh(at: Application) -> Value:
    return list(tt.eigh(at.tensor(0)))


@converts("Eig")
def eig(at: Application) -> Value:
    return list(tt.eig(at.tensor(0)))


@converts("Eigvalsh")
def eigenvalues(at: Application) -> Value:
    if len(at.values) > 1 and at.values[1] is not None:
        return by_jax(at)
    return tt.eigvalsh(at.tensor(0))


@converts("SVD")
def svd(at: Application) -> Value:
    if not at.op.compute_uv:
        return tt.svd(at.tensor(0), compute_uv=False)
    return list(tt.svd(at.tensor(0), full_matrices=at.op.full_matrices))


@converts("QR")
def qr(at: Application) -> Value:
    if at.op.pivoting or at.op.mode not in ("full", "reduced", "economic", "r"):
        return by_jax(at)
    found = tt.qr(at.tensor(0), mode=at.op.mode)
    return list(found) if isinstance(found, list | tuple) else found


@converts("SolveTriangular")
def solved_triangular(at: Application) -> Value:
    op = at.op
    transposed = getattr(op, "trans", 0)
    return tt.solve_triangular(
        *at.tensors, trans=transposed, lower=op.lower, unit_diagonal=op.unit_diagonal, b_ndim=op.b_ndim
    )


@converts("Solve")
def solved(at: Application) -> Value:
    return tt.solve(*at.tensors, assume_a=_kind(at.op.assume_a), lower=at.op.lower, b_ndim=at.op.b_ndim)


def _kind(name: str) -> str:
    """What is said of a matrix, by ppl's names."""
    known = {"general": "gen", "symmetric": "sym", "hermitian": "her", "positive definite": "pos"}
    found = known.get(name, name)
    return found if found in ("gen", "sym", "her", "pos") else "gen"


@converts("CholeskySolve")
def solved_by_factor(at: Application) -> Value:
    return tt.cho_solve((at.tensor(0), at.op.lower), at.tensor(1), b_ndim=at.op.b_ndim)


@converts("Expm")
def exponential(at: Application) -> Value:
    return tt.expm(at.tensor(0))


@converts("BaseBlockDiagonal")
def block_diagonal(at: Application) -> Value:
    return tt.block_diag(*at.tensors)


STACKED = frozenset(
    "Dot Cholesky MatrixInverse MatrixPinv Det SLogDet Eigh Eig Eigvalsh SVD QR SolveTriangular Solve CholeskySolve "
    "Expm".split()
)
