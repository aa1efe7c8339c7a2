r"""Sums of exponentials over 0, 1, ..., n, where n is known only when the program runs.

.. math:: \log \sum_{k=0}^{n} \exp t(k)

Terms are taken block by block until the largest n of all entries. The derivative is a second such loop, the mean of the
terms' derivatives with the terms as weights, so that it may be differentiated in reverse, which a loop may not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.graph import Attrs, Node, close
from ppl.tensor.core.ops import TensorOp, broadcast_shape
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder
from ppl.xla.later import jax, jnp, lax

_BLOCK = 64


class _LogSumTo(TensorOp):
    """Inputs: n, and what the body captures. The body gives the terms of a block of numbers, along its last axis."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        terms = attrs["body"].outputs[0].type
        rows = placeholder(TensorType(terms.dtype, terms.shape[:-1]))
        return TensorType(terms.dtype, broadcast_shape("log_sum_to", (inputs[0], rows)))


def _over_blocks(last: Any, add: Callable[[Any, Any, Any], Any], start: Any) -> Any:
    """`add(sums, numbers, wanted)` for each block of numbers; `wanted` says which of them each entry still has."""

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        first, sums = state
        numbers = first + jnp.arange(_BLOCK, dtype=last.dtype)
        return first + _BLOCK, add(sums, numbers, numbers <= last[..., None])

    end = jnp.max(last, initial=-1)
    return lax.while_loop(lambda state: state[0] <= end, step, (jnp.zeros((), last.dtype), start))[1]


def _log_sum_to(last: Any, *captured: Any, body: Callable[..., list[Any]]) -> Any:
    floats = [i for i, x in enumerate(captured) if jnp.issubdtype(jnp.result_type(x), jnp.floating)]
    form = jax.eval_shape(lambda: body(jnp.arange(_BLOCK), *captured)[0])
    last = jnp.broadcast_to(jnp.asarray(last), jnp.broadcast_shapes(jnp.shape(last), form.shape[:-1]))

    rest = [i for i in range(len(captured)) if i not in floats]

    def terms_of(numbers: Any, others: Any, parameters: Any) -> Any:
        given = dict(zip([*rest, *floats], [*others, *parameters], strict=True))
        return body(numbers, *[given[i] for i in range(len(captured))])[0]

    @jax.custom_vjp
    def total(last: Any, others: Any, parameters: Any) -> Any:  # all that it needs: it may be traced within a loop
        def add(sums: Any, numbers: Any, wanted: Any) -> Any:
            terms = jnp.where(wanted, terms_of(numbers, others, parameters), -jnp.inf)
            return jnp.logaddexp(sums, jax.nn.logsumexp(terms, axis=-1))

        return _over_blocks(last, add, jnp.full(last.shape, -jnp.inf, form.dtype))

    def forward(last: Any, others: Any, parameters: Any) -> Any:
        value = total(last, others, parameters)
        return value, (last, others, parameters, value)

    def backward(kept: Any, slope: Any) -> Any:
        last, others, parameters, value = kept

        def add(sums: Any, numbers: Any, wanted: Any) -> Any:
            terms, transposed = jax.vjp(
                lambda p: jnp.broadcast_to(terms_of(numbers, others, p), wanted.shape), parameters
            )
            weights = jnp.where(wanted, jnp.exp(terms - value[..., None]), 0.0)
            return jax.tree.map(jnp.add, sums, transposed(weights * slope[..., None])[0])

        return None, None, _over_blocks(last, add, jax.tree.map(jnp.zeros_like, parameters))

    total.defvjp(forward, backward)
    others, parameters = ([jnp.asarray(captured[i]) for i in places] for places in (rest, floats))
    return total(last, others, parameters)


LOG_SUM_TO = _LogSumTo("log_sum_to", _log_sum_to)


def log_sum_to(last: Any, term: Callable[[Tensor], Any]) -> Tensor:
    """log of the sum of exp(term(k)) over k = 0, ..., last; `term` gets a vector of numbers, along its last axis."""
    numbers = placeholder(TensorType("int64", (_BLOCK,)))
    body, captured = close([numbers], [as_tensor(term(numbers))])
    return Node(LOG_SUM_TO, (as_tensor(last), *captured), Attrs(body=body))  # type: ignore[return-value]
