"""Linear algebra: products with own type rules, decompositions by JAX. All work on stacks of matrices."""

from __future__ import annotations

from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.shaping import expand_dims, moveaxis, squeeze
from ppl.tensor.core.ops import TensorOp, broadcast_shape, cast_to, unify
from ppl.tensor.linear_algebra import unrolled
from ppl.tensor.tensor import Dim, Tensor, TensorType, as_tensor, dtype_name, function, told


class _MatMul(TensorOp):
    """The matrix product over the last two axes, broadcasting the others."""

    def __call__(self, x1: Any, x2: Any, dtype: Any = None, *, name: str | None = None) -> Tensor:
        x1, x2 = unify((x1, x2) if dtype is None else [cast_to(as_tensor(x), dtype_name(dtype)) for x in (x1, x2)])
        if x1.ndim == 0 or x2.ndim == 0:
            raise ValueError(f"matmul: {x1!r} @ {x2!r}: a scalar is no matrix, use *")
        _check_lengths(x1, x2)
        row, column = x1.ndim == 1, x2.ndim == 1
        product = self.build((expand_dims(x1, 0) if row else x1, expand_dims(x2, 1) if column else x2), {})
        product = (
            squeeze(product, tuple(axis for axis, drop in ((-2, row), (-1, column)) if drop))
            if row or column
            else product
        )
        return product if name is None else product.copy(name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        a, b = inputs
        _check_lengths(a, b)
        stack: tuple[Dim, ...] = ()
        if a.type.ndim > 2 or b.type.ndim > 2:
            stack = broadcast_shape("matmul", (_stack_of(a), _stack_of(b)))
        return TensorType(a.type.dtype, (*stack, a.type.shape[-2], b.type.shape[-1]))


def _check_lengths(a: Node, b: Node) -> None:
    """Refuse matrices, or vectors, whose lengths do not fit."""
    inner, outer = a.type.shape[-1], b.type.shape[max(b.type.ndim - 2, 0)]
    if inner is not None and outer is not None and inner != outer:
        raise ValueError(
            f"matmul: {told(a)} of shape {a.type.shape} and {told(b)} of shape {b.type.shape} do not fit: "
            f"{inner} columns meet {outer} rows"
        )


class _StackShape:
    """The leading axes of a matrix stack, for the broadcasting rule."""

    def __init__(self, node: Node) -> None:
        self.type, self.node = TensorType(node.type.dtype, node.type.shape[:-2]), node

    def __repr__(self) -> str:
        return repr(self.node)


def _stack_of(node: Node) -> Any:
    return _StackShape(node)


MATMUL = matmul = _MatMul("matmul", unrolled.matmul)


@function()
def dot(l: Any, r: Any, *, name: str | None = None) -> Tensor:
    """NumPy's dot: a product with scalars, else the last axis of `l` against the last but one of `r`."""
    left, right = as_tensor(l), as_tensor(r)
    if left.ndim == 0 or right.ndim == 0:
        product = left * right
    elif right.ndim <= 2 or left.ndim == 1:
        product = matmul(left, right)
    else:
        return tensordot(left, right, axes=((-1,), (-2,)))
    return product if name is None else product.copy(name)


@function()
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """The sum of products over pairs of axes."""
    a, b = as_tensor(a), as_tensor(b)
    if isinstance(axes, int):
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = (tuple(x) if isinstance(x, tuple | list) else (x,) for x in axes)
    left, right = tuple(i % a.ndim for i in left), tuple(i % b.ndim for i in right)
    if any(a.type.shape[i] != b.type.shape[j] and None not in (a.type.shape[i], b.type.shape[j])
           for i, j in zip(left, right, strict=True)):  # fmt: skip
        raise ValueError(f"tensordot: {a!r} and {b!r} differ in length along the paired axes {left} and {right}")
    a_last = moveaxis(a, left, tuple(range(a.ndim - len(left), a.ndim)))
    b_first = moveaxis(b, right, tuple(range(len(right))))
    free_a, free_b = a_last.shape[: a.ndim - len(left)], b_first.shape[len(right) :]
    paired = _product(a_last.shape[a.ndim - len(left) :])
    product = matmul(a_last.reshape((_product(free_a), paired)), b_first.reshape((paired, _product(free_b))))
    return product.reshape((*free_a, *free_b))


def _product(dims: Any) -> Any:
    total: Any = 1
    for dim in dims:
        total = total * dim
    return total


@function("batched_dot")
def batched_matmul(a: Any, b: Any) -> Tensor:
    """Products of matrices (or vectors) stacked along the first axis."""
    a, b = as_tensor(a), as_tensor(b)
    left = a if a.ndim > 2 else expand_dims(a, 1)
    right = b if b.ndim > 2 else expand_dims(b, 2)
    product = matmul(left, right)
    drop = tuple(axis for axis, gone in ((1, a.ndim == 2), (2, b.ndim == 2)) if gone)
    return squeeze(product, drop) if drop else product


@function()
def outer(x: Any, y: Any) -> Tensor:
    """All products of the entries of two vectors."""
    x, y = as_tensor(x), as_tensor(y)
    return x.reshape((-1, 1)) * y.reshape((1, -1))


@function()
def inner(a: Any, b: Any) -> Tensor:
    """The sum of products over the last axes."""
    a, b = as_tensor(a), as_tensor(b)
    return a * b if 0 in (a.ndim, b.ndim) else tensordot(a, b, axes=((-1,), (-1,)))
