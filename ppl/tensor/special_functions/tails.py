r"""Tails of log-concave densities. With h the log-density, the tail below t is

.. math:: e^{h(t)} \int_0^\infty e^{h(t - s) - h(t)}\,ds,

an integral in which nothing cancels, of a smooth and falling function, over which Gauss's rule is exact to rounding.
There is no loop and no branch, so it runs in one kernel, keeps its digits far out, and has derivatives in all its
arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.xla import apart
from ppl.xla.later import jax, jit, jnp, lax

DEPTH = 40.0  # the integral ends where its integrand has fallen to exp(-40)


@functools.cache
def nodes_and_weights() -> tuple[np.ndarray, np.ndarray]:
    """Gauss's, in the root of s, so that they crowd where it begins."""
    v, w = np.polynomial.legendre.leggauss(48)
    return ((v + 1) / 2) ** 2, w * (v + 1) / 2


def tail_integral(fall: Callable[..., Any], slope: Any, curvature: Any, *parameters: Any, most: Any = np.inf) -> Any:
    """The integral of exp(-fall(s)) over 0 < s < most for a convex `fall`, given its slope and curvature at 0."""
    end = jnp.minimum(DEPTH / jnp.maximum(slope, 1e-300), jnp.sqrt(2 * DEPTH / curvature))
    for _ in range(3):
        end = jnp.minimum(end, most)
        height, rise = jax.jvp(lambda s: fall(s, *parameters), (end,), (jnp.ones_like(end),))
        end = end - (height - DEPTH) / rise
    end = jnp.where(end < most, lax.stop_gradient(end), most)
    nodes, weights = nodes_and_weights()
    s = end[..., None] * jnp.asarray(nodes, end.dtype)
    heights = fall(s, *[p[..., None] for p in parameters])
    return end * jnp.sum(jnp.exp(-heights) * jnp.asarray(weights, end.dtype), axis=-1)


def together(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of arrays broadcast to one shape; traced once for all of a shape, though a quantile asks often, and computed
    once however often it is used."""

    def g(*numbers: Any) -> Any:
        xs = jnp.broadcast_arrays(*map(jnp.asarray, numbers))
        return apart.held(f(*xs), lax.stop_gradient(jnp.clip(xs[0], 0, 1)))

    return jit(g)
