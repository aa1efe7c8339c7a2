"""Bessel functions of any real order, which JAX does not have; differentiable in the order too.

K by the trapezoidal rule on its integral, which converges faster than any power of the step (Trefethen and Weideman
2014). I from its series, from Hankel's expansion for large arguments, and from Debye's for large orders.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from ppl.tensor.core.later import jsp
from ppl.xla.later import jax, jnp

_POINTS = 320


def _log_gamma_1p(a: Any) -> Any:
    """ln Γ(1 + a), with its series for tiny a, where 1 + a rounds."""
    tiny = jnp.abs(a) < 1e-3
    s = jnp.where(tiny, a, 0.0)
    series = -s * (0.5772156649015329 - s * (0.8224670334241132 - s * (0.40068563438653143 - s * 0.27058080842778454)))
    return jnp.where(tiny, series, jsp.gammaln(1 + a))


def log_kve(order: Any, x: Any) -> Any:
    """ln(exp(x) K_v(x)), from ∫_0^∞ exp(-x (cosh t - 1)) cosh(v t) dt.

    Below 1e-20 the leading terms, (Γ(1+v) (2/x)^v - Γ(1-v) (x/2)^v) / 2v.
    """
    v = jnp.abs(order)
    usable = x > 1e-20
    z = jnp.where(usable, x, 1.0)
    start, end = jax.lax.stop_gradient(_stretch(v, z))
    step = (end - start) / (_POINTS - 1)
    t = start[..., None] + step[..., None] * np.arange(_POINTS)
    growth = v[..., None] * t
    terms = -2 * z[..., None] * jnp.sinh(t / 2) ** 2 + growth + jnp.log1p(jnp.exp(-2 * growth)) - np.log(2)
    weights = np.ones(_POINTS)
    weights[0] = 0.5
    value = jsp.logsumexp(terms, -1, b=weights) + jnp.log(step)
    return jnp.where(usable, value, jnp.where(x >= 0, _log_k_near_zero(v, jnp.where(usable, 1e-30, x)), jnp.nan))


def _stretch(v: Any, x: Any) -> tuple[Any, Any]:
    """Around the peak of the integrand, where it is over exp(-45) of its height. At 0 it is even, so half weight there;
    elsewhere the ends do not matter."""
    peak, r = jnp.arcsinh(v / x), jnp.hypot(x, v)
    before = 45 / r + jnp.sqrt(90 / r)
    return jnp.maximum(peak - before, 0), peak + jnp.arccosh(1 + 45 / r)


def _log_k_near_zero(v: Any, x: Any) -> Any:
    log_ratio = np.log(2) - jnp.log(x)
    small = v < 0.5
    s = jnp.where(small, jnp.maximum(v, 1e-12), 0.25)
    up, down = _log_gamma_1p(s) + s * log_ratio, _log_gamma_1p(-s) - s * log_ratio
    of_small = up + jnp.log(-jnp.expm1(down - up)) - jnp.log(2 * s)
    return jnp.where(small, of_small, jsp.gammaln(jnp.where(small, 1.0, v)) + v * log_ratio - np.log(2))


def kve(order: Any, x: Any) -> Any:
    """exp(x) K_v(x)."""
    return jnp.exp(log_kve(order, x))


def kv(order: Any, x: Any) -> Any:
    """K_v(x), the modified Bessel function of the second kind."""
    return jnp.exp(log_kve(order, x) - x)


# --- the first kind
_SERIES_TERMS, _HANKEL_TERMS, _DEBYE_TERMS = 160, 30, 9
_SERIES_UP_TO, _DEBYE_FROM = 60.0, 15.0


@functools.cache
def _debye_polynomials() -> tuple[np.ndarray, ...]:
    """u_0, u_1, ... of the expansion for large orders, by their recurrence (Abramowitz and Stegun 9.3.10)."""
    polynomials = [[Fraction(1)]]
    for _ in range(_DEBYE_TERMS):
        u = polynomials[-1]
        following = [Fraction(0)] * (len(u) + 3)
        for k, c in enumerate(u):
            following[k + 1] += c * (Fraction(k, 2) + Fraction(1, 8 * (k + 1)))
            following[k + 3] -= c * (Fraction(k, 2) + Fraction(5, 8 * (k + 3)))
        polynomials.append(following)
    return tuple(np.array([float(c) for c in u]) for u in polynomials)


def _log_i_series(v: Any, x: Any) -> Any:
    """ln(exp(-x) I_v(x)) for x up to 60, from the power series, all of whose terms are positive."""
    k = np.arange(1, _SERIES_TERMS)
    ratios = 2 * jnp.log(x / 2)[..., None] - jnp.log(k * (v[..., None] + k))
    total = jnp.log1p(jnp.sum(jnp.exp(jnp.cumsum(ratios, -1)), -1))
    return v * jnp.log(x / 2) - jsp.gammaln(v + 1) + total - x


def _log_i_hankel(v: Any, x: Any) -> Any:
    """ln(exp(-x) I_v(x)) for x over 60 and v up to 15."""
    term, total = jnp.ones_like(x), jnp.ones_like(x)
    for k in range(1, _HANKEL_TERMS):
        term = -term * (4 * v * v - (2 * k - 1) ** 2) / (8 * k * x)
        total = total + term
    return -0.5 * jnp.log(2 * np.pi * x) + jnp.log(total)


def _log_i_debye(v: Any, x: Any) -> Any:
    """ln(exp(-x) I_v(x)) for v over 15."""
    root = jnp.sqrt(v * v + x * x)
    t = v / root
    total = jnp.zeros_like(x)
    for k, u in reversed(list(enumerate(_debye_polynomials()))):
        total = total + jnp.polyval(jnp.asarray(u[::-1], x.dtype), t) / v**k
    return v * v / (root + x) + v * jnp.log(x / (v + root)) - 0.5 * jnp.log(2 * np.pi * root) + jnp.log(total)


def log_ive(order: Any, x: Any) -> Any:
    """ln(exp(-x) I_v(x)) for v >= 0, x > 0."""
    high = (order > _DEBYE_FROM) & (x > 1)
    far = (x > _SERIES_UP_TO) & ~high
    near = ~(high | far)
    series = _log_i_series(jnp.where(near, order, 1.0), jnp.where(near, x, 1.0))
    hankel = _log_i_hankel(jnp.where(far, order, 1.0), jnp.where(far, x, 100.0))
    debye = _log_i_debye(jnp.where(high, order, 20.0), jnp.where(high, x, 10.0))
    return jnp.where(near, series, jnp.where(far, hankel, debye))


def ive(order: Any, x: Any) -> Any:
    """exp(-|x|) I_v(x); negative orders by reflection, negative arguments for whole orders."""
    v, z = jnp.abs(order), jnp.abs(x)
    inner = jnp.where(z > 0, z, 1.0)
    value = jnp.exp(log_ive(v, inner))
    turned = value + 2 / np.pi * jnp.sin(np.pi * v) * jnp.exp(log_kve(v, inner) - 2 * inner)
    whole = v == jnp.floor(v)
    value = jnp.where((order < 0) & ~whole, turned, value)
    at_zero = jnp.where(v == 0, 1.0, jnp.where((order < 0) & ~whole, jnp.inf, 0.0))
    value = jnp.where(z == 0, at_zero, jnp.where(jnp.isnan(x), jnp.nan, value))
    parity = jnp.where(jnp.mod(v, 2) == 1, -1.0, 1.0)
    return jnp.where(x < 0, jnp.where(whole, parity * value, jnp.nan), value)


def iv(order: Any, x: Any) -> Any:
    """I_v(x), the modified Bessel function of the first kind."""
    return ive(order, x) * jnp.exp(jnp.abs(x))


# --- J of whole order
def jn(order: int, x: Any) -> Any:
    """J_n(x): the trapezoidal rule on (1/π) ∫_0^π cos(nθ - x sin θ) dθ up to 60, Hankel's expansion beyond."""
    near = jnp.abs(x) <= 60
    z = jnp.where(near, x, 0.0)
    angle = np.pi * (np.arange(128) + 0.5) / 128
    inside = jnp.mean(jnp.cos(order * angle - z[..., None] * np.sin(angle)), -1)
    y = jnp.where(near, 100.0, jnp.abs(x))
    term, p, q = jnp.ones_like(y), jnp.ones_like(y), jnp.zeros_like(y)
    for k in range(1, 20):
        term = term * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * y)
        sign = (-1) ** (k // 2)
        p, q = (p + sign * term, q) if k % 2 == 0 else (p, q + sign * term)
    phase = y - (order / 2 + 0.25) * np.pi
    far = jnp.sqrt(2 / (np.pi * y)) * (p * jnp.cos(phase) - q * jnp.sin(phase))
    return jnp.where(near, inside, jnp.where((x < 0) & (order % 2 == 1), -far, far))
