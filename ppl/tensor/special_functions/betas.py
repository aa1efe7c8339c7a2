r"""The probability that one beta number is below another, in logarithms.

It is the distribution function of counts whose probability of success is itself a beta number. In t = logit of the
second number the integrand is the distribution function of the first times the density of the second, a log-concave
function: it is integrated between its turns, so nothing cancels, whatever the counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.tensor.core.elementwise import log1mexp
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.special_functions.incomplete import log_beta_cdf, log_beta_power
from ppl.tensor.special_functions.tails import DEPTH, together
from ppl.xla.later import jax, jnp, lax

_SIDES = np.array([-1.0, 1.0])
_BLOCK = 64  # entries
_FARTHEST = 800.0  # no peak lies farther than this from the mode of the second number


def _halved(positive: Callable[[Any], Any], low: Any, high: Any, steps: int) -> Any:
    """Where a falling function turns from positive to negative."""

    def step(_: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        middle = 0.5 * (ends[0] + ends[1])
        there = positive(middle)
        return jnp.where(there, middle, ends[0]), jnp.where(there, ends[1], middle)

    return lax.fori_loop(0, steps, step, (low, high))[0]


def _height(t: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """log P(logit Y < t), and the log-density of logit X at t."""
    return log_beta_cdf.lower(a, b, t) + jnp.log(c) + log_beta_power(c, d, t)


def _borders(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Where the integrand begins and ends, at exp(-40) of its peak, and between these where it may turn: at the peak,
    and at the middle of each of the two numbers."""

    def rises(t: Any) -> Any:
        hazard = jnp.exp(jnp.log(a) + log_beta_power(a, b, t) - log_beta_cdf.lower(a, b, t))
        return hazard + c * jax.nn.sigmoid(-t) > d * jax.nn.sigmoid(t)

    middles = jnp.log(a) - jnp.log(b), jnp.log(c) - jnp.log(d)
    peak = _halved(rises, middles[1], middles[1] + _FARTHEST, 60)
    rows = [x[..., None] for x in (a, b, c, d)]
    top = _height(peak[..., None], *rows)
    near = lambda u: top - _height(peak[..., None] + _SIDES * jnp.exp(u), *rows) < DEPTH
    start = jnp.zeros((*peak.shape, 2))
    ends = peak[..., None] + _SIDES * jnp.exp(_halved(near, start + np.log(1e-12), start + np.log(1e12), 16))
    inner = jnp.stack([peak, *(jnp.clip(each, ends[..., 0], ends[..., 1]) for each in middles)], axis=-1)
    return jnp.sort(jnp.concatenate([ends, inner], axis=-1), axis=-1)


@functools.cache
def _crowded() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on (0, 1) of the double exponential rule, which crowd at both ends."""
    u = np.linspace(-3.3, 3.3, 177)
    s = np.exp(np.pi * np.sinh(u))
    return s / (1 + s), (u[1] - u[0]) * np.pi * np.cosh(u) * s / (1 + s) ** 2


def _integral(a: Any, b: Any, c: Any, d: Any) -> Any:
    """log P(Y < X) for Y ~ Beta(a, b) and X ~ Beta(c, d)."""
    borders = _borders(*map(lax.stop_gradient, (a, b, c, d)))[..., None]
    nodes, weights = _crowded()
    start, length = borders[..., :-1, :], borders[..., 1:, :] - borders[..., :-1, :]
    t = (start + length * nodes).reshape(*a.shape, -1)
    heights = _height(t, *[x[..., None] for x in (a, b, c, d)])
    top = lax.stop_gradient(jnp.max(heights, axis=-1, keepdims=True))
    total = jnp.sum(jnp.exp(heights - top) * (length * weights).reshape(t.shape), axis=-1)
    return jnp.minimum(top[..., 0] + jnp.log(total), 0.0)


def _in_doubles(*numbers: Any) -> Any:
    dtype = numbers[0].dtype
    return _in_blocks(*[x.astype(jnp.float64) for x in numbers]).astype(dtype)


def _in_blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Block after block, since each entry takes 0.3 MB to work in; derivatives do so again."""
    if a.size <= _BLOCK:
        return _smaller_first(a, b, c, d)
    rows = [x.reshape(-1) for x in (a, b, c, d)]
    one = jax.checkpoint(lambda row: _smaller_first(*row))
    return lax.map(one, tuple(rows), batch_size=_BLOCK).reshape(a.shape)


def _smaller_first(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The smaller of the two probabilities by its integral, the other as the rest to 1."""
    less = jnp.log(a) - jnp.log(b) > jnp.log(c) - jnp.log(d)  # Y is more often above
    pick = lambda x, y: jnp.where(less, x, y)
    small = _integral(pick(a, c), pick(b, d), pick(c, a), pick(d, b))
    return jnp.where(less, small, log1mexp.lower(jnp.minimum(small, -1e-300)))


log_beta_below_beta = Elementwise("log_beta_below_beta", together(_in_doubles), "float", range=(-np.inf, 0))
log_beta_below_beta.__doc__ = "log P(Y < X) for independent Y ~ Beta(a, b) and X ~ Beta(c, d)."
