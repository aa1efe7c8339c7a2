"""Products with Kronecker products of matrices, factor by factor."""

from __future__ import annotations

from math import prod
from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp, unify
from ppl.tensor.linear_algebra import unrolled
from ppl.tensor.tensor import Dim, Tensor, TensorType
from ppl.xla.later import jnp


class _KronTimes(TensorOp):
    """(A₁ ⊗ A₂ ⊗ ...) x for a stack of vectors x: n Σ mᵢ operations, and no product is formed."""

    def __call__(self, x: Any, *matrices: Any, name: str | None = None) -> Tensor:
        product: Tensor = self.build(unify((x, *matrices)), {}, name)
        return product

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, *matrices = (node.type for node in inputs)
        if not x.ndim or not matrices or any(m.ndim != 2 for m in matrices):
            shapes = ", ".join(str(m.shape) for m in (x, *matrices))
            raise ValueError(f"{self.name} takes a stack of vectors and one matrix or more, got the shapes {shapes}")
        columns, n = _product([m.shape[1] for m in matrices]), x.shape[-1]
        if None not in (columns, n) and columns != n:
            raise ValueError(f"{self.name}: vectors of length {n} meet a product with {columns} columns")
        return TensorType(x.dtype, (*x.shape[:-1], _product([m.shape[0] for m in matrices])))


def _product(dims: list[Dim]) -> Dim:
    known = [n for n in dims if n is not None]
    return prod(known) if len(known) == len(dims) else None


def _kron_times(x: Any, *matrices: Any) -> Any:
    """Each matrix takes the first axis of what is left and puts its result last, so that after all the order is as it
    was."""
    stack = x.shape[:-1]
    for i, m in enumerate(matrices):
        rest = prod(n.shape[1] for n in matrices[i + 1 :]) * prod(n.shape[0] for n in matrices[:i])
        columns = x.reshape((*stack, m.shape[1], rest))
        rows = jnp.swapaxes(unrolled.matmul(m, columns), -1, -2)
        x = rows.reshape((*stack, rows.shape[-1] * rows.shape[-2]))
    return x


kron_times = _KronTimes("kron_times", _kron_times)
