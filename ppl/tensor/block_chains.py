"""Chains of small blocks: the factor of a block tridiagonal matrix, and affine recurrences of vectors.

Both go along the chain step by step, in loops whose bodies are plain arithmetic on scalars where blocks are small: one
short program whatever the length, which XLA folds into the loop around it on CPU.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ppl.graph import Attrs, Node
from ppl.tensor.later import jsl
from ppl.tensor.ops import TensorOp, unify
from ppl.tensor.tensor import Tensor, TensorType

UNROLLED = 4  # blocks up to this size are written out entry by entry


class _ChainFactor(TensorOp):
    r"""L (T, k, k) of M = 𝓛 𝓛', 𝓛 lower block bidiagonal with L on its diagonal, for M with the blocks `diagonal`
    (T, k, k) and B_t = `below[t]` (T, k, k) between t (rows) and t - 1 (columns); `below[0]` must be zero:

        L_t L_t' = D_t - C_t C_t',    C_t = B_t L'_{t-1}⁻¹
    """

    def __call__(self, diagonal: Any, below: Any, *, name: str | None = None) -> Tensor:
        return self.build(unify((diagonal, below), to_float=True), {}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        diagonal, below = (node.type for node in inputs)
        if diagonal.ndim != 3 or below.shape != diagonal.shape or diagonal.shape[1] != diagonal.shape[2]:
            raise ValueError(
                f"{self.name}: the blocks on the diagonal and below it are two stacks (T, k, k), got the shapes"
                f" {diagonal.shape} and {below.shape}"
            )
        return TensorType(diagonal.dtype, diagonal.shape)


def _chain_factor(diagonal: Any, below: Any) -> Any:
    k = diagonal.shape[-1]
    if k > UNROLLED:

        def step(before: Any, blocks: Any) -> Any:
            d, b = blocks
            c = jsl.solve_triangular(before, b.T, lower=True)
            own = jnp.linalg.cholesky(d - c.T @ c)
            return own, own

        return lax.scan(step, jnp.eye(k, dtype=diagonal.dtype), (diagonal, below))[1]

    def by_entries(before: Any, blocks: Any) -> Any:
        d, b = blocks
        c = [_forward(before, row) for row in b]
        own: list[list[Any]] = []
        for i in range(k):
            own.append([])
            for j in range(i + 1):
                rest = d[i][j] - sum(x * y for x, y in zip(c[i], c[j], strict=True))
                rest = rest - sum(own[i][m] * own[j][m] for m in range(j))
                own[i].append(jnp.sqrt(rest) if i == j else rest / own[j][j])
        return own, own

    one, zero = jnp.ones((), diagonal.dtype), jnp.zeros((), diagonal.dtype)
    start = [[one if i == j else zero for j in range(i + 1)] for i in range(k)]
    entries = [[[x[:, i, j] for j in range(k)] for i in range(k)] for x in (diagonal, below)]
    lower = lax.scan(by_entries, start, entries)[1]
    nothing = jnp.zeros(diagonal.shape[:1], diagonal.dtype)
    return jnp.stack([jnp.stack([*row, *[nothing] * (k - len(row))], axis=-1) for row in lower], axis=-2)


def _forward(lower: Any, h: Any) -> list[Any]:
    """L⁻¹ h, by entries."""
    found: list[Any] = []
    for row, x in zip(lower, h, strict=True):
        found.append((x - sum(a * b for a, b in zip(row, found, strict=False))) / row[-1])
    return found


class _AffineRecurrence(TensorOp):
    """x_t = A_t x_{t-1} + b_t from zero on, for `maps` A (T, k, k) and `shifts` b (T, k, ...); backwards in time,
    x_t = A_t x_{t+1} + b_t, where `reverse`."""

    def __call__(self, maps: Any, shifts: Any, reverse: bool = False, *, name: str | None = None) -> Tensor:
        return self.build(unify((maps, shifts), to_float=True), {"reverse": bool(reverse)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        maps, shifts = (node.type for node in inputs)
        if maps.ndim != 3 or shifts.ndim < 2 or shifts.shape[:2] != maps.shape[:2] or maps.shape[1] != maps.shape[2]:
            raise ValueError(
                f"{self.name}: maps of shape (T, k, k) go with shifts of shape (T, k, ...), got the shapes"
                f" {maps.shape} and {shifts.shape}"
            )
        return TensorType(shifts.dtype, shifts.shape)


def _affine_recurrence(maps: Any, shifts: Any, *, reverse: bool) -> Any:
    """On CPU in order; elsewhere by composing the maps pairwise, in log T rounds instead of T."""
    k = maps.shape[-1]

    def in_order(maps: Any, shifts: Any) -> Any:
        if k > UNROLLED:
            whole = lambda x, at: (lambda new: (new, new))(jnp.tensordot(at[0], x, 1) + at[1])
            return lax.scan(whole, jnp.zeros_like(shifts[0]), (maps, shifts), reverse=reverse)[1]

        def by_entries(x: Any, at: Any) -> Any:
            new = [b + sum(a * y for a, y in zip(row, x, strict=True)) for row, b in zip(*at, strict=True)]
            return new, new

        entries = [[maps[:, i, j] for j in range(k)] for i in range(k)], [shifts[:, i] for i in range(k)]
        start = [jnp.zeros_like(x[0]) for x in entries[1]]
        return jnp.stack(lax.scan(by_entries, start, entries, reverse=reverse)[1], axis=1)

    def pairwise(maps: Any, shifts: Any) -> Any:
        apply = lambda a, x: jnp.einsum("tij,tj...->ti...", a, x)
        compose = lambda first, then: (then[0] @ first[0], apply(then[0], first[1]) + then[1])
        return lax.associative_scan(compose, (maps, shifts), reverse=reverse)[1]

    return lax.platform_dependent(maps, shifts, cpu=in_order, default=pairwise)


chain_factor = _ChainFactor("chain_factor", _chain_factor)
affine_recurrence = _AffineRecurrence("affine_recurrence", _affine_recurrence)
