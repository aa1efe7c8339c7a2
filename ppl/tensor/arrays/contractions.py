"""Sums of products by their names: Einstein's, inner, matrix with vector, the vector product."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.arrays.shaping import expand_dims, moveaxis
from ppl.tensor.core.ops import JaxOp, cast_to, unify
from ppl.tensor.linear_algebra.products import matmul
from ppl.tensor.tensor import Tensor, as_tensor, dtype_name, function
from ppl.xla.later import jnp

_einsum = JaxOp(
    "einsum_op", lambda *operands, subscripts, optimize: jnp.einsum(subscripts, *operands, optimize=optimize)
)


@function()
def einsum(subscripts: str, *operands: Any, optimize: Any = "optimal") -> Tensor:
    """Einstein's sums of products, as `einsum("ij,jk->ik", A, B)`."""
    if not isinstance(subscripts, str):
        raise TypeError(f'einsum takes subscripts such as "ij,jk->ik" first, got {subscripts!r}')
    return _einsum(*unify(operands), subscripts=subscripts, optimize=optimize)


@function()
def vdot(a: Any, b: Any) -> Tensor:
    """The sum of products of all entries, those of `a` conjugated."""
    return matmul(as_tensor(a).conj().reshape((-1,)), as_tensor(b).reshape((-1,)))


@function()
def vecdot(x1: Any, x2: Any, dtype: Any = None, *, axis: int = -1) -> Tensor:
    """The sum of products along an axis, those of `x1` conjugated."""
    return _as_dtype(sum_along(as_tensor(x1).conj() * as_tensor(x2), axis), dtype)


def _as_dtype(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else cast_to(x, dtype_name(dtype))


@function()
def matvec(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Matrices times vectors, stacked."""
    return _as_dtype(matmul(x1, expand_dims(x2, -1))[..., 0], dtype)


@function()
def vecmat(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Vectors times matrices, stacked."""
    return _as_dtype(matmul(expand_dims(as_tensor(x1).conj(), -2), x2)[..., 0, :], dtype)


@function()
def dense_dot(a: Any, b: Any) -> Tensor:
    """The matrix product."""
    return matmul(a, b)


@function()
def batched_tensordot(x: Any, y: Any, axes: Any = 2) -> Tensor:
    """`tensordot` of each pair of slices along the first axis."""
    x, y = as_tensor(x), as_tensor(y)
    if isinstance(axes, int):
        left, right = list(range(x.ndim - axes, x.ndim)), list(range(1, 1 + axes))
    else:
        left, right = ([i % t.ndim for i in side] for side, t in zip(axes, (x, y), strict=True))
    letters = "abcdefghijklmnopqrstuvwxyz"
    of_a = list(letters[1 : x.ndim])
    of_b = [of_a[left[right.index(i)] - 1] if i in right else letters[x.ndim + i] for i in range(1, y.ndim)]
    kept = [i for i in of_a if i not in of_b] + [i for i in of_b if i not in of_a]
    return einsum(f"a{''.join(of_a)},a{''.join(of_b)}->a{''.join(kept)}", x, y)


@function()
def cross(a: Any, b: Any, axis: int = -1) -> Tensor:
    """The vector product in three dimensions."""
    a, b = as_tensor(a), as_tensor(b)
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if {a.type.shape[-1], b.type.shape[-1]} - {3, None}:
        raise ValueError(f"cross: vectors have three entries, got {a!r} and {b!r}")
    one, two = np.array([1, 2, 0]), np.array([2, 0, 1])
    return moveaxis(a[..., one] * b[..., two] - a[..., two] * b[..., one], -1, axis)
