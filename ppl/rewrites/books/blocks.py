"""Matrices made of parts, block-diagonal ones and Kronecker products: what is asked of them is asked of the parts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ppl.graph import GET, Node
from ppl.rewrites.books.matrices import SOLVE, is_square, log_det
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.statement import rewrites
from ppl.rewrites.facts.facts import lower_triangular, positive_definite, upper_triangular
from ppl.rewrites.values.work import work
from ppl.tensor.arrays.shaping import concatenate, reshape, swapaxes
from ppl.tensor.core.ops import OPS
from ppl.tensor.linalg import MATMUL, matmul
from ppl.tensor.linear_algebra.decompositions import cholesky, det, inv, kron, slogdet, solve_triangular
from ppl.tensor.tensor import TensorType

TRIANGLE, BLOCKS = OPS["solve_triangular_op"], OPS["block_diag_op"]
SMALL, SQUARE, TALL = TensorType("float64", (3, 3)), TensorType("float64", (8, 8)), TensorType("float64", (16, 3))
Solver = Callable[[Any, Any], Any]


def is_matrix(x: Node) -> bool:
    """Whether a node is one square matrix."""
    return x.type.ndim == 2 and is_square(x)


def _definite(A: Any) -> Any:
    return matmul(A, A.T) + np.eye(3)


# --- inverses, Cholesky factors, determinants
@rewrites(inv, cholesky, example=lambda A, B: inv(BLOCKS(A, B)), types=dict.fromkeys("ABCD", SMALL),
          more=[lambda A, B: inv(kron(A, B)), lambda A, B: cholesky(BLOCKS(_definite(A), _definite(B))),
                lambda C, D: cholesky(kron(C, D))],
          C=positive_definite, D=positive_definite, one_of=[BLOCKS, kron], saves_work=True)  # fmt: skip
def block_by_block(node: Node, engine: Engine) -> Node | None:
    """Inverses and Cholesky factors of block-diagonal matrices and of Kronecker products are taken block by block."""
    x = node.inputs[0]
    if not all(map(is_matrix, x.inputs)):
        return None
    if node.op is cholesky and x.op is kron and not engine.facts.all(positive_definite, x.inputs):
        return None  # the product of two negative definite matrices has a factor, and they have none
    return engine.make(x.op, tuple([engine.make(node.op, (each,), node.attrs) for each in x.inputs]), x.attrs)


@rewrites(GET, example=lambda A, B: slogdet(BLOCKS(A, B))[1], types={"A": SMALL, "B": SMALL},
          more=[lambda A, B: slogdet(kron(A, B))[1]], saves_work=True)  # fmt: skip
def log_determinant_of_blocks(node: Node, engine: Engine) -> Node | None:
    """log∣det∣ of a block-diagonal matrix adds up; of A⊗B it is m·log∣det A∣ + n·log∣det B∣."""
    x = node.inputs[0]
    if x.op is not slogdet or node.attrs["position"] != 1 or x.inputs[0].op not in (BLOCKS, kron):
        return None
    whole = x.inputs[0]
    if not all(map(is_matrix, whole.inputs)):
        return None
    counted = zip(whole.inputs, _counts(whole), strict=True)
    return engine.total([(log_det(engine, each), n) for each, n in counted], 0, [node])


@rewrites(det, example=lambda A, B: det(BLOCKS(A, B)), more=[lambda A, B: det(kron(A, B))], one_of=[BLOCKS, kron],
          types={"A": SMALL, "B": SMALL}, saves_work=True)  # fmt: skip
def determinant_of_blocks(node: Node, engine: Engine) -> Node | None:
    """The determinant of a block-diagonal matrix is a product; that of A⊗B is (det A)^m·(det B)^n."""
    x = node.inputs[0]
    if x.op not in (BLOCKS, kron) or not all(map(is_matrix, x.inputs)):
        return None
    counted = zip(x.inputs, _counts(x), strict=True)
    return engine.product([(engine.make(det, (each,)), n) for each, n in counted], [node])


def _counts(x: Node) -> list[int]:
    """How often the determinant of each part is a factor of that of the whole."""
    return [x.inputs[1].type.shape[0], x.inputs[0].type.shape[0]] if x.op is kron else [1] * len(x.inputs)


# --- equations and products
def _blocks(A: Any, B: Any) -> Any:
    return BLOCKS(A + 20.0 * np.eye(8), B + 20.0 * np.eye(8))


def _products(A: Any, B: Any) -> Any:
    return kron(A + 20.0 * np.eye(8), OPS["tril"](B + 20.0 * np.eye(8), k=0))


@rewrites(SOLVE, TRIANGLE, example=lambda A, B, b: SOLVE(_blocks(A, B), b), one_of=[BLOCKS, kron], saves_work=True,
          more=[lambda A, B, c: SOLVE(_products(A, B), c),
                lambda A, B, b: solve_triangular(_blocks(A, B), b, lower=True),
                lambda A, B, c: solve_triangular(_products(A, B), c, trans=1, lower=True),
                lambda A, L, c: solve_triangular(kron(A + 20.0 * np.eye(8), L), c, lower=True)], L=lower_triangular,
          types={"A": SQUARE, "B": SQUARE, "L": SQUARE, "b": TALL, "c": TensorType("float64", (64, 3))})  # fmt: skip
def solve_by_parts(node: Node, engine: Engine) -> Node | None:
    """Equations with a block-diagonal matrix or a Kronecker product are solved part by part."""
    a, b = node.inputs
    parts = list(a.inputs)
    if a.op not in (BLOCKS, kron) or not all(map(is_matrix, parts)) or None in b.type.shape:
        return None
    vectors = node.attrs.get("b_ndim", 2) == 1
    if b.type.ndim != 2 - vectors:
        return None
    if a.op is kron and node.op is TRIANGLE:  # which looks at the triangle of the product, not at those of the factors
        inner = lower_triangular if node.attrs["lower"] else upper_triangular
        if not inner.holds(engine.facts(parts[1])):
            return None
    solve: Solver = lambda part, side: node.op.build((part, side), dict(node.attrs))  # type: ignore[attr-defined]
    sizes = [part.type.shape[0] for part in parts]
    if a.op is BLOCKS:
        after = engine.call(lambda side, *each: _in_blocks(solve, each, sizes, side), b, *parts)
    elif vectors:
        return None
    else:
        after = engine.call(lambda side, *each: _in_factors(solve, each, sizes, side), b, *parts)
    return after if work(after) < work(node) else None


def _in_blocks(solve: Solver, parts: Any, sizes: list[int], side: Any) -> Any:
    ends = np.cumsum([0, *sizes])
    pieces = [side[int(start) : int(stop)] for start, stop in pairwise(ends)]
    return concatenate([solve(part, piece) for part, piece in zip(parts, pieces, strict=True)], axis=0)


def _in_factors(solve: Solver, parts: Any, sizes: list[int], side: Any) -> Any:
    """(A⊗C)⁻¹b: C⁻¹ along the inner of the two axes that the rows of b are, A⁻¹ along the outer."""
    (m, n), p = sizes, side.type.shape[1]
    outer = reshape(solve(parts[0], reshape(side, (m, n * p))), (m, n, p))
    inner = solve(parts[1], reshape(swapaxes(outer, 0, 1), (n, m * p)))
    return reshape(swapaxes(reshape(inner, (n, m, p)), 0, 1), (m * n, p))


@rewrites(MATMUL, example=lambda A, B, b: matmul(BLOCKS(A, B), b), types={"A": SQUARE, "B": SQUARE, "b": TALL},
          more=[lambda A, B, b: matmul(b.T, BLOCKS(A, B))], one_of=[BLOCKS], saves_work=True)  # fmt: skip
def product_with_blocks(node: Node, engine: Engine) -> Node | None:
    """A block-diagonal matrix times another is each block times its rows of the other; from the right, its columns."""
    left, right = node.inputs
    if any(x.type.ndim != 2 or None in x.type.shape for x in (left, right)):
        return None
    first = left.op is BLOCKS
    parts = (left if first else right).inputs
    if any(x.type.ndim != 2 or None in x.type.shape for x in parts):
        return None
    ends = np.cumsum([0, *[x.type.shape[1 if first else 0] for x in parts]])
    spans = [slice(int(start), int(stop)) for start, stop in pairwise(ends)]

    def product(other: Any, *blocks: Any) -> Any:
        if first:
            return concatenate([matmul(x, other[s]) for x, s in zip(blocks, spans, strict=True)], axis=0)
        return concatenate([matmul(other[:, s], x) for x, s in zip(blocks, spans, strict=True)], axis=1)

    after = engine.call(product, right if first else left, *parts)
    return after if work(after) < work(node) else None


blocks = Book(
    "blocks",
    block_by_block, log_determinant_of_blocks, determinant_of_blocks, solve_by_parts, product_with_blocks,
)  # fmt: skip
