"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.arrays.creation import arange
from ppl.tensor.arrays.indexing import index_update
from ppl.tensor.config import config
from ppl.tensor.core.elementwise import greater_equal, multiply, switch
from ppl.tensor.core.ops import JaxOp, cast_to
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import FUNCTIONS, Tensor, TensorType, as_tensor, constant, dtype_name, function
from ppl.xla.later import jnp


def _of_diagonal(x: TensorType, *, offset: Any, axis1: Any, axis2: Any) -> TensorType | None:
    given = [a for a in (axis1, axis2) if isinstance(a, int) and -x.ndim <= a < x.ndim]
    axes = {a % x.ndim for a in given}
    rows, columns = (x.shape[a] for a in given) if len(axes) == 2 else (None, None)
    if rows is None or columns is None or not isinstance(offset, int):
        return None
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    return TensorType(x.dtype, (*(n for axis, n in enumerate(x.shape) if axis not in axes), length))


diagonal = JaxOp(
    "diagonal",
    lambda a, *, offset=0, axis1=0, axis2=1: jnp.diagonal(a, offset, axis1, axis2),
    ("extract_diag",),
    type_of=_of_diagonal,
)


def _of_matrix(x: TensorType, *, k: int) -> TensorType | None:
    """A square matrix for a vector, as many rows longer as its diagonal is off the main one."""
    if not x.shape:
        return None
    n = None if x.shape[-1] is None else x.shape[-1] + abs(k)
    return TensorType(x.dtype, (*x.shape[:-1], n, n))


_matrix_of = JaxOp(
    "matrix_of_diagonal",
    lambda v, *, k: jnp.vectorize(lambda x: jnp.diag(x, k), signature="(n)->(m,m)")(v),
    type_of=_of_matrix,
)


@function()
def diag(v: Any, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a given diagonal."""
    v = as_tensor(v)
    if v.ndim == 1:
        return _matrix_of(v, k=int(k))
    if v.ndim == 2:
        return diagonal(v, int(k))
    raise ValueError(f"diag takes a vector or a matrix, got {v!r}; see alloc_diag and diagonal for stacks")


@function("diagflat")
def alloc_diag(diag: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Matrices with given diagonals; of a stack of vectors they lie along `axis1` and `axis2` of the result."""
    matrices = _matrix_of(as_tensor(diag), k=int(offset))
    last, given = (matrices.ndim - 2, matrices.ndim - 1), (axis1 % matrices.ndim, axis2 % matrices.ndim)
    return matrices if given == last else FUNCTIONS["moveaxis"](matrices, (-2, -1), given)


# --- triangles, of stacks of matrices
_of_triangle = lambda x, *, k: x if x.ndim > 1 and isinstance(k, int) else None
tril = JaxOp("tril", lambda m, *, k=0: jnp.tril(m, k), type_of=_of_triangle)
triu = JaxOp("triu", lambda m, *, k=0: jnp.triu(m, k), type_of=_of_triangle)


@function()
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on and below a diagonal."""
    M, kind = N if M is None else M, dtype_name(dtype or config.floatX)
    if isinstance(N, Tensor) or isinstance(M, Tensor):
        return cast_to(greater_equal(arange(N)[:, None], arange(M) - k), kind)
    return constant(np.tri(N, M, k, dtype=kind))


@function()
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Where the lower triangle of an n x m matrix is."""
    rows, columns = np.tril_indices(n, k, m)
    return constant(rows), constant(columns)


@function()
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Where the upper triangle of an n x m matrix is."""
    rows, columns = np.triu_indices(n, k, m)
    return constant(rows), constant(columns)


def _known_matrix(name: str, x: Any) -> tuple[int, int]:
    rows, columns = as_tensor(x).type.shape[-2:]
    if rows is None or columns is None:
        raise ValueError(f"{name}: the size of {x!r} must be known: use specify_shape")
    return rows, columns


@function()
def tril_indices_from(a: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """Where the lower triangle of a matrix is."""
    rows, columns = _known_matrix("tril_indices_from", a)
    return tril_indices(rows, k, columns)


@function()
def triu_indices_from(a: Any, k: int = 0) -> tuple[Tensor, Tensor]:
    """Where the upper triangle of a matrix is."""
    rows, columns = _known_matrix("triu_indices_from", a)
    return triu_indices(rows, k, columns)


@function()
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """Where the main diagonal of an array with `ndim` axes of length n is."""
    return tuple(constant(i) for i in np.diag_indices(n, ndim))


@function()
def diag_indices_from(x: Any) -> tuple[Tensor, ...]:
    """Where the main diagonal of an array with axes of one known length is."""
    x = as_tensor(x)
    lengths = {*x.type.shape}
    if x.ndim < 2 or len(lengths) != 1 or None in lengths:
        raise ValueError(f"diag_indices_from: {x!r} must have two or more axes of one known length")
    return diag_indices(lengths.pop() or 0, x.ndim)


@function()
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Tensor:
    """The array with `value` along its main diagonal, of a tall matrix too, where it does not `wrap` around."""
    return fill_diagonal_offset(a, val, 0) if not wrap else _wrapped(as_tensor(a), val)


@function()
def fill_diagonal_offset(a: Any, val: Any, offset: int) -> Tensor:
    """The array with `value` along a diagonal."""
    a = as_tensor(a)
    if a.ndim < 2:
        raise ValueError(f"fill_diagonal: {a!r} is no matrix")
    places = [arange(n) for n in shape_of(a)]
    first = places[0]
    hit: Any = True
    for axis, place in enumerate(places[1:], start=1):
        lined_up = first.reshape((-1, *[1] * (a.ndim - 1))) + (offset if a.ndim == 2 else 0)
        hit = (place.reshape((*[1] * axis, -1, *[1] * (a.ndim - 1 - axis))) == lined_up) & hit
    return switch(hit, cast_to(as_tensor(val), a.dtype), a)


def _wrapped(a: Tensor, value: Any) -> Tensor:
    rows, columns = _known_matrix("fill_diagonal", a)
    flat = a.reshape((-1,))
    return index_update(flat, cast_to(as_tensor(value), a.dtype), slice(None, rows * columns, columns + 1)).reshape(
        (rows, columns)
    )


@function()
def vander(x: Any, n: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the entries as columns."""
    x = as_tensor(x)
    count = x.type.shape[0] if n is None else n
    if count is None:
        raise ValueError(f"vander: the length of {x!r} is not known, so n= is needed")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return multiply(1, x[:, None] ** constant(powers.copy()))
