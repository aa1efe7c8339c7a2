"""The forty rewrites most worth having: expressions for each, and what becomes of them."""

# ruff: noqa: E501  (an expression stands beside its simplest form)

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
nonz = assume(tt.dscalar("nonz"), nonzero=True)
row, tall = tt.tensor("row", "float64", (1, 5)), tt.tensor("C", "float64", (8, 3))
GRADIENTS = "test_rewrites_checklist.py::test_gradients_of_stable_forms_have_digits_far_out"
DENSITIES = "test_rewrites_checklist.py::test_densities_that_pytensor_has_not"
PARITY = "test_logprob.py::test_densities_are_those_of_pymc"


class Item(NamedTuple):
    """One row: what is asked, expressions that ask it with their simplest forms; or, where none can, what tests it."""

    number: int
    title: str
    forms: tuple[tuple[Any, str], ...] = ()
    note: str = ""
    tests: tuple[str, ...] = ()


def item(number: int, title: str, *forms: tuple[Any, str], note: str = "", tests: tuple[str, ...] = ()) -> Item:
    return Item(number, title, forms, note, tests)


cond = x > 0
CHECKLIST = [
    item(1, "f(a), f(a) → one node",
         (tt.exp(x) - 1.0 * tt.exp(x) + tt.sin(x), "0 * exp(x) + sin(x)"),
         (tt.exp(x + y) + 2 * tt.exp(y + x), "3 * exp(x + y)"),
         note="nodes are hash-consed"),
    item(2, "op(consts) → const",
         (x + tt.exp(tt.as_tensor(0.0)), "x + 1")),
    item(3, "reshape and transpose chains",
         (A.T.T.reshape((16,)).reshape((2, 8)), "reshape(A, shape=(2, 8))"),
         (A.T.T, "A"),
         (q.reshape((4, 1)).reshape((4,)), "q")),
    item(4, "f(alloc(c, shape), y) → f(c, y)",
         (tt.exp(v) * tt.full(v.shape, 2.0), "2 * exp(v)")),
    item(5, "shape(f(x, y)) without computing f",
         (tt.exp(v).shape[0], "dim(v, axis=0)")),
    item(6, "cast(cast(x, a), b) → cast(x, b) when lossless",
         (tt.cast(tt.cast(tt.fvector("f"), "float64"), "float32"), "f")),
    item(7, "useless and mergeable switches",
         (tt.switch(x > 0, y, y), "y"),
         (tt.switch(True, a, b), "a"),
         (tt.switch(cond, a, b) + tt.switch(cond, c, d), "switch(x > 0, a + c, b + d)"),
         (tt.maximum(tt.switch(cond, a, b), tt.switch(cond, c, d)), "switch(x > 0, maximum(a, c), maximum(b, d))")),
    item(8, "x·switch(c, 0, y) → switch(c, 0, x·y)",
         (fin * tt.switch(x > 0, 0.0, y), "switch(x > 0, 0, y * fin)"),
         (tt.switch(x > 0, 0.0, y) / pos, "switch(x > 0, 0, y / pos)"),
         note="for finite factors; for others only with unsafe=True"),
    item(9, "x+0, x·1, x**1, x-0, x**0, 0·x, 0/x",
         (x + 0, "x"),
         (x * 1, "x"),
         (x**1, "x"),
         (x - 0, "x"),
         (x**0, "1"),
         (0 * fin, "0"),
         (0 / pos, "0"),
         (0 * x, "0 * x"),
         note="0·x is 0 only where x is finite, so that no nan is hidden"),
    item(10, "(a·b)/(b·c) → a/c; (x+s)-s → x",
         ((a * pos) / (pos * c), "a / c"),
         ((x + fin) - fin, "x")),
    item(11, "-(-x), -a/-b, x-(-y)",
         (tt.negative(-x), "x"),
         (-a / -b, "a / b"),
         (x - (-y), "x + y")),
    item(12, "squares, roots, whole powers",
         (x * x, "square(x)"),
         (x**2, "square(x)"),
         (x**-0.5, "reciprocal(sqrt(x))"),
         (x**16, "square(square(square(square(x))))")),
    item(13, "distributivity where it removes operations",
         (pos * (y + c / pos), "c + y * pos"),
         (2 * (fin + y) - 2 * fin, "2 * y"),
         (a / b * (c + b * d), "a * (c + b * d) / b"),
         note="the last one takes four operations either way"),
    item(14, "abs of products; x/abs(x) → sign(x)",
         (tt.abs(x * tt.exp(y)), "abs(x) * exp(y)"),
         (nonz / tt.abs(nonz), "sign(nonz)"),
         (pos / tt.abs(pos), "1")),
    item(15, "comparisons with facts",
         (x < x, "False"),
         (tt.maximum(x, x), "x"),
         (v.shape[0] >= 0, "True"),
         (fin <= fin, "True"),
         (pos > -1.0, "True"),
         (tt.exp(x) >= -1.0, "exp(x) >= -1"),
         note="exp(x) may be nan, so the last comparison stays"),
    item(16, "log(exp x), exp(log x), sqrt(square x)",
         (tt.log(tt.exp(x)), "x"),
         (tt.exp(tt.log(pos)), "pos"),
         (tt.sqrt(x**2), "abs(x)"),
         (tt.exp(tt.log(x)), "exp(log(x))"),
         note="the last one is nan for x < 0; it stays, so that log(exp(log x) + exp(y)) is still seen"),
    item(17, "exp x · exp y; a**x · a**y",
         (tt.exp(x) * tt.exp(y), "exp(x + y)"),
         (pos**a * pos**b, "power(pos, a + b)")),
    item(18, "log(sqrt x); log(prod x)",
         (tt.log(tt.sqrt(x)), "0.5 * log(x)"),
         (tt.log(tt.prod(posv)), "sum(log(posv))")),
    item(19, "log(1+x) → log1p; exp(x)-1 → expm1",
         (tt.log(1 + x), "log1p(x)"),
         (tt.exp(y) - 1, "expm1(y)")),
    item(20, "log(1±exp x)",
         (tt.log(1 + tt.exp(x)), "softplus(x)"),
         (tt.log(1 - tt.exp(y)), "log1mexp(y)")),
    item(21, "log(sum exp x), log(exp x + exp y)",
         (tt.log(tt.sum(tt.exp(v))), "logsumexp(v, axis=(0,))"),
         (tt.log(tt.exp(x) + tt.exp(y)), "logaddexp(x, y)")),
    item(22, "log(exp x - exp y)",
         (tt.log(tt.exp(x) - tt.exp(y)), "log_exp_difference(x, y)")),
    item(23, "logistic forms",
         (tt.exp(x) / (1 + tt.exp(x)), "sigmoid(x)"),
         (1 / (1 + tt.exp(y)), "sigmoid(-y)"),
         (1 - tt.sigmoid(x), "sigmoid(-x)")),
    item(24, "log(sigmoid x), log(1 - sigmoid x)",
         (tt.log(tt.sigmoid(x)), "-softplus(-x)"),
         (tt.log(1 - tt.sigmoid(y)), "-softplus(y)")),
    item(25, "logit(sigmoid x) and inverse",
         (tt.logit(tt.sigmoid(x)), "x"),
         (tt.sigmoid(tt.logit(prob)), "prob")),
    item(26, "log(softmax x), and its gradient",
         (tt.log(tt.softmax(v)), "log_softmax(v, axis=(0,))"),
         note="what a derivative is taken of is rewritten first",
         tests=(GRADIENTS,)),
    item(27, "1-erf → erfc; log(erfc x), and its gradient",
         (1 - tt.erf(x), "erfc(x)"),
         (tt.log(tt.erfc(x)), "log_ndtr((-1.41421) * x) + 0.693147"),
         (tt.log(1 - tt.erf(x)), "log_ndtr((-1.41421) * x) + 0.693147"),
         tests=(GRADIENTS,)),
    item(28, "log of Bessel functions times exp",
         (tt.log(tt.kve(x, pos) * tt.exp(-pos)), "log_kve(x, pos) - pos"),
         (tt.log(tt.kv(x, y)), "log_kve(x, y) - y"),
         (tt.log(tt.i0(x)), "log_i0(x)")),
    item(29, "sum(a·X), sum(-X), sum(sum X)",
         (tt.sum(x * tt.exp(v)), "x * sum(exp(v))"),
         (tt.sum(-A), "-sum(A)"),
         (tt.sum(tt.sum(A, axis=0)), "sum(A)")),
    item(30, "sum(alloc(c, n)) → c·n; over an axis of length 1",
         (tt.sum(tt.broadcast_to(x, (7,))), "7 * x"),
         (tt.sum(row, axis=0), "squeeze(row, axis=(0,))")),
    item(31, "sum of squares over an outer broadcast → dot",
         (tt.sum((q * A) ** 2), "sum(sum(square(A), axis=(0,)) * square(q))"),
         note="for data A the inner sum is done once"),
    item(32, "x[a:b][c:d]; set(x, y, i)[i]",
         (r[1:][1:3], "r[2:4]"),
         (tt.set_subtensor(r[1:3], q[:2])[1:3], "q[:2]")),
    item(33, "f(x, y)[i]; dot(A, B)[i]; sums, softmax, joins",
         ((tt.exp(r) + r)[2], "r[2] + exp(r[2])"),
         ((A @ B)[1], "(A[1:2, :] @ B)[0, :]"),
         (tt.sum(A, axis=1)[0], "sum(A[0, :])"),
         (tt.softmax(A, axis=1)[0], "softmax(A[0, :], axis=(0,))"),
         (tt.concatenate([q, r])[1], "q[1]")),
    item(34, "draws with indices, transposed, of a size",
         note="a measure, not a value: pm.logp(Normal(mu, s)[2], y) is that of" " Normal(mu[2], s[2])",
         tests=("test_rewrites_checklist.py::test_rows_that_are_no_expression",)),
    item(35, "inv(A)@b → solve; by structure",
         (tt.inv(A) @ B, "solve_general(A, B)"),
         (tt.inv(spd) @ B, "solve_triangular_op(cholesky(S, lower=True), solve_triangular_op(cholesky(S, lower=True), B, lower=True, unit_diagonal=False, trans=0, b_ndim=2), lower=True, unit_diagonal=False, trans=1, b_ndim=2)"),
         (tt.inv(tt.tril(A)) @ B, "solve_triangular_op(tril(A, k=0), B, lower=True, unit_diagonal=False, trans=0, b_ndim=2)")),
    item(36, "cholesky(L·Lᵀ), inverses, diagonals",
         (tt.cholesky(tt.cholesky(spd) @ tt.cholesky(spd).T), "cholesky(S, lower=True)"),
         (tt.cholesky(tt.diag(posv)), "matrix_of_diagonal(sqrt(posv), k=0)"),
         (tt.inv(tt.inv(A)), "A"),
         (tt.inv(tt.diag(q)), "matrix_of_diagonal(reciprocal(q), k=0)")),
    item(37, "log∣det∣ by structure, or by factors that are there",
         (tt.log(tt.abs(tt.det(A))), "slogdet(A).1"),
         (tt.slogdet(spd)[1], "2 * sum(log(diagonal_of(cholesky(S, lower=True))))"),
         (tt.slogdet(A)[1] + tt.sum(tt.qr(A)[1]), "sum(qr(A, mode='full').1) + sum(log(abs(diagonal_of(qr(A, mode='full').1))))"),
         (tt.det(tt.diag(q)), "prod(q)"),
         (tt.det(tt.block_diag(A, B)), "det(A) * det(B)"),
         (tt.det(tt.kron(A, B)), "square(square(det(A) * det(B)))")),
    item(38, "through blocks and Kronecker products",
         (tt.inv(tt.kron(A, B)), "kron(inv(A), inv(B))"),
         (tt.cholesky(tt.block_diag(spd, spd)), "block_diag_op(cholesky(S, lower=True), cholesky(S, lower=True))"),
         (tt.block_diag(A, B) @ tall, "concatenate(A @ C[:4, :], B @ C[4:, :], axis=0)")),
    item(39, "hoisting out of loops, products of their rows, merging loops, only the rows in use",
         note="work that no step changes leaves a loop; work on sequences alone is done for all steps at once, W·e as one stack" " of products; loops of one length are one; the last row of a state is its last value",
         tests=("test_rewrites_loops.py::test_work_that_is_the_same_in_every_step_is_done_before_the_loop",
                "test_rewrites_loops.py::test_loops_of_one_length_are_one_loop",)),
    item(40, "fusion",
         note="left to XLA, as the list says"),
]  # fmt: skip

data = tt.as_tensor(np.arange(4.0))
wide = tt.tensor("X", "float64", (4, 6))

# What PyTensor 2.38 leaves as it is, measured in JAX mode with all its rewriting.
HOLES = [
    item(1, "SymJAX's own example",
         (tt.log(tt.exp(x) * tt.exp(4 + x)), "2 * x + 4")),
    item(2, "like terms",
         (x + x + x, "3 * x"),
         (2 * x + 3 * x, "5 * x"),
         (x * y + x * y, "2 * x * y")),
    item(3, "log(2·exp x), log(s·exp x)",
         (tt.log(2 * tt.exp(x)), "x + 0.693147"),
         (tt.log(pos * tt.exp(y)), "y + log(pos)")),
    item(4, "log(x²), log(x³), exp(2 log x)",
         (tt.log(pos**2), "2 * log(pos)"),
         (tt.log(x**3), "3 * log(x)"),
         (tt.exp(2 * tt.log(pos)), "square(pos)")),
    item(5, "log Γ(x+1) - log Γ(x)",
         (tt.gammaln(pos + 1) - tt.gammaln(pos), "log(pos)")),
    item(6, "sin² + cos²",
         (tt.sin(fin) ** 2 + tt.cos(fin) ** 2, "1")),
    item(7, "sum of c + f(x) over N points",
         (tt.sum(c + tt.exp(q)), "4 * c + sum(exp(q))")),
    item(8, "the log-density of N normal data",
         (tt.sum(-0.5 * ((data - x) / pos) ** 2 - tt.log(pos)), "-(4 * log(pos) + 0.5 * (4 * square(x - 1.5) + 5) / square(pos))"),
         note="by sufficient statistics"),
    item(9, "re-associated products of matrices",
         ((A @ B) @ q, "squeeze(A @ (B @ expand_dims(q, axis=(1,))), axis=(1,))"),
         (tt.trace(A @ B), "sum(A * transpose(B, axes=(1, 0)))"),
         (tt.sum(A @ B), "sum(sum(A, axis=(0,)) * sum(B, axis=(1,)))"),
         (tt.diagonal(A @ B), "sum(A * transpose(B, axes=(1, 0)), axis=(1,))")),
    item(10, "log∣det(A·Aᵀ)∣",
         (tt.log(tt.abs(tt.det(A @ A.T))), "2 * slogdet(A).1"),
         (tt.slogdet(assume(wide @ wide.T, positive_definite=True))[1], "2 * sum(log(diagonal_of(cholesky(X @ transpose(X, axes=(1, 0)), lower=True))))"),
         note="the second of a wide matrix that is said to have full rank"),
    item(11, "densities of X + Y, X·Y, X/Y, Poisson + Poisson",
         tests=(DENSITIES,),
         note="normal (products: around 0), log-normal, gamma and Poisson draws"),
    item(12, "densities of log(p/(1-p)), of a choice, of a projection of MvNormal",
         tests=(DENSITIES,)),
    item(13, "densities of 2X+1, exp X, abs X, clip, round, X>0, cumsum, max and sum of iid",
         tests=(PARITY,)),
]  # fmt: skip
