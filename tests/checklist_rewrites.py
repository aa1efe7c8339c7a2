"""The forty rewrites most worth having: an expression for each, and what becomes of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.rewrites import assume

x, y, a, b, c, d = tt.dscalars("x", "y", "a", "b", "c", "d")
v, w = tt.dvector("v"), tt.dvector("w")
r = tt.tensor("r", "float64", (5,))
A, B = (tt.tensor(name, "float64", (4, 4)) for name in "AB")
q = tt.tensor("q", "float64", (4,))
pos, fin = assume(tt.dscalar("pos"), positive=True), assume(tt.dscalar("fin"), finite=True)
prob = assume(tt.dscalar("prob"), probability=True)
spd = assume(tt.tensor("S", "float64", (4, 4)), positive_definite=True)
posv = assume(tt.dvector("posv"), positive=True)


class Item(NamedTuple):
    """One row: what is asked, an expression and its simplest form as text, or why there is none and what tests it."""

    number: int
    title: str
    before: Any
    after: str
    note: str = ""
    test: str = ""


CHECKLIST = [
    Item(1, "f(a), f(a) → one node", tt.exp(x) - 1.0 * tt.exp(x) + tt.sin(x), "0 * exp(x) + sin(x)",
         "nodes are hash-consed"),
    Item(2, "op(consts) → const", x + tt.exp(tt.as_tensor(0.0)), "x + 1"),
    Item(3, "reshape and transpose chains", A.T.T.reshape((16,)).reshape((4, 4)), "A"),
    Item(4, "f(alloc(c, shape), y) → f(c, y)", tt.exp(v) * tt.full(v.shape, 2.0), "2 * exp(v)"),
    Item(5, "shape(f(x, y)) without computing f", tt.exp(v).shape[0], "dim(v, axis=0)"),
    Item(6, "cast(cast(x, a), b) → cast(x, b) when lossless", tt.cast(tt.cast(tt.fvector("f"), "float64"),
         "float32"), "f"),
    Item(7, "useless and mergeable switches", tt.switch(x > 0, y, y) + tt.switch(True, a, b), "y + a"),
    Item(8, "mul(x, switch(c, 0, y)) → switch(c, 0, x·y)", fin * tt.switch(x > 0, 0.0, y),
         "switch(x > 0, 0, y * fin)",
         "for finite x; for others only with unsafe=True"),
    Item(9, "x+0, x*1, x**1, x**0, 0*x, 0/x", (fin + 0) * 1 + 0 * fin + 0 / pos + fin**0, "fin + 1"),
    Item(10, "(a·b)/(b·c) → a/c; (x+s)-s → x", (a * pos) / (pos * c) + (x + fin) - fin, "x + a / c"),
    Item(11, "-(-x), -a/-b, x-(-y)", tt.negative(-x) - (-1) * (-a / -b), "x + a / b"),
    Item(12, "x·x → square; x**16 → 4 squarings", x**16, "square(square(square(square(x))))"),
    Item(13, "distributivity where it removes operations", 2 * (fin + y) - 2 * fin, "2 * y",
         "numbers only; products of tensors stay"),
    Item(14, "abs of products; x/abs(x) → sign(x)", tt.abs(x * tt.exp(y)), "abs(x) * exp(y)"),
    Item(15, "comparisons with facts", tt.switch(tt.exp(x) >= -1.0, tt.maximum(fin, fin), y),
         "switch(exp(x) >= -1, fin, y)",
         "exp(x) may be nan, so the comparison stays; it is decided for finite x"),
    Item(16,
         "log(exp x), exp(log x), sqrt(square x)", tt.log(tt.exp(x)) + tt.exp(tt.log(pos)) + tt.sqrt(x**2),
         "x + abs(x) + pos"),
    Item(17, "exp x · exp y; a**x · a**y", tt.exp(x) * tt.exp(y) + pos**a * pos**b, "exp(x + y) + power(pos, a + b)"),
    Item(18, "log(sqrt x); log(prod x)", tt.log(tt.sqrt(x)) + tt.log(tt.prod(posv)), "0.5 * log(x) + sum(log(posv))"),
    Item(19, "log(1+x) → log1p; exp(x)-1 → expm1", tt.log(1 + x) + (tt.exp(y) - 1), "log1p(x) + expm1(y)"),
    Item(20, "log(1±exp x)", tt.log(1 + tt.exp(x)) + tt.log(1 - tt.exp(y)), "softplus(x) + log1mexp(y)"),
    Item(21, "log(sum exp x), log(exp x + exp y)", tt.log(tt.sum(tt.exp(v))) + tt.log(tt.exp(x) + tt.exp(y)),
         "logaddexp(x, y) + logsumexp(v, axis=(0,))"),
    Item(22, "log(exp x - exp y)", tt.log(tt.exp(x) - tt.exp(y)), "log_exp_difference(x, y)"),
    Item(23, "logistic forms", tt.exp(x) / (1 + tt.exp(x)) + 1 / (1 + tt.exp(y)), "sigmoid(x) + sigmoid(-y)"),
    Item(24, "log(sigmoid x), log(1 - sigmoid x)", tt.log(tt.sigmoid(x)) + tt.log(1 - tt.sigmoid(y)),
         "-(softplus(-x) + softplus(y))"),
    Item(25, "logit(sigmoid x) and inverse", tt.logit(tt.sigmoid(x)) + tt.sigmoid(tt.logit(prob)), "x + prob"),
    Item(26, "log(softmax x)", tt.log(tt.softmax(v)), "log_softmax(v, axis=(0,))"),
    Item(27, "1-erf → erfc; log(erfc x)", tt.log(1 - tt.erf(x)), "log_ndtr((-1.41421) * x) + 0.693147"),
    Item(28, "log of Bessel functions times exp", tt.log(tt.kve(x, pos) * tt.exp(-pos)), "log_kve(x, pos) - pos",
         "log(kv(x, y)) and log(i0(x)) too"),
    Item(29, "sum(a·X), sum(-X), sum(sum X)", tt.sum(x * tt.exp(v)) + tt.sum(tt.sum(-A, axis=0)),
         "x * sum(exp(v)) - sum(A)"),
    Item(30, "sum(alloc(c, n)) → c·n", tt.sum(tt.broadcast_to(x, (7,))), "7 * x"),
    Item(31, "sum of squares over an outer broadcast → dot", tt.sum((q * A) ** 2),
         "sum(sum(square(A), axis=(0,)) * square(q))",
         "for data A the inner sum is done once"),
    Item(32, "x[a:b][c:d]; set(x, y, i)[i]", r[1:][1:3], "r[2:4]"),
    Item(33, "f(x, y)[i] → f(x[i], y[i]); dot(A, B)[i]", tt.exp(r)[2] + (A @ B)[1][0],
         "exp(r[2]) + (A[1:2, :] @ B)[0, 0]"),
    Item(34, "draws with indices", None, "",
         "a measure, not a value: pm.logp(Normal(mu, s)[2], y) is that of Normal(mu[2], s[2])",
         "test_rewrites_checklist.py::test_rows_that_are_no_expression"),
    Item(35, "inv(A)@b → solve; by structure", tt.inv(A) @ q,
         "squeeze(solve_general(A, expand_dims(q, axis=(1,))), axis=(1,))"),
    Item(36, "cholesky(L·Lᵀ), inverses of diagonals", tt.cholesky(tt.cholesky(spd) @ tt.cholesky(spd).T),
         "cholesky(S, lower=True)"),
    Item(37, "log∣det∣ by structure", tt.slogdet(spd)[1], "2 * sum(log(diagonal_of(cholesky(S, lower=True))))"),
    Item(38, "through blocks and Kronecker products", tt.inv(tt.kron(A, B)), "kron(inv(A), inv(B))"),
    Item(39, "hoisting out of loops, products of their rows, merging loops, only the rows in use", None, "",
         "work that no step changes leaves a loop; work on sequences alone is done for all steps at once, W·e"
         " as one stack of products; loops of one length are one; the last row of a state is its last value",
         "test_rewrites_loops.py"),
    Item(40, "fusion", None, "", "left to XLA", "none: XLA's own"),
]  # fmt: skip

data = tt.as_tensor(np.arange(4.0))
wide = tt.tensor("X", "float64", (4, 6))

# What PyTensor 2.38 leaves as it is, measured in JAX mode with all its rewriting.
HOLES = [
    Item(1, "SymJAX's own example", tt.log(tt.exp(x) * tt.exp(4 + x)), "2 * x + 4"),
    Item(2, "like terms", (x + x + x) + (2 * y + 3 * y) + (a * b + a * b), "3 * x + 5 * y + 2 * a * b"),
    Item(3, "log(2·exp x), log(s·exp x)", tt.log(2 * tt.exp(x)) + tt.log(pos * tt.exp(y)),
         "x + y + log(pos) + 0.693147"),
    Item(4, "log(x²), log(x³), exp(2 log x)", tt.log(pos**2) + tt.log(x**3) + tt.exp(2 * tt.log(pos)),
         "3 * log(x) + 2 * log(pos) + square(pos)"),
    Item(5, "log Γ(x+1) - log Γ(x)", tt.gammaln(pos + 1) - tt.gammaln(pos), "log(pos)"),
    Item(6, "sin² + cos²", tt.sin(fin) ** 2 + tt.cos(fin) ** 2, "1"),
    Item(7, "sum of c + f(x) over N points", tt.sum(c + tt.exp(q)), "4 * c + sum(exp(q))"),
    Item(8, "the log-density of N normal data", tt.sum(-0.5 * ((data - x) / pos) ** 2 - tt.log(pos)),
         "-(4 * log(pos) + 0.5 * (4 * square(x - 1.5) + 5) / square(pos))",
         "by sufficient statistics"),
    Item(9, "(A·B)·x", (A @ B) @ q, "squeeze(A @ (B @ expand_dims(q, axis=(1,))), axis=(1,))"),
    Item(10, "the trace of A·B", tt.trace(A @ B), "sum(A * transpose(B, axes=(1, 0)))"),
    Item(11, "the sum of A·B", tt.sum(A @ B), "sum(sum(A, axis=(0,)) * sum(B, axis=(1,)))"),
    Item(12, "log∣det(A·Aᵀ)∣", tt.log(tt.abs(tt.det(A @ A.T))), "2 * slogdet(A).1"),
    Item(13, "the same, known to be positive definite",
         tt.slogdet(assume(wide @ wide.T, positive_definite=True))[1],
         "2 * sum(log(diagonal_of(cholesky(X @ transpose(X, axes=(1, 0)), lower=True))))"),
]  # fmt: skip
