"""Covariance matrices that were made from a factor, or from a precision: what they were made from, found again."""

from __future__ import annotations

from typing import Any

from ppl.bridge.arrays import is_product
from ppl.bridge.elementwise import without_padding
from ppl.bridge.reading import Reader, is_a


def factor_arguments(reader: Reader, variable: Any) -> dict[str, Any]:
    """A covariance by its Cholesky factor or its precision, where it was made from one: `chol=`, `tau=` or `cov=`."""
    node = variable.owner
    if node is not None and is_product(node.op):
        left, right = map(without_padding, node.inputs)
        if _transposed(right) is left and _is_factor(left):
            return {"chol": reader.tensor(left)}
    core = getattr(node.op, "core_op", node.op) if node is not None else None
    if is_a(core, "MatrixInverse"):
        return {"tau": reader.tensor(without_padding(node.inputs[0]))}
    return {"cov": reader.tensor(variable)}


def _transposed(variable: Any) -> Any:
    """What a matrix is the transpose of; None where it is none."""
    node = variable.owner
    if node is None or not is_a(node.op, "DimShuffle"):
        return None
    n = variable.type.ndim
    return node.inputs[0] if tuple(node.op.new_order) == (*range(n - 2), n - 1, n - 2) else None


def _is_factor(variable: Any) -> bool:
    """Whether a matrix is surely lower triangular with a positive diagonal: only then is it the factor itself."""
    node = variable.owner
    if node is None:
        return False
    core = getattr(node.op, "core_op", node.op)
    return (is_a(core, "Cholesky") and core.lower) or is_a(node.op, "AdvancedIncSubtensor")
