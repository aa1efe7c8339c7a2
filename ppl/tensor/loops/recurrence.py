"""Recurrences along a last axis of time: linear ones, and any that a body describes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ppl.graph import Attrs, Body, Node, close
from ppl.tensor.core.ops import TensorOp, broadcast_shape, unify
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder
from ppl.xla.later import jnp, lax


class _Without:
    """A node without its last axes, for the broadcasting rule."""

    def __init__(self, node: Node, drop: int) -> None:
        self.node, self.type = node, TensorType(node.type.dtype, node.type.shape[: node.type.ndim - drop])

    def __repr__(self) -> str:
        return repr(self.node)


class _LinearRecurrence(TensorOp):
    r"""x_t = Σ_i w_{t,i} x_{t-1-i} + u_t, from the first p values on: `start` (..., p), `weights` (..., T or 1, p) and
    `inputs` (..., T) give the whole path (..., p + T)."""

    def __call__(self, start: Any, weights: Any, inputs: Any, *, name: str | None = None) -> Tensor:
        return self.build(unify((start, weights, inputs), to_float=True), {}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        start, weights, shocks = inputs
        batch = broadcast_shape(self.name, (_Without(start, 1), _Without(weights, 2), _Without(shocks, 1)))  # type: ignore[arg-type]
        lags, steps = start.type.shape[-1], shocks.type.shape[-1]
        if lags is not None and weights.type.shape[-1] not in (None, lags):
            raise ValueError(f"{self.name}: {lags} first values, but weights for {weights.type.shape[-1]} lags")
        length = None if lags is None or steps is None else lags + steps
        return TensorType(start.type.dtype, (*batch, length))


def _linear_recurrence(start: Any, weights: Any, inputs: Any) -> Any:
    start, weights, inputs = jnp.asarray(start), jnp.asarray(weights), jnp.asarray(inputs)
    batch = jnp.broadcast_shapes(start.shape[:-1], weights.shape[:-2], inputs.shape[:-1])
    lags, steps = start.shape[-1], inputs.shape[-1]
    start = jnp.broadcast_to(start, (*batch, lags))
    weights = jnp.expand_dims(weights, tuple(range(len(batch) + 2 - weights.ndim)))
    by_time = jnp.moveaxis(jnp.broadcast_to(inputs, (*batch, steps)), -1, 0)
    path = _one_lag if lags == 1 else _step_by_step
    return jnp.concatenate([start, jnp.moveaxis(path(start, jnp.moveaxis(weights, -2, 0), by_time), 0, -1)], axis=-1)


def _step_by_step(start: Any, weights: Any, inputs: Any) -> Any:
    """The weights have one row for each step, or one for all of them."""
    lags, fixed = start.shape[-1], len(weights) == 1

    def step(newest_first: Any, at: Any) -> Any:
        w, u = (weights[0], at) if fixed else at
        x = sum((w[..., i] * newest_first[i] for i in range(lags)), u)
        return (x, *newest_first[:-1]), x

    first = tuple(start[..., lags - 1 - i] for i in range(lags))
    return lax.scan(step, first, inputs if fixed else (weights, inputs))[1]


def _one_lag(start: Any, weights: Any, inputs: Any) -> Any:
    """On CPU in order; elsewhere by composing the affine maps pairwise, in log T rounds instead of T."""

    def pairwise(start: Any, weights: Any, inputs: Any) -> Any:
        def compose(first: Any, then: Any) -> Any:
            return first[0] * then[0], then[0] * first[1] + then[1]

        slopes = jnp.broadcast_to(weights[..., 0], inputs.shape)
        slopes, levels = lax.associative_scan(compose, (slopes, inputs))
        return slopes * start[..., 0] + levels

    return lax.platform_dependent(start, weights, inputs, cpu=_step_by_step, default=pairwise)


linear_recurrence = _LinearRecurrence("linear_recurrence", _linear_recurrence)


class _Unfold(TensorOp):
    """x_t = body(x_{t-1}, u_t, ...) along a first axis of time: `start`, then what follows for each of the inputs u."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        start, shocks = inputs[:2]
        steps = shocks.type.shape[0]
        return TensorType(start.type.dtype, (None if steps is None else steps + 1, *start.type.shape))


def _unfold(start: Any, inputs: Any, *rest: Any, body: Callable[..., Any]) -> Any:
    def step(x: Any, u: Any) -> Any:
        following = jnp.broadcast_to(body(x, u, *rest)[0], x.shape).astype(x.dtype)
        return following, following

    start = jnp.asarray(start)
    return jnp.concatenate([start[None], lax.scan(step, start, jnp.asarray(inputs))[1]], axis=0)


UNFOLD = _Unfold("unfold", _unfold)


def unfold(step: Callable[..., Any], start: Any, inputs: Any, arguments: Sequence[Any] = ()) -> Tensor:
    """The path from `start` on, with `step(x, u, *arguments)` for each entry u of `inputs` along its first axis."""
    start, inputs = as_tensor(start), as_tensor(inputs)
    given = [as_tensor(a) for a in arguments]
    x, u = placeholder(start.type), placeholder(TensorType(inputs.dtype, inputs.type.shape[1:]))
    inner = [placeholder(a.type) for a in given]
    body: Body
    body, captured = close([x, u, *inner], [as_tensor(step(x, u, *inner))])
    return Node(UNFOLD, (start, inputs, *given, *captured), Attrs(body=body))  # type: ignore[return-value]
