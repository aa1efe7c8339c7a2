"""Chains of tables: sums over all paths, in logarithms."""

from __future__ import annotations

from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import TensorType, as_tensor
from ppl.xla.later import jax, jnp


class _LogForward(TensorOp):
    r"""α_0 = `first` (..., K) and α_{t+1}[k] = log Σ_j exp(α_t[j] + `steps`_t[j, k]) for steps (T, ..., K, K).

    Step by step on CPUs; elsewhere, where T steps one after the other would wait for each other, as products of
    matrices in logarithms in O(log T) rounds.
    """

    def __call__(self, first: Any, steps: Any, *, name: str | None = None) -> Any:
        return self.build((as_tensor(first), as_tensor(steps)), {}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        first, steps = (x.type for x in inputs)
        length = steps.shape[0]
        return TensorType(first.dtype, (None if length is None else length + 1, *first.shape))


def _log_forward(first: Any, steps: Any) -> Any:
    first, steps = jnp.asarray(first), jnp.asarray(steps)
    later = (one_by_one if jax.default_backend() == "cpu" else by_products)(first, steps)
    return jnp.concatenate([first[None], later])


def logsumexp(x: Any, axis: int) -> Any:
    """log Σ exp(x), with slopes of zero where no term is possible."""
    top = jnp.max(x, axis=axis, keepdims=True)
    top = jax.lax.stop_gradient(jnp.where(jnp.isfinite(top), top, 0.0))
    total = jnp.sum(jnp.exp(x - top), axis=axis)
    none = total == 0
    return jnp.where(none, -jnp.inf, jnp.log(jnp.where(none, 1.0, total)) + jnp.squeeze(top, axis))


def one_by_one(first: Any, steps: Any) -> Any:
    """K² operations a step, T steps one after the other."""

    def step(alpha: Any, table: Any) -> Any:
        new = logsumexp(alpha[..., None] + table, axis=-2)
        return new, new

    return jax.lax.scan(step, first, steps)[1]


def by_products(first: Any, steps: Any) -> Any:
    """K³ operations a step, all steps side by side."""

    def times(a: Any, b: Any) -> Any:
        return logsumexp(a[..., :, :, None] + b[..., None, :, :], axis=-2)

    return logsumexp(first[..., :, None] + jax.lax.associative_scan(times, steps), axis=-2)


log_forward = _LogForward("log_forward", _log_forward)
