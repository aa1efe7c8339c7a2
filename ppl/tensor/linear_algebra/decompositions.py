"""Linear algebra beyond products: decompositions, solutions, functions of matrices. All work on stacks of matrices.

A matrix that is singular or not positive definite gives nan or infinity: a compiled program cannot raise.
"""

from __future__ import annotations

from typing import Any

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.arrays.creation import eye
from ppl.tensor.arrays.shaping import broadcast_to, expand_dims, swapaxes
from ppl.tensor.core.effects import Assert
from ppl.tensor.core.later import Functions, jsl
from ppl.tensor.core.ops import JaxOp, broadcast_shape, cast_to, floats, unify
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.linear_algebra import unrolled
from ppl.tensor.linear_algebra.products import matmul
from ppl.tensor.tensor import FUNCTIONS, Dim, Tensor, TensorType, as_tensor, function, told
from ppl.xla.later import jnp


def _linear(name: str, lower: Any, *also: str, type_of: Any = None) -> JaxOp:
    return JaxOp(name, lower, also, to_float=True, type_of=type_of)


class OfSquare(JaxOp):
    """A square matrix from a square matrix. (Asking JAX for the shape takes `import ppl` a tenth of a second.)"""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        (a,) = inputs
        shape = a.type.shape
        if len(shape) < 2 or (None not in shape[-2:] and shape[-2] != shape[-1]):
            raise ValueError(f"{self.name}({a!r}): a square matrix is needed, got an array of shape {shape}")
        n = shape[-1] if shape[-2] is None else shape[-2]
        return TensorType(a.type.dtype, (*shape[:-2], n, n))


class NumberOfSquare(OfSquare):
    """A number from a square matrix."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        kind = super().infer(inputs, attrs)
        return TensorType(kind.dtype, kind.shape[:-2])


# --- scalars of a matrix
svdvals = _linear("svdvals", lambda a: jnp.linalg.svd(a, compute_uv=False))
vector_norm = _linear("vector_norm", lambda x, *, axis=None, keepdims=False, ord=2: jnp.linalg.vector_norm(
    x, axis=axis, keepdims=keepdims, ord=ord))  # fmt: skip
matrix_norm = _linear("matrix_norm", lambda x, *, keepdims=False, ord="fro": jnp.linalg.matrix_norm(
    x, keepdims=keepdims, ord=ord))  # fmt: skip
polar = _linear("polar", lambda a, *, side="right": tuple(jsl.polar(a, side)))
hessenberg = _linear("hessenberg", lambda a, *, calc_q=False: _plain_tuple(jsl.hessenberg(a, calc_q=calc_q)))
det = NumberOfSquare("det", lambda a: jnp.linalg.det(a), to_float=True)
slogdet = _linear("slogdet", lambda x: tuple(jnp.linalg.slogdet(x)))
matrix_rank = _linear("matrix_rank", lambda a: jnp.linalg.matrix_rank(a) if a.size else jnp.zeros(a.shape[:-2], int))
cond_number = _linear("cond_number", lambda a, *, p=None: jnp.linalg.cond(a, p))
norm = _linear("norm", lambda x, *, ord=None, axis=None, keepdims=False: jnp.linalg.norm(x, ord, axis, keepdims))
trace = JaxOp("trace", lambda a, *, offset=0, axis1=0, axis2=1: jnp.trace(a, offset, axis1, axis2))

# --- inverses and powers
inv = OfSquare("inv", lambda a: jnp.linalg.inv(a), ("matrix_inverse",), to_float=True)
pinv = _linear(
    "pinv",
    lambda x, *, hermitian=False: jnp.linalg.pinv(x, hermitian=hermitian),
    type_of=lambda a, **_: TensorType(a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-2])) if a.ndim > 1 else None,
)
_matrix_power = JaxOp("matrix_power_op", lambda a, *, n: jnp.linalg.matrix_power(a, n))
tensorinv = _linear("tensorinv", lambda a, *, ind=2: jnp.linalg.tensorinv(a, ind))


def _stacked(f: Any) -> Any:
    """`f` of one matrix, applied to each of a stack."""
    return lambda a: jnp.vectorize(f, signature="(n,n)->(n,n)")(a) if a.size else a


expm = OfSquare("expm", _stacked(jsl.expm), to_float=True)
expm_frechet = _linear("expm_frechet", lambda a, e: jsl.expm_frechet(a, e))
sqrtm = _linear("sqrtm", _stacked(jsl.sqrtm))


@function()
def matrix_power(M: Any, n: int) -> Tensor:
    """A matrix times itself, `n` times; of whole numbers where `n` is not negative."""
    return _matrix_power(*(unify(floats((M,))) if n < 0 else (as_tensor(M),)), n=int(n))


# --- decompositions
def _cholesky(x: Any, *, lower: bool = True) -> Any:
    """The factor of the given triangle, which is all that is looked at (as in SciPy)."""
    factor = unrolled.cholesky(x if lower else jnp.swapaxes(x, -1, -2).conj())
    return factor if lower else jnp.swapaxes(factor, -1, -2).conj()


cholesky = OfSquare("cholesky", _cholesky, to_float=True)


def _mirrored(a: Any, uplo: str) -> Any:
    """The Hermitian matrix of one triangle, which is all that NumPy looks at (JAX takes the mean of both)."""
    if uplo not in ("L", "U"):
        raise ValueError(f"UPLO is 'L' or 'U', got {uplo!r}")
    triangle, rest = (jnp.tril(a), jnp.tril(a, -1)) if uplo == "L" else (jnp.triu(a), jnp.triu(a, 1))
    return triangle + jnp.swapaxes(rest, -1, -2).conj()


def _of_eigenvectors(a: TensorType, *, UPLO: Any) -> TupleType | None:
    known = a.ndim > 1 and a.dtype[0] == "f" and None not in a.shape[-2:] and a.shape[-2] == a.shape[-1]
    return TupleType((TensorType(a.dtype, a.shape[:-1]), a)) if known and UPLO in ("L", "U") else None


QR_MODES: dict[Any, Any] = {"full": "complete", "economic": "reduced"}  # SciPy's and PyTensor's names for NumPy's


def _of_orthogonal_factors(a: TensorType, *, mode: Any) -> TupleType | None:
    *stack, rows, columns = a.shape if a.ndim > 1 else (None, None)
    if QR_MODES.get(mode, mode) != "reduced" or rows is None or columns is None:
        return None
    least = min(rows, columns)
    return TupleType(tuple(TensorType(a.dtype, (*stack, *own)) for own in ((rows, least), (least, columns))))


eigh = _linear("eigh", lambda a, *, UPLO="L": tuple(jnp.linalg.eigh(_mirrored(a, UPLO))), type_of=_of_eigenvectors)
eigvalsh = _linear("eigvalsh", lambda a, *, UPLO="L": jnp.linalg.eigvalsh(_mirrored(a, UPLO)))
eig = _linear("eig", lambda x: tuple(jnp.linalg.eig(x)))
eigvals = _linear("eigvals", lambda a: jnp.linalg.eigvals(a))
qr = _linear("qr", lambda A, *, mode="full": _qr(A, mode), type_of=_of_orthogonal_factors)
svd = _linear("svd", lambda a, *, full_matrices=True, compute_uv=True: _plain_tuple(
    jnp.linalg.svd(a, full_matrices, compute_uv)))  # fmt: skip
lu = _linear("lu", lambda a, *, permute_l=False: jsl.lu(a, permute_l))
lu_factor = _linear("lu_factor", lambda a: jsl.lu_factor(a))
schur = _linear("schur", lambda A, *, output="real": jsl.schur(A, output))


def _qr(a: Any, mode: Any) -> Any:
    return _plain_tuple(jnp.linalg.qr(a, QR_MODES.get(mode, mode)))


def _plain_tuple(results: Any) -> Any:
    return tuple(results) if isinstance(results, tuple) else results


# --- solutions of linear equations
def _of_solution(a: TensorType, b: TensorType) -> TensorType | None:
    """That of the right side."""
    known = a.dtype == b.dtype and a.ndim == b.ndim > 1 and None not in (*a.shape, *b.shape)
    if known and (*a.shape[:-2], a.shape[-1]) == (*b.shape[:-2], a.shape[-2]) and a.shape[-1] == b.shape[-2]:
        return b
    return None


_solve_general = _linear("solve_general", Functions("jax.numpy.linalg").solve, type_of=_of_solution)


class _SolveTriangular(JaxOp):
    """Knows its shape where only one of the two knows the number of rows."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        (a, b), ndim = [node.type for node in inputs], attrs["b_ndim"]
        stacks = (_Shaped(inputs[0], a.shape[:-2]), _Shaped(inputs[1], b.shape[: b.ndim - ndim]))
        rows = b.shape[-ndim] if b.shape[-ndim] is not None else a.shape[-1]
        stack = broadcast_shape(self.name, stacks)  # type: ignore[arg-type]
        return TensorType(b.dtype, (*stack, rows, *b.shape[b.ndim - ndim + 1 :]))


class _Shaped:
    """A node with some of its axes only, for the broadcasting rule and its error message."""

    def __init__(self, node: Node, shape: tuple[Dim, ...]) -> None:
        self.node, self.type = node, TensorType(node.type.dtype, shape)

    def __repr__(self) -> str:
        return repr(self.node)


SOLVE_TRIANGULAR = _SolveTriangular("solve_triangular_op", unrolled.solve_triangular, (), to_float=True)
_lu_solve = JaxOp("lu_solve_op", lambda lu, b, pivots, *, trans: jsl.lu_solve((lu, pivots), b, trans))
_lstsq = _linear("lstsq_op", lambda a, b, *, rcond: tuple(jnp.linalg.lstsq(a, b, rcond)))
tensorsolve = _linear("tensorsolve", lambda a, b: jnp.linalg.tensorsolve(a, b))


def _sides(name: str, a: Any, b: Any, b_ndim: int | None) -> tuple[Tensor, Tensor, int]:
    """The matrix, the right side, and whether that is a stack of vectors (1) or of matrices (2)."""
    a, b = unify((a, b), to_float=True)
    if a.ndim < 2 or (None not in a.type.shape[-2:] and a.type.shape[-1] != a.type.shape[-2]):
        raise ValueError(f"{name}: {a!r} is no square matrix")
    if b_ndim not in (None, 1, 2):
        raise ValueError(f"{name}: b_ndim is 1 or 2, got {b_ndim!r}")
    ndim = min(b.ndim, 2) if b_ndim is None else b_ndim
    if b.ndim < ndim or ndim == 0:
        raise ValueError(f"{name}: the right side is a vector or a matrix, got {b!r}")
    rows, size = b.type.shape[-ndim], a.type.shape[-1]
    if rows is not None and size is not None and rows != size:
        raise ValueError(f"{name}: {told(a)} has {size} rows, the right side {told(b)} has {rows}")
    return a, b, ndim


def _right_sides(name: str, a: Any, b: Any, b_ndim: int | None) -> tuple[Tensor, Tensor, bool]:
    """The matrix and the right sides as columns, on one stack, and whether they were vectors."""
    a, b, ndim = _sides(name, a, b, b_ndim)
    b = expand_dims(b, -1) if ndim == 1 else b
    stack = _stack_shape(a, b)
    return _on_stack(a, stack), _on_stack(b, stack), ndim == 1


def _stack_shape(a: Tensor, b: Tensor) -> Any:
    return None if a.ndim == b.ndim == 2 else shape_of(a.sum((-2, -1)) + b.sum((-2, -1)))


def _on_stack(x: Tensor, stack: Any) -> Tensor:
    return x if stack is None else broadcast_to(x, (*stack, *shape_of(x)[-2:]))


def _back(x: Tensor, vectors: bool) -> Tensor:
    return x[..., 0] if vectors else x


def _checked_finite(who: str, x: Any) -> Tensor:
    """A tensor, with a check that its numbers are finite when the program runs."""
    return Assert(f"{who}: a number is nan or infinite")(x, FUNCTIONS["isfinite"](x))


@function()
def solve(
    a: Any,
    b: Any,
    *,
    assume_a: str = "gen",
    lower: bool = False,
    transposed: bool = False,
    check_finite: bool = False,
    b_ndim: int | None = None,
) -> Tensor:
    """x with a x = b. `assume_a` is "gen", "sym", "her", "pos" (then Cholesky's factor is used), or a triangle.

    With `check_finite`, as in PyTensor, the program stops where a number is not finite; else the result is then nan."""
    if check_finite:
        a, b = _checked_finite("solve", a), _checked_finite("solve", b)
    if assume_a in ("lower triangular", "upper triangular"):
        return solve_triangular(a, b, trans=int(transposed), lower=assume_a[0] == "l", b_ndim=b_ndim)
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a is 'gen', 'sym', 'her', 'pos' or a triangular, got {assume_a!r}")
    if assume_a == "pos":
        return cho_solve((cholesky(a, lower=lower), lower), b, b_ndim=b_ndim)
    matrix, columns, vectors = _right_sides("solve", a, b, b_ndim)
    return _back(_solve_general(swapaxes(matrix, -1, -2) if transposed else matrix, columns), vectors)


@function()
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    *,
    check_finite: bool = False,
    b_ndim: int | None = None,
) -> Tensor:
    """x with a x = b where only one triangle of `a` is looked at; `trans` is 0 or "N", 1 or "T", 2 or "C"."""
    if check_finite:
        a, b = _checked_finite("solve_triangular", a), _checked_finite("solve_triangular", b)
    code = {"N": 0, "T": 1, "C": 2}.get(trans, trans) if isinstance(trans, str) else int(trans)
    if code not in (0, 1, 2):
        raise ValueError(f"solve_triangular: trans is 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    a, b, ndim = _sides("solve_triangular", a, b, b_ndim)
    return SOLVE_TRIANGULAR(a, b, lower=bool(lower), unit_diagonal=bool(unit_diagonal), trans=code, b_ndim=ndim)


@function()
def cho_solve(c_and_lower: Any, b: Any, *, check_finite: bool = False, b_ndim: int | None = None) -> Tensor:
    """x with a x = b, from `(cholesky(a), lower)`."""
    factor, lower = c_and_lower
    if check_finite:
        factor, b = _checked_finite("cho_solve", factor), _checked_finite("cho_solve", b)
    half = solve_triangular(factor, b, trans=0 if lower else 1, lower=lower, b_ndim=b_ndim)
    return solve_triangular(factor, half, trans=1 if lower else 0, lower=lower, b_ndim=b_ndim)


@function()
def cho_factor(a: Any, lower: bool = False) -> tuple[Tensor, bool]:
    """What `cho_solve` takes: Cholesky's factor, and whether it is the lower one."""
    return cholesky(a, lower=lower), lower


@function()
def lu_solve(LU_and_pivots: Any, b: Any, trans: bool | int = False, check_finite: bool = False) -> Tensor:
    """x with a x = b, from `lu_factor(a)`."""
    factor, pivots = LU_and_pivots
    if check_finite:
        factor, b = _checked_finite("lu_solve", factor), _checked_finite("lu_solve", b)
    return _lu_solve(*unify(floats((factor, b))), cast_to(as_tensor(pivots), "int32"), trans=int(trans))


@function()
def lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    """The least-squares solution, the residuals, the rank and the singular values."""
    return _lstsq(a, b, rcond=rcond)


@function()
def solve_sylvester(A: Any, B: Any, Q: Any) -> Tensor:
    """X with A X + X B = Q."""
    A, B, Q = unify(floats((A, B, Q)))
    m, n = shape_of(A)[-1], shape_of(B)[-1]
    system = kron(A, eye(n, dtype=A.dtype)) + kron(eye(m, dtype=A.dtype), swapaxes(B, -1, -2))
    return solve(system, Q.reshape((m * n,))).reshape((m, n))


@function()
def solve_continuous_lyapunov(A: Any, Q: Any) -> Tensor:
    """X with A X + X Aᵀ = Q."""
    (A,) = unify(floats((A,)))
    return solve_sylvester(A, swapaxes(A, -1, -2), Q)


@function()
def solve_discrete_lyapunov(A: Any, Q: Any, method: str = "bilinear") -> Tensor:
    """X with A X Aᵀ - X + Q = 0, by one linear system, which PyTensor calls "direct", whatever the method."""
    if method not in ("direct", "bilinear"):
        raise ValueError(f"solve_discrete_lyapunov: method is 'direct' or 'bilinear', got {method!r}")
    A, Q = unify(floats((A, Q)))
    n = shape_of(A)[-1]
    return solve(eye(n * n, dtype=A.dtype) - kron(A, A), Q.reshape((n * n,))).reshape((n, n))


# --- products
def _kron(a: Any, b: Any) -> Any:
    return jnp.kron(a.astype(jnp.int8), b.astype(jnp.int8)).astype(bool) if a.dtype == bool else jnp.kron(a, b)


kron = JaxOp("kron", _kron, one_dtype=True)


@function("multi_dot")
def matrix_dot(*matrices: Any) -> Tensor:
    """The product of several matrices, given one by one or as a list."""
    given = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], list | tuple) else matrices
    product = as_tensor(given[0])
    for each in given[1:]:
        product = matmul(product, each)
    return product


def _block_diag(*blocks: Any) -> Any:
    """Matrices along the diagonal, zeros elsewhere; stacks of them block by block."""
    rows, columns = sum(b.shape[-2] for b in blocks), sum(b.shape[-1] for b in blocks)
    stack = jnp.broadcast_shapes(*[b.shape[:-2] for b in blocks])
    result = jnp.zeros((*stack, rows, columns), jnp.result_type(*blocks))
    row = column = 0
    for b in blocks:
        result = result.at[..., row : row + b.shape[-2], column : column + b.shape[-1]].set(b)
        row, column = row + b.shape[-2], column + b.shape[-1]
    return result


_block_diag_op = JaxOp("block_diag_op", _block_diag, one_dtype=True)


@function()
def block_diag(*matrices: Any) -> Tensor:
    """Matrices along the diagonal, zeros elsewhere."""
    given = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], list | tuple) else matrices
    if not given:
        raise ValueError("block_diag takes one matrix or more, got none")
    return _block_diag_op(
        *[expand_dims(m, tuple(range(2 - m.ndim))) if m.ndim < 2 else m for m in map(as_tensor, given)]
    )
