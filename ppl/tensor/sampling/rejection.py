"""Draws by rejection: propose until accepted, entry by entry, inside the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.graph import Attrs, Node
from ppl.tensor.core.bodies import hoisted
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.sampling.acceptance import MANY, once, redone
from ppl.tensor.sampling.draws import KEY_TYPE, typed
from ppl.tensor.sampling.keys import Key
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, placeholder
from ppl.xla import threefry
from ppl.xla.later import jax, jnp, lax

Lowered = Callable[..., list[Any]]


class _DrawUntil(TensorOp):
    """Inputs: a key, an array of the shape of the draws, what the proposals capture (`split`), and what the test does.
    `propose` takes a key and such an array, and gives a proposal for each entry; `accept` says which it takes."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return TensorType(attrs["propose"].outputs[0].type.dtype, inputs[1].type.shape)


def _draw_until(key: Any, like: Any, *captured: Any, propose: Lowered, accept: Lowered, split: int, alike: bool) -> Any:
    like, captured = jnp.asarray(like), tuple(lax.stop_gradient(each) for each in captured)
    dtype = like.dtype

    def tried(key: Any, like: Any) -> tuple[Any, Any]:
        """One proposal for each entry, and whether it is accepted."""
        proposed = lambda: propose(jax.random.key_data(key), like, *captured[:split])[0]
        values = once(proposed, key, like.shape, dtype)
        return values, jnp.broadcast_to(accept(values, *captured[split:])[0], like.shape)

    def in_rounds(key: Any, like: Any, wanted: Any) -> Any:
        def step(state: Any) -> Any:
            count, kept, open_ = state
            values, accepted = tried(threefry.fold_in(key, count), like)
            return count + 1, jnp.where(open_ & accepted, values, kept), open_ & ~accepted

        start = (jnp.uint32(0), jnp.zeros(like.shape, dtype), wanted)
        return lax.while_loop(lambda state: jnp.any(state[2]), step, start)[1]

    def together(key: Any, like: Any, wanted: Any) -> Any:
        """Of many, those that are refused are moved together, as in `acceptance`."""
        if like.size < MANY:
            return in_rounds(key, like, wanted)
        first, rest = threefry.split(key)
        values, accepted = tried(first, like)
        again = lambda key, _, at, there: together(key, like[: at.size], there)
        return redone(values, wanted & ~accepted, rest, again)

    if alike:
        return together(typed(key), like.reshape(-1), jnp.ones(like.size, bool)).reshape(like.shape)
    return in_rounds(typed(key), like, jnp.ones(like.shape, bool))


DRAW_UNTIL = _DrawUntil("draw_until", _draw_until)


def draw_until(
    key: Key, propose: Callable[[Key, Any], Any], accept: Callable[[Tensor], Any], like: Tensor, alike: bool
) -> Tensor:
    """Draws of `propose(key, shape)` on the condition `accept(draw)`, of the shape and the dtype of `like`.

    It goes on until all are accepted: who calls it knows that this is not rare. Derivatives do not pass. `alike` says
    that law and condition are the same for all entries, so that any of these may take another's place.
    """
    inner = placeholder(KEY_TYPE)
    form = placeholder(TensorType(like.dtype, (None,)) if alike else like.type)
    value = placeholder(form.type)
    proposes, of_propose = hoisted([inner, form], [as_tensor(propose(Key(inner), form.shape))])
    accepts, of_accept = hoisted([value], [as_tensor(accept(value))])
    attrs = Attrs(propose=proposes, accept=accepts, split=len(of_propose), alike=alike)
    return Node(DRAW_UNTIL, (key.next(), like, *of_propose, *of_accept), attrs)  # type: ignore[return-value]
