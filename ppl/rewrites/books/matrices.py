"""Linear algebra that uses structure: triangles, diagonals, factors that are there anyway, the order of products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppl.graph import GET, Attrs, Node, TupleType
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM, weighted
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import equal, rewrites
from ppl.rewrites.facts.facts import (
    Fact,
    declare_facts,
    lower_triangular,
    positive,
    positive_definite,
    upper_triangular,
)
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays.diagonals import diagonal
from ppl.tensor.arrays.shaping import EXPAND_DIMS, TRANSPOSE, swapaxes
from ppl.tensor.core.elementwise import abs, log, sqrt
from ppl.tensor.core.ops import OPS
from ppl.tensor.linalg import MATMUL, matmul
from ppl.tensor.linear_algebra.decompositions import (
    cholesky,
    det,
    inv,
    lu,
    lu_factor,
    qr,
    slogdet,
    solve_triangular,
    svdvals,
    trace,
)
from ppl.tensor.tensor import TensorType

SQUARE, TALL, VECTOR = TensorType("float64", (3, 3)), TensorType("float64", (3, 2)), TensorType("float64", (3,))
DIAGONAL_MATRIX, SOLVE = OPS["matrix_of_diagonal"], OPS["solve_general"]
FACTORIZATIONS = (qr, lu, lu_factor, svdvals)


# --- what is known of matrices
def _of_cholesky(node: Node, facts: list[Fact]) -> Fact:
    side = "lower_triangular" if node.attrs["lower"] else "upper_triangular"
    return Fact(marks=frozenset([side, "positive_diagonal"]))


def _of_inverse(node: Node, facts: list[Fact]) -> Fact:
    kept = {"positive_definite", "symmetric", "lower_triangular", "upper_triangular", "diagonal", "positive_diagonal"}
    return Fact(marks=facts[0].marks & frozenset(kept))


declare_facts(cholesky, _of_cholesky)
declare_facts(inv, _of_inverse)
declare_facts(
    OPS["tril"], lambda node, facts: Fact(marks=frozenset(["lower_triangular"] if node.attrs["k"] <= 0 else []))
)
declare_facts(
    OPS["triu"], lambda node, facts: Fact(marks=frozenset(["upper_triangular"] if node.attrs["k"] >= 0 else []))
)


def is_transpose(x: Node) -> bool:
    """Whether a node exchanges the last two axes."""
    rank = x.type.ndim
    return x.op is TRANSPOSE and x.attrs["axes"] == (*range(rank - 2), rank - 1, rank - 2)


def transposed(engine: Engine, x: Node) -> Node:
    return engine.call(swapaxes, x, -1, -2)


def is_diagonal(x: Node) -> bool:
    return x.op is DIAGONAL_MATRIX and x.attrs["k"] == 0


# --- inverses and solutions
@equal(matrices=["A"])
def inverse_of_inverse(A):
    """The inverse of the inverse is the matrix."""
    return inv(inv(A)), A


@rewrites(MATMUL, example=lambda A, b: matmul(inv(A), b), more=[lambda A, B: matmul(inv(A), B)],
          types={"A": SQUARE, "b": VECTOR, "B": TALL}, saves_work=True)  # fmt: skip
def inverse_times(node: Node, engine: Engine) -> Node | None:
    """A⁻¹b is found by solving, without the inverse."""
    left, right = node.inputs
    if left.op is not inv or left.type.ndim != right.type.ndim:
        return None
    return engine.make(SOLVE, (left.inputs[0], right))


@rewrites(SOLVE, example=lambda L, b: matmul(inv(L), b), types={"L": SQUARE, "U": SQUARE, "b": VECTOR},
          L=lower_triangular,
          more=[lambda U, b: matmul(inv(U), b)], U=upper_triangular, safety=Safety.domain, saves_work=True)  # fmt: skip
def solve_with_triangle(node: Node, engine: Engine) -> Node | None:
    """Equations with a triangular matrix are solved by substitution."""
    a, b = node.inputs
    fact = engine.facts(a)
    lower = lower_triangular.holds(fact)
    if a.type.ndim != 2 or b.type.ndim != 2 or not (lower or upper_triangular.holds(fact)):
        return None
    return engine.call(solve_triangular, a, b, lower=lower)


@rewrites(SOLVE, example=lambda A, b: matmul(inv(A), b), types={"A": SQUARE, "b": VECTOR}, A=positive_definite,
          safety=Safety.domain, saves_work=True)  # fmt: skip
def solve_positive_definite(node: Node, engine: Engine) -> Node | None:
    """Equations with a positive definite matrix are solved by its Cholesky factor."""
    a, b = node.inputs
    if a.type.ndim != 2 or b.type.ndim != 2 or not positive_definite.holds(engine.facts(a)):
        return None
    factor = engine.make(cholesky, (a,), Attrs(lower=True))
    half = engine.call(solve_triangular, factor, b, lower=True)
    return engine.call(solve_triangular, factor, half, trans=1, lower=True)


@rewrites(inv, example=lambda v: inv(DIAGONAL_MATRIX(v, k=0)), types={"v": VECTOR})
def inverse_of_diagonal(node: Node, engine: Engine) -> Node | None:
    """The inverse of a diagonal matrix has the reciprocals on its diagonal."""
    x = node.inputs[0]
    return engine.make(DIAGONAL_MATRIX, (engine.power(x.inputs[0], -1),), x.attrs) if is_diagonal(x) else None


# --- Cholesky factors
def _factor(M: Any) -> Any:
    """The Cholesky factor of a positive definite matrix made of any."""
    return cholesky(matmul(M, M.T) + np.eye(3))


@rewrites(cholesky, example=lambda M: cholesky(matmul(_factor(M), _factor(M).T)), types={"M": SQUARE})
def cholesky_of_square(node: Node, engine: Engine) -> Node | None:
    """The Cholesky factor of LLᵀ is L, where L is lower triangular with a positive diagonal."""
    x = node.inputs[0]
    if x.op is not MATMUL or not node.attrs["lower"]:
        return None
    left, right = x.inputs
    marks = engine.facts(left).marks
    fits = is_transpose(right) and right.inputs[0] is left and {"lower_triangular", "positive_diagonal"} <= marks
    return left if fits else None


@rewrites(cholesky, example=lambda v: cholesky(DIAGONAL_MATRIX(v, k=0)), types={"v": VECTOR}, v=positive,
          safety=Safety.domain)  # fmt: skip
def cholesky_of_diagonal(node: Node, engine: Engine) -> Node | None:
    """The Cholesky factor of a diagonal matrix has the square roots on its diagonal."""
    x = node.inputs[0]
    if not is_diagonal(x) or not positive.holds(engine.facts(x.inputs[0])):
        return None
    return engine.make(DIAGONAL_MATRIX, (engine.make(sqrt, x.inputs),), x.attrs)


@rewrites(cholesky, example=lambda c, M: cholesky(c * (matmul(M, M.T) + np.eye(3))), types={"M": SQUARE}, c=positive,
          more=[lambda c, M: cholesky(M / c, lower=False), lambda M: cholesky(3.0 * matmul(M, M.T))],
          safety=Safety.domain)  # fmt: skip
def cholesky_of_multiple(node: Node, engine: Engine) -> Node | None:
    """The Cholesky factor of cA is √c times that of A, for a number c > 0: a known A is then factorized once."""
    x = node.inputs[0]
    if x.op is SUM:
        ((a, weight), *others) = weighted(x)
        if others or weight < 0 or x.attrs["shift"]:
            return None
        return engine.total([(engine.make(cholesky, (a,), node.attrs), math.sqrt(weight))], 0, [node])
    if x.op is not PRODUCT:
        return None
    is_number = lambda c: not c.type.ndim and positive.holds(engine.facts(c))
    numbers = [(c, p) for c, p in weighted(x) if is_number(c)]
    rest = [(a, p) for a, p in weighted(x) if not is_number(a)]
    if not numbers or not rest:
        return None
    a = engine.product(rest, [each for each, _ in rest])
    if not engine.same_size(a, x):
        return None
    return engine.product([(engine.make(cholesky, (a,), node.attrs), 1), *[(c, p / 2) for c, p in numbers]], [node])


# --- determinants
@rewrites(log, example=lambda A: log(abs(det(A))), types={"A": SQUARE})
def log_of_determinant(node: Node, engine: Engine) -> Node | None:
    """log∣det A∣ does not overflow as the second result of slogdet."""
    x = node.inputs[0]
    if x.op is not abs or x.inputs[0].op is not det:
        return None
    return engine.make(GET, (engine.make(slogdet, x.inputs[0].inputs),), Attrs(position=1))


@rewrites(log, example=lambda A: log(det(A)), types={"A": SQUARE}, A=positive_definite, safety=Safety.domain,
          saves_work=True)  # fmt: skip
def log_of_positive_determinant(node: Node, engine: Engine) -> Node | None:
    """The determinant of a positive definite matrix is positive."""
    x = node.inputs[0]
    if x.op is not det or not positive_definite.holds(engine.facts(x.inputs[0])):
        return None
    return engine.make(GET, (engine.make(slogdet, x.inputs),), Attrs(position=1))


@rewrites(GET, example=lambda A: slogdet(A)[1], 
          types={"A": SQUARE, "L": SQUARE, "U": SQUARE, "M": SQUARE, "v": VECTOR}, A=positive_definite,
          L=lower_triangular, U=upper_triangular,
          more=[lambda L: slogdet(L)[1], lambda U: slogdet(U)[1], lambda M: slogdet(matmul(M, M.T))[1],
                lambda M: slogdet(inv(M))[1], lambda v: slogdet(DIAGONAL_MATRIX(v, k=0))[1],
                lambda M: slogdet(M)[1] + red.sum(qr(M)[1]), lambda M: slogdet(M)[1] + red.sum(qr(M, "r")),
                lambda M: slogdet(M)[1] + red.max(svdvals(M)), lambda M: slogdet(M)[1] + red.sum(lu(M)[2]),
                lambda M: slogdet(M)[1] + red.sum(lu_factor(M)[0])],
          beside=FACTORIZATIONS, saves_work=True)  # fmt: skip
def log_determinant(node: Node, engine: Engine) -> Node | None:
    """log∣det∣ of a positive definite, triangular or diagonal matrix, of a product of square ones, of an inverse, of a
    matrix that is factorized elsewhere.
    """
    x = node.inputs[0]
    if x.op is not slogdet or node.attrs["position"] != 1:
        return None
    a = x.inputs[0]
    if is_diagonal(a):
        return _log_product(engine, a.inputs[0])
    if a.op is inv:
        return engine.total([(log_det(engine, a.inputs[0]), -1)], 0, [node])
    if a.op is MATMUL and all(is_square(each) and each.type.ndim == a.type.ndim for each in a.inputs):
        return engine.total([(log_det(engine, each), 1) for each in a.inputs], 0, [node])
    if is_transpose(a):
        return log_det(engine, a.inputs[0])
    fact = engine.facts(a)
    if lower_triangular.holds(fact) or upper_triangular.holds(fact):
        return _log_product(engine, _diagonal_of(engine, a))
    if positive_definite.holds(fact):
        factor = engine.make(cholesky, (a,), Attrs(lower=True))
        logs = engine.make(log, (_diagonal_of(engine, factor),))
        return engine.total([(engine.call(red.sum, logs, axis=-1), 2)], 0, [node])
    factors = _diagonal_of_factor(engine, a)
    return None if factors is None else _log_product(engine, factors)


def _diagonal_of_factor(engine: Engine, a: Node) -> Node | None:
    """Numbers whose product is ±det, from a factorization of the same matrix elsewhere in the graph. Not from singular
    vectors, whose slopes do not exist where two singular values are equal."""
    known = next((engine.beside[op, a] for op in FACTORIZATIONS if (op, a) in engine.beside), None)
    if known is None or known.op is svdvals:
        return known
    if isinstance(known.type, TupleType):
        place = 0 if known.op is lu_factor else len(known.type.items) - 1  # of R or U
        known = engine.make(GET, (known,), Attrs(position=place))
    return _diagonal_of(engine, known)


def log_det(engine: Engine, a: Node) -> Node:
    return engine.make(GET, (engine.make(slogdet, (a,)),), Attrs(position=1))


def _log_product(engine: Engine, entries: Node) -> Node:
    logs = engine.make(log, (engine.make(abs, (entries,)),))
    return engine.call(red.sum, logs, axis=-1)


def _diagonal_of(engine: Engine, a: Node) -> Node:
    return engine.call(OPS["diagonal_of"], a)


def is_square(x: Node) -> bool:
    return x.type.ndim >= 2 and x.type.shape[-1] is not None and x.type.shape[-1] == x.type.shape[-2]


@rewrites(det, example=lambda v: det(DIAGONAL_MATRIX(v, k=0)), more=[lambda L: det(L), lambda U: det(U)],
          types={"v": VECTOR, "L": SQUARE, "U": SQUARE}, L=lower_triangular, U=upper_triangular,
          saves_work=True)  # fmt: skip
def determinant_of_triangle(node: Node, engine: Engine) -> Node | None:
    """The determinant of a triangular or diagonal matrix is the product of its diagonal."""
    a = node.inputs[0]
    if is_diagonal(a):
        return engine.call(red.prod, a.inputs[0], axis=-1)
    fact = engine.facts(a)
    if not (lower_triangular.holds(fact) or upper_triangular.holds(fact)):
        return None
    return engine.call(red.prod, _diagonal_of(engine, a), axis=-1)


# --- products
@rewrites(MATMUL, example=lambda v, B: matmul(DIAGONAL_MATRIX(v, k=0), B), more=[lambda v, B: matmul(B.T,
          DIAGONAL_MATRIX(v, k=0))], types={"v": VECTOR, "B": TALL})  # fmt: skip
def product_with_diagonal(node: Node, engine: Engine) -> Node | None:
    """diag(v)·B scales the rows of B, and B·diag(v) its columns."""
    left, right = node.inputs
    if is_diagonal(left):
        column = engine.make(EXPAND_DIMS, (left.inputs[0],), Attrs(axis=(left.inputs[0].type.ndim,)))
        return engine.product([(column, 1), (right, 1)], [column, right])
    if is_diagonal(right):
        vectors = right.inputs[0]
        row = engine.make(EXPAND_DIMS, (vectors,), Attrs(axis=(vectors.type.ndim - 1,)))
        return engine.product([(left, 1), (row, 1)], [left, row])
    return None


@rewrites(MATMUL, example=lambda A, B, v: matmul(matmul(A, B), v), types={"A": SQUARE, "B": SQUARE, "v": VECTOR},
          more=[lambda v, A, B: matmul(v, matmul(A, B))], saves_work=True)  # fmt: skip
def association(node: Node, engine: Engine) -> Node | None:
    """(A·B)·v = A·(B·v), whichever way takes fewer multiplications; a product that is computed once stays."""
    left, right = node.inputs
    if left.op is MATMUL and not engine.once(left):
        a, b = left.inputs
        if _cost(a, b, right, first=False) < _cost(a, b, right, first=True):
            return engine.make(MATMUL, (a, engine.make(MATMUL, (b, right))))
    if right.op is MATMUL and not engine.once(right):
        b, c = right.inputs
        if _cost(left, b, c, first=True) < _cost(left, b, c, first=False):
            return engine.make(MATMUL, (engine.make(MATMUL, (left, b)), c))
    return None


def _cost(a: Node, b: Node, c: Node, first: bool) -> float:
    """Multiplications of a·b·c, the first two or the last two together first; infinite where sizes are unknown."""
    if any(x.type.ndim != 2 for x in (a, b, c)):
        return float("inf")
    n, k = _size(a.type.shape[0]), _size(a.type.shape[1])
    m, p = _size(b.type.shape[1]), _size(c.type.shape[1])
    return n * k * m + n * m * p if first else k * m * p + n * k * p


def _size(dim: int | None) -> float:
    return 1e3 if dim is None else dim


@rewrites(trace, example=lambda A, B: trace(matmul(A, B)), types={"A": SQUARE, "B": SQUARE}, saves_work=True)
def trace_of_product(node: Node, engine: Engine) -> Node | None:
    """tr(A·B) = Σᵢⱼ AᵢⱼBⱼᵢ, without the product."""
    x = node.inputs[0]
    if x.op is not MATMUL or x.type.ndim != 2 or node.attrs["offset"] != 0:
        return None
    if not is_square(x):
        return None
    turned = transposed(engine, x.inputs[1])
    return engine.call(red.sum, engine.product([(x.inputs[0], 1), (turned, 1)], [x.inputs[0], turned]))


@rewrites(
    diagonal,
    OPS["diagonal_of"],
    example=lambda A, B: diagonal(matmul(A, B)),
    more=[lambda A, B: OPS["diagonal_of"](matmul(A, B))],
    types={"A": SQUARE, "B": SQUARE},
    saves_work=True,
)
def diagonal_of_product(node: Node, engine: Engine) -> Node | None:
    """The diagonal of A·B is that of row by column sums, without the product."""
    x = node.inputs[0]
    if x.op is not MATMUL or x.type.ndim != 2 or node.attrs.get("offset", 0) != 0 or not is_square(x):
        return None
    turned = transposed(engine, x.inputs[1])
    return engine.call(red.sum, engine.product([(x.inputs[0], 1), (turned, 1)], [x.inputs[0], turned]), axis=1)


@rewrites(red.sum, example=lambda A, B: red.sum(matmul(A, B)), types={"A": SQUARE, "B": TALL}, saves_work=True)
def sum_of_matrix_product(node: Node, engine: Engine) -> Node | None:
    """Σᵢⱼ(A·B)ᵢⱼ is the product of the column sums of A with the row sums of B."""
    x = node.inputs[0]
    if x.op is not MATMUL or x.type.ndim != 2 or len(node.attrs["axis"]) != 2:
        return None
    if 1 in x.type.shape:
        return None
    columns, rows = engine.call(red.sum, x.inputs[0], axis=0), engine.call(red.sum, x.inputs[1], axis=1)
    return engine.call(red.sum, engine.product([(columns, 1), (rows, 1)], [columns, rows]))


matrices = Book(
    "matrices",
    inverse_of_inverse, inverse_times, solve_with_triangle, solve_positive_definite, inverse_of_diagonal,
    cholesky_of_square, cholesky_of_diagonal, cholesky_of_multiple, log_of_determinant, log_of_positive_determinant,
    log_determinant, determinant_of_triangle, product_with_diagonal, association, trace_of_product, diagonal_of_product,
    sum_of_matrix_product,
)  # fmt: skip
