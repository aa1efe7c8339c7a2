"""Where a number that is not finite comes from: the first operation that makes it of finite ones, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import Slot, values_at
from ppl.graph import Node, topological
from ppl.tensor.core.elementwise import switch
from ppl.tensor.linear_algebra import decompositions
from ppl.tensor.linear_algebra.definite import log_det_definite, normal_log_density
from ppl.tensor.tensor import Tensor, is_constant, value_of

DEFINITE = (decompositions.cholesky, log_det_definite, normal_log_density)  # the matrix is the last input
JITTER = "add a jitter to its diagonal, as in K + 1e-6 * pm.math.eye(n)"
BEYOND = "keep the parameters away from there by a prior, or write the expression so that its numbers do not end"


def origin(term: Tensor, slots: Sequence[Slot], position: np.ndarray) -> str:
    """A sentence on what happens at a position where the term is not finite, with a remedy; "" where it cannot be told.

    One walks from the term to inputs that are not finite, as far as there are any.
    """
    nodes = [node for node in topological([term]) if isinstance(node, Tensor) and node.dtype[0] in "fb"]
    values = dict(zip(nodes, values_at(nodes, slots, position), strict=True))
    at: Node = term
    while (found := _behind(at, values)) is not None:
        at = found
    return _told(at, values)


def _behind(node: Node, values: Mapping[Any, np.ndarray]) -> Node | None:
    """An input that is to blame, or a node behind the condition by which an infinite constant was chosen."""
    for each in _chosen(node, values):
        if _finite(each, values):
            continue
        if not is_constant(each):
            return each
        return next((n for n in topological([node.inputs[0]]) if n in values and not _finite(n, values)), None)
    return None


def _chosen(node: Node, values: Mapping[Any, np.ndarray]) -> list[Node]:
    """The inputs that the value of a node is made of."""
    if node.op is not switch or node.inputs[0] not in values:
        return list(node.inputs)
    condition = values[node.inputs[0]]
    return [node.inputs[1]] * bool(condition.any()) + [node.inputs[2]] * (not condition.all())


def _finite(node: Node, values: Mapping[Any, np.ndarray]) -> bool:
    return node not in values or bool(np.all(np.isfinite(values[node])))


def _told(node: Node, values: Mapping[Any, np.ndarray]) -> str:
    if node.op in DEFINITE and node.inputs[-1] in values:
        matrices = values[node.inputs[-1]]
        matrices = matrices.reshape(-1, *matrices.shape[-2:])
        smallest, largest = _spectrum(matrices)
        return (
            f"A matrix is not positive definite as far as rounding tells (its eigenvalues go from {smallest:.3g} to"
            f" {largest:.3g}): {JITTER}."
        )
    if hasattr(node.op, "why_not_finite"):
        return str(node.op.why_not_finite(node, [_value(i, values) for i in node.inputs]))
    given = [_shown(values[i]) for i in node.inputs if i in values and values[i].size and node.op is not switch]
    return f"The {node.op.name} of {' and '.join(given)} is not finite: {BEYOND}." if given else ""


def _value(node: Node, values: Mapping[Any, np.ndarray]) -> np.ndarray:
    return value_of(node) if is_constant(node) else values[node]


def _shown(value: np.ndarray) -> str:
    if value.size == 1:
        return f"{value.flat[0]:.6g}"
    return f"an array of numbers from {np.min(value):.3g} to {np.max(value):.3g}"


def _spectrum(matrices: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of the matrix that has the smallest."""
    each = np.linalg.eigvalsh((matrices + np.swapaxes(matrices, -1, -2)) / 2)
    worst = each[np.argmin(each[:, 0])]
    return float(worst[0]), float(worst[-1])
