"""The normal distribution function in logarithms, and its inverse, without loss in the tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppl.tensor.core.elementwise import log1mexp
from ppl.tensor.core.later import jsp
from ppl.tensor.core.ops import Elementwise, keeping_dtype
from ppl.xla.either import either, xp
from ppl.xla.later import custom_jvp, jax, jnp, lax

_log1mexp = log1mexp.lower

_R = float(np.sqrt(0.5))

# (1 + 2x) erfcx(x) as a polynomial in t = (x - 3.75) / (x + 3.75): the Chebyshev series on -1..1 (the variable of
# Shepherd and Laframboise 1981), computed to 40 digits, cut off at 1e-17 and written in powers of t.
_ERFCX = (
    1.2375126308378275, -0.14024059858554702, 0.00358541548546369, 0.08227673849015112, -0.10880393014170746,
    0.09230432116019517, -0.05869339859054762, 0.02836227742156851, -0.009746579547619623, 0.0017556258319220233,
    0.00029371359480570737, -0.0002901539763460068, 5.164940777546399e-05, 2.2383900563041527e-05,
    -1.1445049125831309e-05, -9.728189861867202e-07, 1.7534434251106334e-06, -5.831950342145807e-08,
    -2.611470235990096e-07, 2.4362700816477393e-08, 4.097122315270304e-08, -4.453191645424035e-09,
    -6.545560212480287e-09, 5.820899514310608e-10, 9.022149700340659e-10, -4.965632309979347e-11,
    -7.339505008529646e-11, 1.7962578252143905e-12,
)  # fmt: skip


@custom_jvp
def _erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), to a few units in the last place."""
    size = jnp.abs(x)
    t = 1 - 7.5 / (size + 3.75)
    total = jnp.zeros_like(t)
    for coefficient in reversed(_ERFCX):
        total = total * t + np.asarray(coefficient, t.dtype)
    tail = total / (1 + 2 * size)
    return jnp.where(x < 0, 2 * jnp.exp(x * x) - tail, tail)


@_erfcx.defjvp
def _erfcx_slope(primals: Any, tangents: Any) -> Any:
    """2 x erfcx(x) - 2/√π, whose terms cancel for large x: there the asymptotic series."""
    (x,), (slope,) = primals, tangents
    value = _erfcx(x)
    large = x > 50
    inverse = 1 / jnp.where(large, x, 50) ** 2
    series = -inverse / math.sqrt(math.pi) * (1 - inverse * (1.5 - inverse * (3.75 - inverse * 13.125)))
    return value, slope * jnp.where(large, series, 2 * x * value - 2 / math.sqrt(math.pi))


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    left = jnp.minimum(x, 0.0)
    below = jnp.log(0.5 * _erfcx(-left * _R)) - 0.5 * left**2
    return jnp.where(x < 0, below, jnp.log1p(-0.5 * jsp.erfc(jnp.maximum(x, 0.0) * _R)))


@_log_ndtr.defjvp
def _log_ndtr_slope(primals: Any, tangents: Any) -> Any:
    """φ(x) / Φ(x), which is √(2/π) / erfcx(-x/√2) on the left."""
    (x,), (dx,) = primals, tangents
    value = _log_ndtr(x)
    left, right = jnp.minimum(x, 0.0), jnp.maximum(x, 0.0)
    below = math.sqrt(2 / math.pi) / _erfcx(-left * _R)
    above = jnp.exp(-0.5 * right**2) / (math.sqrt(2 * math.pi) * jsp.ndtr(right))
    return value, dx * jnp.where(x < 0, below, above)


@custom_jvp
def _ndtri_exp(y: Any) -> Any:
    """z with log Φ(z) = y, for y < 0."""
    far = (y < -20.0) & (y > -jnp.inf)
    near = jnp.where(far, -1.0, y)
    left = near < -0.7
    middle = jsp.ndtri(jnp.where(left, jnp.exp(near), -jnp.expm1(near))) * jnp.where(left, 1.0, -1.0)
    target = jnp.where(far, y, -20.0)

    def closer(_: Any, z: Any) -> Any:
        value, slope = jax.jvp(_log_ndtr, (z,), (jnp.ones_like(z),))
        return z - (value - target) / slope

    z = lax.fori_loop(0, 5, closer, -jnp.sqrt(-2 * target))
    return jnp.where(far, z, jnp.where(y == -jnp.inf, -jnp.inf, middle))


@_ndtri_exp.defjvp
def _ndtri_exp_slope(primals: Any, tangents: Any) -> Any:
    (y,), (dy,) = primals, tangents
    z = _ndtri_exp(y)
    return z, dy / jax.jvp(_log_ndtr, (z,), (jnp.ones_like(z),))[1]


log_ndtr = Elementwise("log_ndtr", _log_ndtr, "float", inverse="ndtri_exp", monotone="increasing", range=(-np.inf, 0))
ndtri_exp = Elementwise("ndtri_exp", _ndtri_exp, "float", inverse="log_ndtr", monotone="increasing")
erfcx = Elementwise("erfcx", _erfcx, "float", monotone="decreasing", range=(0, np.inf))
log_ndtr.__doc__ = "log P(Z ≤ x) for Z ~ Normal(0, 1)."
ndtri_exp.__doc__ = "z with log P(Z ≤ z) = y, for Z ~ Normal(0, 1)."


# The same of arrays of JAX and of NumPy's.
log_ndtr_of, ndtri_exp_of = either(_log_ndtr, "log_ndtr"), either(_ndtri_exp, "ndtri_exp")


def _log_ndtr_between(a: Any, b: Any) -> Any:
    """log(Φ(b) - Φ(a)) for a < b, in the tail where both are small; a narrow interval by the midpoint's expansion."""
    left, right = xp.where(a > 0, -b, a), xp.where(a > 0, -a, b)
    width, middle = right - left, 0.5 * (left + right)
    narrow = (width < 0.02) & (xp.abs(middle) * width < 0.02)
    h, m = xp.where(narrow, width, 0.01), xp.where(narrow, middle, 0.0)
    terms = (m**2 - 1) * h**2 / 24 + (m**4 - 6 * m**2 + 3) * h**4 / 1920 + (m**6 - 15 * m**4) * h**6 / 322560
    series = -0.5 * m**2 - 0.5 * math.log(2 * math.pi) + xp.log(h) + xp.log1p(terms)
    left, right = xp.where(narrow, -1.0, left), xp.where(narrow, 1.0, right)
    across = right > 0
    below, above = log_ndtr_of(left), log_ndtr_of(xp.where(across, -right, right))  # P(Z > right) where it is across 0
    split = xp.log1p(-xp.where(across, xp.exp(below) + xp.exp(above), 0.5))
    tail = above + _log1mexp(xp.where(across, -1.0, below - above))
    return xp.where(narrow, series, xp.where(across, split, tail))


log_ndtr_between = Elementwise(
    "log_ndtr_between", lambda a, b: _log_ndtr_between(*xp.broadcast_arrays(a, b)), "float", range=(-np.inf, 0)
)
log_ndtr_between.__doc__ = "log P(a ≤ Z ≤ b) for Z ~ Normal(0, 1)."


# --- Owen's function
def _owens_t(h: Any, a: Any) -> Any:
    """Owen's T(h, a) = 1/2π ∫_0^a exp(-h²(1+t²)/2) / (1+t²) dt (not in older JAX).

    Gauss and Legendre's rule for |a| <= 1; beyond, Owen's reflection (1956, eq. 2.3) to T(ah, 1/a).
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    h, slope = jnp.abs(h), jnp.abs(a)
    flipped = slope > 1
    inner_a = jnp.where(flipped, 1 / jnp.where(flipped, slope, 1), slope)
    inner_h = jnp.where(flipped & (h > 0), h * jnp.where(flipped, slope, 1), h)
    t = inner_a[..., None] * (1 + nodes) / 2
    values = jnp.exp(-0.5 * inner_h[..., None] ** 2 * (1 + t * t)) / (1 + t * t)
    integral = inner_a / 2 * jnp.sum(weights * values, -1) / (2 * np.pi)
    p, q = jsp.ndtr(-h), jsp.ndtr(-inner_h)
    result = jnp.where(flipped, (p + q) / 2 - p * q - integral, integral)
    return jnp.sign(a) * result


owens_t = Elementwise("owens_t", keeping_dtype(_owens_t), "float", range=(-0.25, 0.25))
owens_t.__doc__ = "P(X > h, 0 < Y < a X) for two independent standard normals, Owen's T."


def _log1p_square(z: Any) -> Any:
    big = xp.abs(z) > 1
    inverse = 1 / xp.where(big, xp.abs(z), 1.0)
    return xp.where(big, xp.log1p(inverse**2) - 2 * xp.log(inverse), xp.log1p(xp.where(big, 0.0, z) ** 2))


log1p_square = Elementwise("log1p_square", _log1p_square, "float", even=True, range=(0, np.inf))
log1p_square.__doc__ = "log(1 + z²), also where z² overflows."
