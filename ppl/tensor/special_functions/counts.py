r"""Functions that keep densities of counts accurate up to counts of 1e15 and more.

log x! and x log x grow like the count, their differences do not: written with these two functions, a density has no
large terms that cancel (C. Loader, Fast and accurate computation of binomial probabilities, 2000).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ppl.tensor.core.later import jnf, jsp
from ppl.tensor.core.ops import Elementwise, keeping_dtype
from ppl.xla.later import custom_jvp, jnp, lax

_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)  # of Stirling, in odd powers of 1/x
_LARGE = 10.0  # from here on six terms of the series are exact to the last bit


def stirling_by(arrays: Any, functions: Any, x: Any) -> Any:
    """By the arrays and special functions of JAX or of NumPy and SciPy."""
    large = x >= _LARGE
    near = arrays.where(large, 1.0, x)
    far = arrays.where(large, x, _LARGE)
    series = arrays.polyval(np.array(_SERIES[::-1], far.dtype), 1 / far**2) / far
    small = functions.gammaln(near + 1) - functions.xlogy(near, near) + near
    return arrays.where(large, 0.5 * arrays.log(2 * np.pi * far) + series, small)


_stirling = custom_jvp(functools.partial(stirling_by, jnf, jsp))


@_stirling.defjvp
def _stirling_slope(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return _stirling(x), (jsp.digamma(x + 1) - jnp.log(x)) * dx


def deviance_by(arrays: Any, x: Any, m: Any, log_m: Any) -> Any:
    """By the arrays of JAX or of NumPy."""
    v = (x - m) / (x + m)
    close = abs(v) < 0.1
    small = arrays.where(close, v, 0.0)
    tail = arrays.polyval(np.array([1 / (2 * j + 1) for j in range(9, 0, -1)] + [0.0], x.dtype), small**2)
    near = (arrays.where(close, x - m, 0.0) + 2 * arrays.where(close, x, 0.0) * tail) * small
    far = arrays.where(arrays.isinf(m), np.inf, x * (arrays.log(x) - log_m) + m - x)
    return arrays.where(x == 0, m, arrays.where(close, near, far))


_deviance = custom_jvp(functools.partial(deviance_by, jnf))


@_deviance.defjvp
def _deviance_slope(primals: Any, tangents: Any) -> Any:
    (x, m, log_m), (dx, dm, dlog_m) = primals, tangents
    by_log = jnp.where(x == 0, 0.0, -x * dlog_m)
    return _deviance(x, m, log_m), dm + by_log + (jnp.log(x) - log_m) * dx


stirling = Elementwise("stirling", _stirling, "float")
stirling.__doc__ = "log Γ(x + 1) - x log x + x, which is ½ log 2πx + 1/12x + ... for large x, and 0 at 0."
deviance = Elementwise("deviance", _deviance, "float", range=(0, np.inf))
deviance.__doc__ = "x log(x/m) + m - x, given m and its logarithm, without cancellation where x is near m."

_NODES = 32


def _bessel_remainder(n: Any, w: Any) -> Any:
    """The integral of exp(w (cos t - 1)) cos(n (t - sin t)) over half a turn, divided by π: the integral of I_n along
    the path of steepest descent. There nothing cancels, and the trapezoid rule is exact to rounding."""
    w = jnp.maximum(w, 1e-300)
    end = 2 * jnp.arcsin(jnp.sqrt(jnp.minimum(20 / lax.stop_gradient(w), 1)))[..., None]  # the integrand: exp(-40)
    t = end * jnp.arange(_NODES + 1) / _NODES
    weights = jnp.ones(_NODES + 1).at[0].set(0.5).at[_NODES].set(0.5)
    heights = jnp.exp(-2 * w[..., None] * jnp.sin(t / 2) ** 2) * jnp.cos(n[..., None] * (t - jnp.sin(t)))
    return jnp.log(jnp.sum(weights * heights, axis=-1) * end[..., 0] / (_NODES * jnp.pi))


def _broadcast_first(f: Any) -> Any:
    return lambda *xs: f(*jnp.broadcast_arrays(*map(jnp.asarray, xs)))


bessel_remainder = Elementwise("bessel_remainder", keeping_dtype(_broadcast_first(_bessel_remainder)), "float")
bessel_remainder.__doc__ = (
    "log Iₙ(z) - w + n asinh(n/z) for whole n, with w = √(n² + z²), which is -½ log 2πw + ... for large w."
)
