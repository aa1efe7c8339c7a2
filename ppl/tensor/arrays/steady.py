"""Elementary functions that JAX, or its derivative of them, gets wrong somewhere in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.core.later import jsp
from ppl.xla.later import custom_jvp, jax, jnp


@custom_jvp
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)); the derivative is sigmoid(x) sigmoid(-x), since 1 - sigmoid(x) rounds to 0 from x = 37 on."""
    return jax.nn.sigmoid(x)


sigmoid.defjvps(lambda slope, value, x: slope * value * sigmoid(-x))


def absolute(x: Any) -> Any:
    """|x|; the derivative at 0 is 0, as in PyTensor, the mean of those on either side. JAX's is 1."""
    return _absolute(x) if jnp.issubdtype(jnp.result_type(x), jnp.floating) else jnp.abs(x)


@custom_jvp
def _absolute(x: Any) -> Any:
    return jnp.abs(x)


_absolute.defjvps(lambda slope, value, x: slope * jnp.sign(x))


@custom_jvp
def sinc(x: Any) -> Any:
    """sin(πx) / πx; JAX's derivative is wrong by a third at 1e-8 and infinite below."""
    return jnp.sinc(x)


@sinc.defjvp
def _sinc_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (slope,) = primals, tangents
    near = jnp.abs(x) < 1e-2
    square = (np.pi * x) ** 2
    series = -(np.pi**2) * x / 3 * (1 - square / 10 * (1 - square / 28 * (1 - square / 54)))
    away = jnp.where(near, 1.0, x)
    return sinc(x), slope * jnp.where(near, series, (jnp.cos(np.pi * away) - jnp.sinc(away)) / away)


@custom_jvp
def hypot(x: Any, y: Any) -> Any:
    """√(x² + y²); JAX's derivative overflows where the value does not."""
    return jnp.hypot(x, y)


@hypot.defjvp
def _hypot_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    length = hypot(x, y)
    safe = jnp.where(length > 0, length, 1.0)
    return length, x / safe * dx + y / safe * dy


@custom_jvp
def digamma(x: Any) -> Any:
    """The derivative of ln Γ; JAX's is nan at 0, where it is infinite."""
    return jnp.where(x == 0, -jnp.copysign(jnp.inf, x), jsp.digamma(jnp.where(x == 0, 1.0, x)))


digamma.defjvps(lambda slope, value, x: slope * trigamma(x))


def trigamma(x: Any) -> Any:
    """The derivative of digamma; JAX's is wrong for negative x, where the reflection formula holds."""
    negative = x <= 0
    up = jsp.polygamma(1, jnp.where(negative, 1 - x, x))
    return jnp.where(negative, (np.pi / jnp.sin(np.pi * jnp.where(negative, x, 0.5))) ** 2 - up, up)


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order n of digamma, (-1)^(n+1) n! ζ(n + 1, x); JAX's takes no order that is a float."""
    first = n == 0
    m = jnp.where(first, 1.0, n)
    size = jnp.exp(jsp.gammaln(m + 1)) * jnp.where(x == 0, jnp.inf, jsp.zeta(m + 1, x))
    return jnp.where(first, digamma(x), jnp.where(jnp.mod(m, 2) == 0, -size, size))
