"""Chains of small blocks: the factor of a block tridiagonal matrix, and solutions with it.

Both go along the chain step by step, and in each step column by column: loops of vector arithmetic, which XLA folds
into one short program on CPU. Written out entry by entry they compile for ten times as long and run no faster; taken
out of the loop, for all steps at once, the arithmetic of one column is copied into the next by the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from ppl.graph import Attrs, Node, TupleType
from ppl.tensor.later import jsl
from ppl.tensor.ops import TensorOp, unify
from ppl.tensor.tensor import Tensor, TensorType

BY_COLUMNS = 12  # columns of a block; beyond, the library's routines are faster on CPU
WRITTEN_OUT = 2  # columns, up to which a loop over them costs more than it saves


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


chain_factor = _ChainFactor("chain_factor", _chain_factor)
chain_substitution = _ChainSubstitution("chain_substitution", _chain_substitution)
