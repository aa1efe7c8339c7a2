"""Draws by rejection: propose until accepted, entry by entry, inside the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ppl.bits import threefry
from ppl.graph import Attrs, Node, close
from ppl.tensor.draws import KEY_TYPE, typed
from ppl.tensor.keys import Key
from ppl.tensor.ops import TensorOp
from ppl.tensor.tensor import Tensor, as_tensor, placeholder


class _DrawUntil(TensorOp):
    """Inputs: a key, and what the body captures. The body gives a proposal, and whether each entry is accepted."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return attrs["body"].outputs[0].type


def _draw_until(key: Any, *captured: Any, body: Callable[..., list[Any]], steps: int) -> Any:
    def propose(state: Any) -> Any:
        step, kept, open_ = state
        subkey = jax.random.key_data(threefry.fold_in(typed(key), step))
        proposal, accepted = body(subkey, *captured)
        proposal, accepted = jnp.asarray(proposal), jnp.broadcast_to(accepted, open_.shape)
        return step + 1, jnp.where(open_ & accepted, proposal, kept), open_ & ~accepted

    form = jax.eval_shape(lambda: body(jnp.asarray(key), *captured))[0]
    lost = jnp.nan if jnp.issubdtype(form.dtype, jnp.floating) else np.iinfo(form.dtype).min
    start = (jnp.uint32(0), jnp.full(form.shape, lost, form.dtype), jnp.ones(form.shape, bool))
    return lax.while_loop(lambda state: jnp.any(state[2]) & (state[0] < steps), propose, start)[1]


DRAW_UNTIL = _DrawUntil("draw_until", _draw_until)


def draw_until(key: Key, propose: Callable[[Key], Any], accept: Callable[[Tensor], Any], steps: int = 10_000) -> Tensor:
    """Draws of `propose(key)` on the condition `accept(draw)`. An entry that is never accepted in `steps` proposals is
    nan, or the smallest integer."""
    inner = placeholder(KEY_TYPE)
    proposal = as_tensor(propose(Key(inner)))
    body, captured = close([inner], [proposal, as_tensor(accept(proposal))])
    return Node(DRAW_UNTIL, (key.next(), *captured), Attrs(body=body, steps=steps))  # type: ignore[return-value]
