"""Chains of small blocks: the factor of a block tridiagonal matrix, and solutions with it.

Both go along the chain step by step, in loops whose bodies are plain arithmetic on scalars where blocks are small: one
short program whatever the length, which XLA folds into the loop around it on CPU. All of a step happens in the body:
taken out of the loop, the arithmetic of one block is copied into the next by the compiler, for minutes.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ppl.graph import Attrs, Node
from ppl.tensor.later import jsl
from ppl.tensor.ops import TensorOp, unify
from ppl.tensor.tensor import Tensor, TensorType

UNROLLED = 8  # blocks up to this size are written out entry by entry


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


def _backward(lower: Any, h: Any) -> list[Any]:
    """L'⁻¹ h, by entries."""
    found = list(h)
    for i in reversed(range(len(found))):
        found[i] = found[i] / lower[i][i]
        for j in range(i):
            found[j] = found[j] - lower[i][j] * found[i]
    return found


class _ChainSubstitution(TensorOp):
    """𝓛⁻¹ h, or 𝓛'⁻¹ h where `reverse`, for h (T, k, ...), L = `lower` and B = `below` of `chain_factor`:

    x_t = L_t⁻¹ (h_t - B_t L'_{t-1}⁻¹ x_{t-1}),    x_t = L'_t⁻¹ (h_t - L_t⁻¹ B'_{t+1} x_{t+1})
    """

    def __call__(self, lower: Any, below: Any, h: Any, reverse: bool = False, *, name: str | None = None) -> Tensor:
        return self.build(unify((lower, below, h), to_float=True), {"reverse": bool(reverse)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        lower, below, h = (node.type for node in inputs)
        if lower.ndim != 3 or below.shape != lower.shape or h.ndim < 2 or h.shape[:2] != lower.shape[:2]:
            raise ValueError(
                f"{self.name}: two stacks of blocks (T, k, k) go with a right-hand side (T, k, ...), got the shapes"
                f" {lower.shape}, {below.shape} and {h.shape}"
            )
        return TensorType(h.dtype, h.shape)


def _chain_substitution(lower: Any, below: Any, h: Any, *, reverse: bool) -> Any:
    """On CPU in order; elsewhere by composing the steps pairwise, in log T rounds instead of T."""
    k = lower.shape[-1]
    zero = jnp.zeros_like(lower[:1])
    before = jnp.concatenate([zero + jnp.eye(k, dtype=lower.dtype), lower[:-1]])
    after = jnp.concatenate([below[1:], zero])

    def in_order(lower: Any, below: Any, before: Any, after: Any, h: Any) -> Any:
        triangle = lambda x: [[x[:, i, j] for j in range(i + 1)] for i in range(k)]
        square = lambda x: [[x[:, i, j] for j in range(k)] for i in range(k)]
        times = lambda rows, x: [sum(a * b for a, b in zip(row, x, strict=True)) for row in rows]

        def forward(x: Any, at: Any) -> Any:
            own, last, links, right = at
            known = times(links, _backward(last, x))
            new = _forward(own, [a - b for a, b in zip(right, known, strict=True)])
            return new, new

        def backward(x: Any, at: Any) -> Any:
            own, links, right = at
            known = _forward(own, times(zip(*links, strict=True), x))
            new = _backward(own, [a - b for a, b in zip(right, known, strict=True)])
            return new, new

        right = [h[:, i] for i in range(k)]
        start = [jnp.zeros_like(x[0]) for x in right]
        if reverse:
            steps: Any = (triangle(lower), square(after), right)
        else:
            steps = (triangle(lower), triangle(before), square(below), right)
        return jnp.stack(lax.scan(backward if reverse else forward, start, steps, reverse=reverse)[1], axis=1)

    def pairwise(lower: Any, below: Any, before: Any, after: Any, h: Any) -> Any:
        solve = lambda own, x, trans: jsl.solve_triangular(own, x, lower=True, trans=trans)
        flat = h.reshape((*h.shape[:2], -1))
        if reverse:
            shifts = solve(lower, flat, 1)
            maps = -solve(lower, solve(lower, jnp.swapaxes(after, 1, 2), 0), 1)
        else:
            shifts = solve(lower, flat, 0)
            maps = -solve(lower, jnp.swapaxes(solve(before, jnp.swapaxes(below, 1, 2), 0), 1, 2), 0)
        compose = lambda first, then: (then[0] @ first[0], then[0] @ first[1] + then[1])
        return lax.associative_scan(compose, (maps, shifts), reverse=reverse)[1].reshape(h.shape)

    return lax.platform_dependent(lower, below, before, after, h, cpu=in_order, default=pairwise)


chain_factor = _ChainFactor("chain_factor", _chain_factor)
chain_substitution = _ChainSubstitution("chain_substitution", _chain_substitution)
