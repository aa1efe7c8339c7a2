"""Equations and determinants of diagonal matrices, and of these plus a matrix of low rank.

A matrix D + U·V with D diagonal and U of few columns is never factorized as a whole (Woodbury, and the determinant
lemma). These two divide by the entries of D, so they must be known not to be zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl.graph import GET, Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, weighted
from ppl.rewrites.books.matrices import SOLVE, log_det
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import rewrites
from ppl.rewrites.facts.facts import nonzero
from ppl.rewrites.values.work import work
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays.creation import eye
from ppl.tensor.arrays.shaping import broadcast_to, expand_dims
from ppl.tensor.core.elementwise import abs, log
from ppl.tensor.core.ops import OPS
from ppl.tensor.linalg import MATMUL, matmul
from ppl.tensor.linear_algebra.decompositions import inv, slogdet, solve_triangular
from ppl.tensor.tensor import CONSTANT, TensorType, constant, value_of

TRIANGLE, DIAGONAL_MATRIX = OPS["solve_triangular_op"], OPS["matrix_of_diagonal"]
SQUARE, TALL, VECTOR = TensorType("float64", (8, 8)), TensorType("float64", (16, 3)), TensorType("float64", (8,))
LONG, ROWS, THIN = TensorType("float64", (64,)), TensorType("float64", (64, 3)), TensorType("float64", (64, 2))


def _is_square(x: Node) -> bool:
    return x.type.ndim == 2 and x.type.shape[0] is not None and x.type.shape[0] == x.type.shape[1]


def diagonal_entries(engine: Engine, x: Node) -> Node | None:
    """The vector on the diagonal of a matrix that has nothing else; None where it is not known to be one."""
    if not _is_square(x):
        return None
    n = x.type.shape[0]
    if x.op is DIAGONAL_MATRIX and x.attrs["k"] == 0:
        return x.inputs[0]
    if x.op is eye and x.attrs["k"] == 0:
        return constant(np.ones(n, x.type.dtype))
    if x.op is CONSTANT:
        value = value_of(x)
        on = np.diagonal(value)
        return constant(on.copy()) if np.count_nonzero(value) == np.count_nonzero(on) else None
    if x.op is SUM and len(x.inputs) == 1 and not x.attrs["shift"]:
        entries = diagonal_entries(engine, x.inputs[0])
        return None if entries is None else engine.total([(entries, x.attrs["weights"][0])], 0, [entries])
    if x.op is PRODUCT:
        matrices = [(part, p) for part, p in weighted(x) if part.type.ndim]
        scalars = [(part, p) for part, p in weighted(x) if not part.type.ndim]
        entries = diagonal_entries(engine, matrices[0][0]) if len(matrices) == 1 and matrices[0][1] == 1 else None
        return None if entries is None else engine.product([(entries, 1), *scalars], [entries])
    return None


@rewrites(SOLVE, TRIANGLE, example=lambda v, b: SOLVE(DIAGONAL_MATRIX(v, k=0), b),
          more=[lambda v, b: solve_triangular(DIAGONAL_MATRIX(v, k=0), b, lower=True)],
          types={"v": VECTOR, "b": TensorType("float64", (8, 3))})  # fmt: skip
def solve_with_diagonal(node: Node, engine: Engine) -> Node | None:
    """Equations with a diagonal matrix are divisions."""
    a, b = node.inputs
    entries = diagonal_entries(engine, a)
    if entries is None or node.attrs.get("unit_diagonal"):
        return None
    column = entries if node.attrs.get("b_ndim", 2) == 1 else engine.call(expand_dims, entries, 1)
    return engine.product([(b, 1), (column, -1)], [b, column])


# --- diagonal plus low rank
class LowRank(NamedTuple):
    """D + w·U·V with D diagonal, of which `entries` are the diagonal."""

    entries: Node
    w: float
    U: Node
    V: Node


def low_rank(engine: Engine, x: Node) -> LowRank | None:
    """The parts of a sum of a diagonal matrix, known to have no zero, and of a product with few columns inside."""
    if x.op is not SUM or len(x.inputs) != 2 or x.attrs["shift"] or not _is_square(x):
        return None
    for (first, weight), (second, w) in (weighted(x), weighted(x)[::-1]):
        entries = diagonal_entries(engine, first) if second.op is MATMUL and second.type.ndim == 2 else None
        if entries is None:
            continue
        rank = second.inputs[0].type.shape[1]
        scaled = engine.total([(entries, weight)], 0, [entries])
        if rank is not None and 2 * rank <= x.type.shape[0] and nonzero.holds(engine.facts(scaled)):
            return LowRank(scaled, w, *second.inputs)
    return None


def _over(matrix: Any, entries: Any) -> Any:
    """D⁻¹ times a matrix."""
    return matrix / expand_dims(entries, 1)


def _capacitance(parts: LowRank, entries: Any, U: Any, V: Any) -> Any:
    """I + w·V·D⁻¹·U, the small matrix that stands for the large one."""
    return eye(U.type.shape[1], dtype=U.dtype) + parts.w * matmul(V, _over(U, entries))


@rewrites(SOLVE, example=lambda d, U, b: SOLVE(DIAGONAL_MATRIX(d, k=0) + matmul(U, U.T), b), one_of=[SUM],
          more=[lambda s, U, b: matmul(inv(s * eye(64) - 2 * matmul(U, U.T)), b)],
          types={"d": LONG, "U": ROWS, "b": THIN}, d=nonzero, s=nonzero, safety=Safety.domain,
          saves_work=True)  # fmt: skip
def woodbury(node: Node, engine: Engine) -> Node | None:
    """(D + UV)⁻¹b = D⁻¹b - D⁻¹U(I + VD⁻¹U)⁻¹VD⁻¹b: only a matrix of the size of the rank is factorized."""
    x, b = node.inputs
    parts = low_rank(engine, x)
    if parts is None or b.type.ndim != 2:
        return None

    def solved(entries: Any, U: Any, V: Any, side: Any) -> Any:
        scaled = _over(side, entries)
        middle = SOLVE(_capacitance(parts, entries, U, V), matmul(V, scaled))
        return scaled - parts.w * matmul(_over(U, entries), middle)

    after = engine.call(solved, parts.entries, parts.U, parts.V, b)
    return after if work(after) < work(node) else None


@rewrites(GET, example=lambda d, U: slogdet(DIAGONAL_MATRIX(d, k=0) + matmul(U, U.T))[1], one_of=[slogdet],
          more=[lambda s, U: slogdet(s * eye(64) + matmul(U, U.T))[1]],
          types={"d": LONG, "U": ROWS}, d=nonzero, s=nonzero, safety=Safety.domain, saves_work=True)  # fmt: skip
def determinant_lemma(node: Node, engine: Engine) -> Node | None:
    """log∣det(D + UV)∣ = log∣det(I + VD⁻¹U)∣ + Σᵢ log∣dᵢ∣."""
    if node.attrs["position"] != 1:
        return None
    x = node.inputs[0].inputs[0]
    parts = low_rank(engine, x)
    if parts is None:
        return None
    small = engine.call(lambda d, U, V: _capacitance(parts, d, U, V), parts.entries, parts.U, parts.V)
    whole = engine.call(broadcast_to, parts.entries, (x.type.shape[0],))
    logs = engine.call(red.sum, engine.make(log, (engine.make(abs, (whole,)),)))
    after = engine.total([(log_det(engine, small), 1), (logs, 1)], 0, [node])
    return after if work(after) < work(node) else None


structure = Book("structure", solve_with_diagonal, woodbury, determinant_lemma)
