"""Chains of small blocks: the factor of a block tridiagonal matrix, solutions with it, and its determinant.

All go along the chain step by step, and in each step column by column: loops of vector arithmetic, which XLA folds
into one short program on CPU. Written out entry by entry they compile for ten times as long and run no faster; taken
out of the loop, for all steps at once, the arithmetic of one column is copied into the next by the compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.core.derivatives import moves_there
from ppl.tensor.core.later import jsl
from ppl.tensor.core.ops import TensorOp, unify
from ppl.tensor.tensor import Tensor, TensorType
from ppl.xla.later import custom_jvp, jnp, lax

BY_COLUMNS = 12  # columns of a block; beyond, the library's routines are faster on CPU
WRITTEN_OUT = 2  # columns, up to which a loop over them costs more than it saves


def _recurrence(ratio: Any, h: Any, reverse: bool) -> Any:
    """x_t = h_t + r_t x, x that of the step before (or after it, where `reverse`): a multiplication and an addition are
    all that a step waits for."""

    def step(before: Any, given: Any) -> tuple[Any, Any]:
        r, h = given
        x = h + r * before
        return x, x

    return lax.scan(step, jnp.zeros_like(h[0]), (ratio, h), reverse=reverse)[1]


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _linear(ratio: Any, h: Any, reverse: bool) -> Any:
    """The same with derivatives that are such recurrences; what no step waits for is done for all at once."""
    return _recurrence(ratio, h, reverse)


@_linear.defjvp
def _linear_moved(reverse: bool, given: Any, moves: Any) -> Any:
    (ratio, h), (dr, dh) = given, moves
    x = _linear(ratio, h, reverse)
    return x, _recurrence(ratio, dh + dr * _shifted(x, 0.0, reverse), reverse)


def _shifted(x: Any, first: float, reverse: bool = False) -> Any:
    """The entries of the step before (after), and `first` where there is none."""
    none = jnp.full_like(x[:1], first)
    return jnp.concatenate([x[1:], none] if reverse else [none, x[:-1]])


@custom_jvp
def _pivots(diagonal: Any, squares: Any) -> Any:
    """d_t = a_t - s_t / d_{t-1}, the squares of the diagonal of the factor of a matrix with a on its diagonal and √s
    beside it."""

    def step(before: Any, given: Any) -> tuple[Any, Any]:
        a, s = given
        d = a - s / before
        return d, d

    return lax.scan(step, jnp.ones_like(diagonal[0]), (diagonal, squares))[1]


@_pivots.defjvp
def _pivots_moved(given: Any, moves: Any) -> Any:
    (diagonal, squares), (da, ds) = given, moves
    d = _pivots(diagonal, squares)
    before = _shifted(d, 1.0)
    return d, _recurrence(squares / before**2, da - ds / before, False)


def _factor_of_numbers(diagonal: Any, below: Any) -> tuple[Any, Any]:
    """The factor of a chain of blocks of one number."""
    lower = jnp.sqrt(_pivots(diagonal, below**2))
    return lower, below / _shifted(lower, 1.0)


def _substitution_of_numbers(lower: Any, links: Any, h: Any, reverse: bool) -> Any:
    """For blocks of one number; `links` are those of this step, or of the next where `reverse`."""
    return _linear(-links / lower, h / lower, reverse)


class _ChainFactor(TensorOp):
    r"""L (T, k, k) and C (T, k, k) of M = 𝓛 𝓛', 𝓛 lower block bidiagonal with L_t on its diagonal and C_t between t
    (rows) and t - 1 (columns), for M with the blocks `diagonal` (T, k, k), of which the lower triangles count, and
    B_t = `below[t]` (T, k, k); `below[0]` must be zero:

        L_t L_t' = D_t - C_t C_t',    C_t = B_t L'_{t-1}⁻¹
    """

    def __call__(self, diagonal: Any, below: Any, *, name: str | None = None) -> Any:
        return self.build(unify((diagonal, below), to_float=True), {}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        diagonal, below = (node.type for node in inputs)
        if diagonal.ndim != 3 or below.shape != diagonal.shape or diagonal.shape[1] != diagonal.shape[2]:
            raise ValueError(
                f"{self.name}: the blocks on the diagonal and below it are two stacks (T, k, k), got the shapes"
                f" {diagonal.shape} and {below.shape}"
            )
        return TupleType((TensorType(diagonal.dtype, diagonal.shape),) * 2)


def _chain_factor(diagonal: Any, below: Any) -> tuple[Any, Any]:
    k = diagonal.shape[-1]

    def along(step: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        def factor(diagonal: Any, below: Any) -> tuple[Any, Any]:
            def one(before: Any, blocks: Any) -> Any:
                found = step(before, blocks)
                return found[0], found

            found: tuple[Any, Any] = lax.scan(one, jnp.eye(k, dtype=diagonal.dtype), (diagonal, below))[1]
            return found

        return factor

    def by_library(before: Any, blocks: Any) -> tuple[Any, Any]:
        d, b = blocks
        c = jsl.solve_triangular(before, b.T, lower=True).T
        return jnp.linalg.cholesky(d - c @ c.T), c

    def by_columns(written_out: bool) -> Callable[[Any, Any], tuple[Any, Any]]:
        at = jnp.arange(k)

        def link(before: Any, j: Any, found: Any) -> Any:
            b, c, d = found  # what is left of B and of D, and the columns of C so far
            column = b[:, j] / before[j, j]
            return b - _outer(column, before[:, j]), jnp.where(at == j, column[:, None], c), d - _outer(column, column)

        def own(j: Any, found: Any) -> Any:
            d, lower = found
            column = jnp.where(at >= j, d[:, j] / jnp.sqrt(d[j, j]), 0.0)
            return d - _outer(column, column), jnp.where(at == j, column[:, None], lower)

        def step(before: Any, blocks: Any) -> tuple[Any, Any]:
            d, b = blocks
            zero = jnp.zeros_like(d)
            _, c, d = _columns(k, lambda j, found: link(before, j, found), (b, zero, d), written_out)
            return _columns(k, own, (d, zero), written_out)[1], c

        return step

    if k == 1:
        return _factor_of_numbers(diagonal, below)
    if k > BY_COLUMNS:
        return along(by_library)(diagonal, below)
    return _by_platform(k, lambda written_out: along(by_columns(written_out)), diagonal, below)


def _outer(x: Any, y: Any) -> Any:
    return x[:, None] * y[None, :]


def _columns(k: int, one: Callable[[Any, Any], Any], start: Any, written_out: bool) -> Any:
    """The state after every one of k columns."""
    return lax.fori_loop(0, k, one, start, unroll=written_out)


def _by_platform(k: int, make: Callable[[bool], Callable[..., Any]], *given: Any) -> Any:
    """Columns in a loop on CPU, where it is folded; written out elsewhere, where every round is a launch of its own."""
    if k <= WRITTEN_OUT:
        return make(True)(*given)
    return lax.platform_dependent(*given, cpu=make(False), default=make(True))


class _ChainSubstitution(TensorOp):
    """𝓛⁻¹ h, or 𝓛'⁻¹ h where `reverse`, for h (T, k, ...) and L = `lower`, C = `links` of `chain_factor`:

    x_t = L_t⁻¹ (h_t - C_t x_{t-1}),    x_t = L'_t⁻¹ (h_t - C'_{t+1} x_{t+1})
    """

    def __call__(self, lower: Any, links: Any, h: Any, reverse: bool = False, *, name: str | None = None) -> Tensor:
        return self.build(unify((lower, links, h), to_float=True), {"reverse": bool(reverse)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        lower, links, h = (node.type for node in inputs)
        if lower.ndim != 3 or links.shape != lower.shape or h.ndim < 2 or h.shape[:2] != lower.shape[:2]:
            raise ValueError(
                f"{self.name}: two stacks of blocks (T, k, k) go with a right-hand side (T, k, ...), got the shapes"
                f" {lower.shape}, {links.shape} and {h.shape}"
            )
        return TensorType(h.dtype, h.shape)


def _chain_substitution(lower: Any, links: Any, h: Any, *, reverse: bool) -> Any:
    """On CPU in order; elsewhere by composing the steps pairwise, in log T rounds instead of T."""
    k = lower.shape[-1]
    if reverse:
        links = jnp.swapaxes(jnp.concatenate([links[1:], jnp.zeros_like(links[:1])]), 1, 2)
    at = jnp.arange(k)[:, None]

    def in_order(lower: Any, links: Any, right: Any) -> Any:
        if k == 1:
            return _substitution_of_numbers(lower, links, right, reverse)

        def one(own: Any, i: Any, left: Any) -> Any:
            j = k - 1 - i if reverse else i
            x = left[j] / own[j, j]
            column, still = (own[j], at < j) if reverse else (own[:, j], at > j)
            return jnp.where(at == j, x, jnp.where(still, left - _outer(column, x), left))

        def step(x: Any, given: Any) -> Any:
            own, link, h = given
            left = h - jnp.sum(link[:, :, None] * x[None], axis=1)
            x = _columns(k, lambda i, left: one(own, i, left), left, k <= WRITTEN_OUT)
            return x, x

        return lax.scan(step, jnp.zeros_like(right[0]), (lower, links, right), reverse=reverse)[1]

    def pairwise(lower: Any, links: Any, right: Any) -> Any:
        solve = lambda x: jsl.solve_triangular(lower, x, lower=True, trans=int(reverse))
        compose = lambda first, then: (then[0] @ first[0], then[0] @ first[1] + then[1])
        return lax.associative_scan(compose, (-solve(links), solve(right)), reverse=reverse)[1]

    flat = h.reshape((*h.shape[:2], -1))
    return lax.platform_dependent(lower, links, flat, cpu=in_order, default=pairwise).reshape(h.shape)


class _ChainSolution(TensorOp):
    """M⁻¹ H and log |M| for H = `right` (T, k, n) and M as `chain_factor` takes it, with symmetric blocks D_t.

    Its derivatives are those of the functions, not of the loops that compute them: d log|M| = tr(M⁻¹ dM), for which
    the blocks of M⁻¹ near its diagonal come with the solution, and dx = M⁻¹ (dh - dM x); none of x where it is `still`,
    as where `at_optimum` holds it.
    """

    def __call__(self, diagonal: Any, below: Any, right: Any, still: bool = False, *, name: str | None = None) -> Any:
        return self.build(unify((diagonal, below, right), to_float=True), {"still": bool(still)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TupleType:
        _check_blocks(self.name, *(node.type for node in inputs))
        right = inputs[2].type
        return TupleType((TensorType(right.dtype, right.shape), TensorType(right.dtype, ())))


def _check_blocks(name: str, diagonal: Any, below: Any, right: Any) -> None:
    square = diagonal.ndim == 3 and diagonal.shape[1] == diagonal.shape[2] and below.shape == diagonal.shape
    if not square or right.ndim != 3 or right.shape[:2] != diagonal.shape[:2]:
        raise ValueError(
            f"{name}: two stacks of blocks (T, k, k) go with a right-hand side (T, k, n), got the shapes"
            f" {diagonal.shape}, {below.shape} and {right.shape}"
        )


class _Solved(NamedTuple):
    solution: Any  # (T, k, n)
    log_det: Any
    inverses: Any  # S_t⁻¹
    gains: Any  # G_t
    covariance: Any  # the blocks (t, t) of M⁻¹
    before: Any  # its blocks (t, t - 1)


def _solved(diagonal: Any, below: Any, right: Any) -> _Solved:
    r"""Forwards in time what is left of M and H where the past is eliminated, backwards the solution and M⁻¹:

    S_t = D_t - G_t B_t',    y_t = h_t - G_t y_{t-1},    G_t = B_t S_{t-1}⁻¹,    log |M| = Σ log |S_t|
    x_{t-1} = S_{t-1}⁻¹ y_{t-1} - G_t' x_t,    Σ_{t,t-1} = -Σ_{t,t} G_t,    Σ_{t-1,t-1} = S_{t-1}⁻¹ - G_t' Σ_{t,t-1}
    """
    zero = jnp.zeros_like(diagonal[0])

    def forwards(before: Any, given: Any) -> Any:
        inverse, y = before
        d, b, h = given
        gain = _times(b, inverse)
        inverse, pivots = _inverse(d - _times(gain, b.T))
        y = h - _times(gain, y)
        return (inverse, y), (inverse, gain, _times(inverse, y), pivots)

    def backwards(after: Any, given: Any) -> Any:
        x, covariance, gain = after
        inverse, own, alone = given
        back, across = gain.T, -_times(covariance, gain)
        x, covariance = alone - _times(back, x), inverse - _times(back, across)
        return (x, covariance, own), (x, covariance, across)

    nothing = jnp.zeros_like(right[0])
    _, (inverses, gains, alone, pivots) = lax.scan(forwards, (zero, nothing), (diagonal, below, right))
    _, (x, covariance, after) = lax.scan(backwards, (nothing, zero, zero), (inverses, gains, alone), reverse=True)
    before = jnp.concatenate([zero[None], after[:-1]])
    return _Solved(x, jnp.sum(jnp.log(pivots)), inverses, gains, covariance, before)


def _times(a: Any, b: Any) -> Any:
    """A product of small matrices, as arithmetic that a loop can be folded with."""
    return jnp.sum(a[:, :, None] * b[None], axis=1) if a.shape[0] <= BY_COLUMNS else a @ b


def _inverse(matrix: Any) -> tuple[Any, Any]:
    """S⁻¹ for a positive definite S, and pivots of which the product is |S|: S is swept column by column to -S⁻¹."""
    k = matrix.shape[-1]
    if k > BY_COLUMNS:
        lower = jnp.linalg.cholesky(matrix)
        whitened = jsl.solve_triangular(lower, jnp.eye(k, dtype=matrix.dtype), lower=True)
        return whitened.T @ whitened, jnp.diagonal(lower) ** 2
    at = jnp.arange(k)

    def sweep(j: Any, found: Any) -> Any:
        s, pivots = found
        column, here = s[:, j], at == j
        pivot = column[j]
        scaled = jnp.where(here, -1.0, column) / pivot
        kept = jnp.where(here[:, None], scaled[None], s - _outer(column, scaled))
        return jnp.where(here[None], scaled[:, None], kept), jnp.where(here, pivot, pivots)

    start = matrix, jnp.zeros_like(matrix[0])
    swept, pivots = _by_platform(k, lambda written_out: lambda *x: _columns(k, sweep, x, written_out), *start)
    return -swept, pivots


@functools.partial(custom_jvp, nondiff_argnums=(3,))
def _chain_solution(diagonal: Any, below: Any, right: Any, still: bool) -> tuple[Any, Any]:
    found = _solved(diagonal, below, right)
    return found.solution, found.log_det


@_chain_solution.defjvp
def _moved(still: bool, given: Any, moves: Any) -> Any:
    found = _solved(*given)
    d, b, h = moves
    x = found.solution
    log_det = jnp.sum(found.covariance * d) + 2.0 * jnp.sum(found.before * b)
    if still:
        return (moves_there(x), found.log_det), (jnp.zeros_like(x), log_det)
    back = jnp.swapaxes(b, 1, 2)
    shift = jnp.zeros_like(x[:1])
    there = d @ x + jnp.concatenate([shift, b[1:] @ x[:-1]]) + jnp.concatenate([back[1:] @ x[1:], shift])
    y = _pass(found.gains, h - there, reverse=False)
    after = jnp.concatenate([found.gains[1:], jnp.zeros_like(found.gains[:1])])
    moved = _pass(jnp.swapaxes(after, 1, 2), found.inverses @ y, reverse=True)
    return (x, found.log_det), (moved, log_det)


def _pass(links: Any, h: Any, reverse: bool) -> Any:
    """x_t = h_t - C_t x, x that of the step before."""

    def step(x: Any, given: Any) -> Any:
        link, h = given
        x = h - link @ x
        return x, x

    return lax.scan(step, jnp.zeros_like(h[0]), (links, h), reverse=reverse)[1]


class _ChainPath(TensorOp):
    """M⁻¹ H + 𝓛'⁻¹ Z for H = `right` and Z = `noise` (T, k, n) and M = 𝓛 𝓛' as `chain_factor` takes it: draws of mean
    M⁻¹ H and precision M where Z is standard normal."""

    def __call__(self, diagonal: Any, below: Any, right: Any, noise: Any, *, name: str | None = None) -> Tensor:
        return self.build(unify((diagonal, below, right, noise), to_float=True), {}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        diagonal, below, right, noise = (node.type for node in inputs)
        _check_blocks(self.name, diagonal, below, right)
        if noise.shape != right.shape:
            raise ValueError(f"{self.name}: there is one noise for each entry of {right.shape}, got {noise.shape}")
        return TensorType(right.dtype, right.shape)


def _chain_path(diagonal: Any, below: Any, right: Any, noise: Any) -> Any:
    """𝓛'⁻¹ (𝓛⁻¹ H + Z): once along the chain and once back."""
    zero, nothing = jnp.zeros_like(diagonal[0]), jnp.zeros_like(right[0])

    def forwards(before: Any, given: Any) -> Any:
        inverse, y = before
        d, b, h, z = given
        link = _times(b, inverse.T)
        inverse = _inverse_factor(d - _times(link, link.T))
        y = _times(inverse, h - _times(link, y))
        return (inverse, y), (inverse, link, y + z)

    def backwards(after: Any, given: Any) -> Any:
        x, link = after
        inverse, own, y = given
        x = _times(inverse.T, y - _times(link.T, x))
        return (x, own), x

    passed = lax.scan(forwards, (zero, nothing), (diagonal, below, right, noise))[1]
    return lax.scan(backwards, (nothing, zero), passed, reverse=True)[1]


def _inverse_factor(matrix: Any) -> Any:
    """L⁻¹ for a matrix L L': rows of (M, 1) are eliminated."""
    k = matrix.shape[-1]
    one = jnp.eye(k, dtype=matrix.dtype)
    if k > BY_COLUMNS:
        return jsl.solve_triangular(jnp.linalg.cholesky(matrix), one, lower=True)
    at = jnp.arange(k)

    def eliminate(j: Any, rows: Any) -> Any:
        return rows - _outer(jnp.where(at > j, rows[:, j] / rows[j, j], 0.0), rows[j])

    rows = jnp.concatenate([matrix, one], axis=1)
    rows = _by_platform(k, lambda written_out: lambda x: _columns(k, eliminate, x, written_out), rows)
    return rows[:, k:] / jnp.sqrt(jnp.sum(rows[:, :k] * one, axis=1))[:, None]


chain_factor = _ChainFactor("chain_factor", _chain_factor)
chain_substitution = _ChainSubstitution("chain_substitution", _chain_substitution)
chain_solution = _ChainSolution(
    "chain_solution", lambda diagonal, below, right, *, still: _chain_solution(diagonal, below, right, still)
)
chain_path = _ChainPath("chain_path", _chain_path)
