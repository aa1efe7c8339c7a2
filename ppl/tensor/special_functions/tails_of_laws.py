"""Distribution functions of skew normal, Rice and von Mises laws, in logarithms: integrals in which nothing cancels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.core.elementwise import log1mexp
from ppl.tensor.core.later import jsp
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.special_functions.normal import erfcx, log_ndtr
from ppl.tensor.special_functions.tails import DEPTH, nodes_and_weights, tail_integral, together
from ppl.xla.later import custom_jvp, jnp, lax

_log1mexp, _erfcx, _log_ndtr = log1mexp.lower, erfcx.lower, log_ndtr.lower
_R = float(np.sqrt(0.5))
_LOG_2, _LOG_2PI = float(np.log(2.0)), float(np.log(2 * np.pi))


def _rest(tail: Any) -> Any:
    return _log1mexp(jnp.minimum(tail, -1e-300))


# --- skew normal
def _skew_fall(s: Any, alpha: Any, y: Any) -> Any:
    """h(-y) - h(-y - s) for y, α ≥ 0, where h is -y²/2 + log Φ(-αy) up to a constant."""
    ratio = jnp.log(_erfcx(alpha * y * _R)) - jnp.log(_erfcx(alpha * (y + s) * _R))
    return (1 + alpha**2) * (y * s + s**2 / 2) + ratio


def _log_skew_ndtr(alpha: Any, z: Any) -> Any:
    """With F for α ≥ 0: F(-y) is a tail, F(y) = F(-y) + erf(y/√2), and for -α the tails change sides."""
    finite = jnp.isfinite(z)
    z_, a, y = jnp.where(alpha < 0, -z, z), jnp.abs(alpha), jnp.where(finite, jnp.abs(z), 1.0)
    slope = y + a * np.sqrt(2 / np.pi) / _erfcx(a * y * _R)
    mass = tail_integral(_skew_fall, slope, 1.0, a, y)
    scaled = _LOG_2 - _LOG_2PI / 2 + _log_ndtr(-a * y) + jnp.log(mass)  # F(-y), but for exp(-y²/2)
    both = jnp.log(_erfcx(y * _R))  # P(|Z| > y), but for the same
    far_left = scaled - y**2 / 2
    far_right = both - y**2 / 2 + jnp.log1p(-jnp.exp(scaled - both))
    near = jnp.logaddexp(far_left, jnp.log(jsp.erf(jnp.maximum(y, 1e-300) * _R)))
    right = jnp.where(far_right < -_LOG_2, _rest(far_right), near)
    below, above = jnp.where(z_ <= 0, far_left, right), jnp.where(z_ <= 0, _rest(far_left), far_right)
    inner = jnp.where(alpha < 0, above, below)
    return jnp.where(finite, inner, jnp.where(z > 0, 0.0, jnp.where(z < 0, -jnp.inf, jnp.nan)))


# --- Rice
@custom_jvp
def _log_i0e(x: Any) -> Any:
    return jnp.log(jsp.i0e(x))


_log_i0e.defjvps(lambda slope, value, x: slope * (jsp.i1e(x) / jsp.i0e(x) - 1))  # at 0 that on the right


def _rice_fall(s: Any, r: Any, a: Any, side: Any) -> Any:
    """h(r) - h(r + s) on the right (side 1), h(r) - h(r - s) on the left (side -1)."""
    bessel = _log_i0e(a * r) - _log_i0e(a * (r + side * s))
    return -jnp.log1p(side * s / r) + side * s * (r - a) + s**2 / 2 + bessel


def _rice_tails(r: Any, a: Any) -> tuple[Any, Any]:
    """log P(R ≤ r) and log P(R > r) for 0 < r < ∞."""
    u = a * r
    slope = 1 / r - (r - a) + a * (jsp.i1e(u) / jsp.i0e(u) - 1)
    side = jnp.where(slope > 0, -1.0, 1.0)
    most = jnp.where(slope > 0, r * (1 - 1e-12), jnp.inf)
    mass = tail_integral(_rice_fall, jnp.abs(slope), 1.0, r, a, side, most=most)
    tail = jnp.minimum(jnp.log(r) - (r - a) ** 2 / 2 + _log_i0e(u) + jnp.log(mass), 0.0)
    return jnp.where(side < 0, tail, _rest(tail)), jnp.where(side < 0, _rest(tail), tail)


# --- von Mises
def _arc(start: Any, end: Any, kappa: Any) -> tuple[Any, Any]:
    """The integral of exp(-2κ sin²(φ/2)) over distances φ from the mode, 0 ≤ start ≤ φ ≤ end ≤ π, but for its factor
    exp(-exponent) at the start; and the exponent."""
    highest = jnp.sin(start / 2) ** 2
    cut = 2 * jnp.arcsin(jnp.sqrt(jnp.minimum(highest + DEPTH / (2 * kappa), 1.0)))
    end = jnp.where(cut < end, lax.stop_gradient(cut), end)
    nodes, weights = nodes_and_weights()
    phi = start[..., None] + (end - start)[..., None] * jnp.asarray(nodes, end.dtype)
    first = start[..., None]
    fall = 2 * kappa[..., None] * jnp.sin((phi - first) / 2) * jnp.sin((phi + first) / 2)
    return (end - start) * jnp.sum(jnp.exp(-fall) * jnp.asarray(weights, end.dtype), axis=-1), 2 * kappa * highest


def _log_arcs(low: Any, high: Any, kappa: Any) -> Any:
    """log of the integral of exp(-2κ sin²(θ/2)) over -2π ≤ low ≤ θ ≤ high ≤ 2π: between modes and antimodes."""
    parts = []
    for k in range(-2, 2):
        first, last = k * np.pi, (k + 1) * np.pi  # an end at a border moves the part that it is the end of
        left = jnp.where(low < first, first, jnp.where(low >= last, last, low))
        right = jnp.where(high <= first, first, jnp.where(high > last, last, high))
        mode = np.pi * (k if k % 2 == 0 else k + 1)
        ends = (left - mode, right - mode) if k % 2 == 0 else (mode - right, mode - left)
        parts.append((*_arc(*ends, kappa), right > left))
    least = jnp.min(jnp.stack([jnp.where(there, e, jnp.inf) for _, e, there in parts]), axis=0)
    least = lax.stop_gradient(jnp.where(jnp.isfinite(least), least, 0.0))
    total = sum(jnp.where(there, mass * jnp.exp(jnp.where(there, least - e, 0.0)), 0.0) for mass, e, there in parts)
    return jnp.log(total) - least


def _log_von_mises_cdf(x: Any, mu: Any, kappa: Any) -> Any:
    """From -π to x, or 1 less what lies from x to π, whichever is small."""
    center = jnp.arctan2(jnp.sin(mu), jnp.cos(mu))
    inside = (x > -np.pi) & (x < np.pi)
    at = jnp.where(inside, x, 0.0) - center
    scale = _LOG_2PI + jnp.log(jsp.i0e(kappa))
    below = jnp.minimum(_log_arcs(-np.pi - center, at, kappa) - scale, 0.0)
    above = jnp.minimum(_log_arcs(at, np.pi - center, kappa) - scale, 0.0)
    ends = jnp.where(x >= np.pi, 0.0, jnp.where(x <= -np.pi, -jnp.inf, jnp.nan))
    return jnp.where(inside, jnp.where(below < -_LOG_2, below, _rest(above)), ends)


log_i0e = Elementwise("log_i0e", _log_i0e, "float", range=(-np.inf, 0))
log_skew_ndtr = Elementwise("log_skew_ndtr", together(_log_skew_ndtr), "float", range=(-np.inf, 0))
log_rice_cdf = Elementwise("log_rice_cdf", together(lambda r, a: _rice_tails(r, a)[0]), "float", range=(-np.inf, 0))
log_rice_ccdf = Elementwise("log_rice_ccdf", together(lambda r, a: _rice_tails(r, a)[1]), "float", range=(-np.inf, 0))
log_von_mises_cdf = Elementwise("log_von_mises_cdf", together(_log_von_mises_cdf), "float", range=(-np.inf, 0))
log_i0e.__doc__ = "log I₀(x) - x for x ≥ 0."
log_skew_ndtr.__doc__ = "log P(X ≤ z) for X ~ SkewNormal(alpha, 0, 1); log P(X > z) is log_skew_ndtr(-alpha, -z)."
log_rice_cdf.__doc__ = (
    "log P(R ≤ r) for the length R of a plane vector of standard normals around a point at distance a."
)
log_rice_ccdf.__doc__ = (
    "log P(R > r) for the length R of a plane vector of standard normals around a point at distance a."
)
log_von_mises_cdf.__doc__ = "log P(X ≤ x) for X ~ VonMises(mu, kappa); log P(X > x) is that of -x and -mu."
