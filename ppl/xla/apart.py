"""Arrays that are computed once.

XLA fuses an operation into the loops of all that use it, and computes it anew in each of these. Where that is dear, as
the rounds of a random generator are, the operation belongs in a part of the program of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.xla.later import jax, jnp


def apart(make: Callable[[], Any]) -> Any:
    """The arrays that `make` gives, computed apart from what they become.

    On a CPU in a loop that turns once, as XLA must not see; elsewhere a loop costs more than it saves.
    """
    if jax.default_backend() != "cpu":
        return make()
    turns = jax.lax.optimization_barrier(jnp.int32(1))
    none = jax.tree.map(lambda kind: jnp.zeros(kind.shape, kind.dtype), jax.eval_shape(make))
    once = jax.lax.while_loop(
        lambda state: state[0] < turns, lambda state: (state[0] + 1, make()), (jnp.int32(0), none)
    )
    return once[1]


def held(values: Any, number: Any) -> Any:
    """Floats that are computed once, and rounded alike in all that uses them, without a part of their own.

    XLA computes what it holds for cheap again for each use, a whole proposal or a tail, and drops barriers on the CPU;
    a division it does not repeat. That it is by one must not be seen: `number` may be any that is finite.
    """
    return values / (1.0 + 0.0 * jnp.asarray(number).astype(values.dtype))
