"""Hypergeometric draws: how many good ones come up when some are taken from an urn without putting back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ppl.tensor.draws import Draw
from ppl.tensor.later import jsp

_WIDTH, _EXTRA = 2 * (2 / jnp.e) ** 0.5, 3 - 2 * (3 / jnp.e) ** 0.5  # the hat of Stadlober (1990)


def _hypergeometric(key: Any, good: Any, bad: Any, taken: Any, *, shape: Any, dtype: Any) -> Any:
    """Ratio of uniforms (E. Stadlober, 1990), all entries at once until the last is accepted.

    By symmetry the rarer colour is counted, among those taken or among those left, whichever are fewer.
    """
    good, bad, taken = (jnp.broadcast_to(x, shape).astype("float64") for x in (good, bad, taken))
    total = good + bad
    rare, common, few = jnp.minimum(good, bad), jnp.maximum(good, bad), jnp.minimum(taken, total - taken)
    share = jnp.where(total > 0, rare / jnp.where(total > 0, total, 1), 0)
    spread = jnp.sqrt((total - few) * few * share * (1 - share) / jnp.maximum(total - 1, 1) + 0.5)
    centre, width = few * share + 0.5, _WIDTH * spread + _EXTRA
    end = jnp.minimum(rare, few) + 1

    def log_weight(x: Any) -> Any:
        return -(
            jsp.gammaln(x + 1)
            + jsp.gammaln(rare - x + 1)
            + jsp.gammaln(few - x + 1)
            + jsp.gammaln(common - few + x + 1)
        )

    peak = log_weight(jnp.floor((few + 1) * (rare + 1) / (total + 2)))

    def propose(state: Any) -> Any:
        step, kept, open_ = state
        height_key, side_key = jax.random.split(jax.random.fold_in(key, step))
        u = 1 - jax.random.uniform(height_key, shape, "float64")
        x = centre + width * (jax.random.uniform(side_key, shape, "float64") - 0.5) / u
        inside = (x >= 0) & (x < end)
        x = jnp.where(inside, jnp.floor(x), 0)
        accepted = inside & (2 * jnp.log(u) <= log_weight(x) - peak)
        return step + 1, jnp.where(open_ & accepted, x, kept), open_ & ~accepted

    valid = (good >= 0) & (bad >= 0) & (taken >= 0) & (taken <= total)
    _, x, _ = lax.while_loop(lambda state: jnp.any(state[2]), propose, (jnp.uint32(0), jnp.zeros(shape), valid))
    x = jnp.where(good > bad, few - x, x)
    return jnp.where(valid, jnp.where(few < taken, good - x, x), -1).astype(dtype)


hypergeometric = Draw("random_hypergeometric", _hypergeometric, 3, "int")
