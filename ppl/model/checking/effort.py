"""About how much work NumPy has with a graph: what a check may do is decided by it, before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod

from ppl.graph import Node, ancestors
from ppl.rewrites.values.by_numpy import work
from ppl.tensor.linalg import MATMUL
from ppl.tensor.tensor import CONSTANT

A_PRODUCT, A_FACTOR = 20.0, 15.0  # multiplications of matrices, and of their factors, that take as long as one number


def effort(outputs: Iterable[Node]) -> float:
    """Numbers that NumPy goes over to work expressions out, some nanoseconds each; a matrix counts by its cube."""
    return sum(_of(node) for node in ancestors(list(outputs)) if node.op is not CONSTANT)


def _of(node: Node) -> float:
    shapes = [x.type.shape for x in node.inputs if hasattr(x.type, "shape")]
    if any(n is None for shape in shapes for n in shape):
        return inf
    more = 0.0
    if node.op is MATMUL:
        more = prod(node.type.shape) * (shapes[0][-1] if shapes[0] else 1) / A_PRODUCT
    elif node.op.name in FACTORS:
        more = (
            max((prod(shape[:-2]) * max(shape[-2:]) ** 3 for shape in shapes if len(shape) >= 2), default=0) / A_FACTOR
        )
    return work(node) + more


FACTORS = frozenset(  # operations that take the cube of a length
    "cholesky eigh eigvalsh svd svdvals qr inv pinv det slogdet log_det_definite normal_log_density solve_general "
    "solve_triangular_op".split()
)
