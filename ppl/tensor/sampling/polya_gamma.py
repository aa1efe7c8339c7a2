r"""The Pólya-gamma law PG(h, 0): its density, its distribution function and its draws.

Its Laplace transform is :math:`E e^{-sX} = \cosh^{-h}\sqrt{s/2}`, whose singularities lie on the negative line. The
density is h/4x times the integral of :math:`e^{φ(s)} m(s)/2πi`, :math:`φ(s) = sx - h\log\cosh\sqrt{s/2}`,
:math:`m(s) = \tanh\sqrt{s/2}/\sqrt{s/2}`, up a path to their right: by parts, since for small h the integral of
:math:`e^{φ(s)}` alone is small by cancellation. The distribution function is that of :math:`e^{φ(s)}/(2πi\,s)`, where a
path to the left of 0 gives minus the upper tail (PG(h, z) moves the pole from 0 to p = z²/2).
Along a parabola through the saddle point, with the curvature of the path of steepest descent, nothing cancels, and the
trapezoid rule in sinh is exact to rounding (for x → 0 this path is the parabola, for x → ∞ Hankel's). The well known
alternating series loses all digits for large x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.tensor.core.elementwise import log1mexp
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.sampling.draws import Draw
from ppl.tensor.sampling.gamma_draws import log_gamma
from ppl.xla import threefry
from ppl.xla.later import jax, jnp, lax

_NODES = 96  # of the density; the pole of the distribution function may be near, so that takes four times as many
_SMALL = 0.5  # of h
_REACH = 9.5  # standard deviations: exp(-45)


def _mean_of_tilted(y: Any) -> Any:
    """tanh(√y)/√y, the mean of the law tilted by exp(-2yX) in units of h/4; y > -π²/4."""
    small = jnp.abs(y) < 1e-3
    up = jnp.sqrt(jnp.where(y > 0, jnp.where(small, 1.0, y), 1.0))
    down = jnp.sqrt(jnp.where(y < 0, jnp.where(small, 1.0, -y), 1.0))
    series = 1 + y * (-1 / 3 + y * (2 / 15 + y * (-17 / 315 + y * 62 / 2835)))
    return jnp.where(small, series, jnp.where(y > 0, jnp.tanh(up) / up, jnp.tan(down) / down))


def _slope_of_log_sinhc(y: Any) -> Any:
    """The derivative of log(sinh(√y)/√y); y > -π²/4."""
    small = jnp.abs(y) < 1e-2
    away = jnp.where(small, 1.0, y)
    series = 1 / 6 + y * (-1 / 90 + y * (1 / 945 + y * (-1 / 9450 + y * (1 / 93555 - y * 691 / 638512875))))
    return jnp.where(small, series, (1 / _mean_of_tilted(away) - 1) / (2 * away))


def _saddle(slope: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Where an increasing slope is 0, near enough for a path through it."""

    def halve(_: Any, ends: Any) -> Any:
        low, high = ends
        middle = 0.5 * (low + high)
        below = slope(middle) < 0
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    return 0.5 * sum(lax.fori_loop(0, 64, halve, (low, high)))


def _log_integral(x: Any, h: Any, p: Any = None, upper: Any = False) -> Any:
    """The log-density; where p is given, that of the integral of exp(φ(s)) / 2πi|s - p|, on the side of p that is
    wanted."""
    # further out by the asymptotic form: log f < -1e6 there
    inner = jnp.clip(x, 1e-10 * h**2 / (1 + h), 1e12 * h + 1e6)
    low = -(h**2) / 8 * (1 / jnp.minimum(x, inner) - 1 / inner) + (-1.5 if p is None else 0.5) * jnp.log(x / inner)
    high = -(jnp.pi**2) / 2 * (x - inner) + (h - 1) * jnp.log(x / inner)
    beyond, x = jnp.where(x < inner, low, jnp.where(x > inner, high, 0.0)), inner
    fixed_x, fixed_h, fixed_p = (lax.stop_gradient(each) for each in (x, h, jnp.zeros_like(x) if p is None else p))
    r, wall, start = 4 * fixed_x / fixed_h, -(jnp.pi**2) / 4, fixed_p / 2

    def point(t: Any) -> tuple[Any, Any]:
        """y = s/2 from a number of any size, and its distance from the pole, each exact where it is small."""
        if p is None:
            return wall + jnp.exp(t), np.inf
        left, right = wall + (start - wall) * jax.nn.sigmoid(t), start + jnp.exp(t)
        return jnp.where(upper, left, right), jnp.where(upper, (wall - start) * jax.nn.sigmoid(-t), jnp.exp(t))

    def slope(t: Any) -> Any:
        """dφ/ds in units of h/4."""
        y, distance = point(t)
        if p is None:
            return r - (1 + 1 / fixed_h) * _mean_of_tilted(y) + 2 / fixed_h * _slope_of_log_sinhc(y)
        return r - _mean_of_tilted(y) - 2 / (fixed_h * distance)

    ends = jnp.full_like(r, 90.0)
    y, distance = point(_saddle(slope, -ends, ends))
    bend_of_mean = jax.grad(lambda y: jnp.sum(_mean_of_tilted(y)))
    order = fixed_h + (p is None)
    second = -order / 8 * bend_of_mean(y)
    third = -order / 16 * jax.grad(lambda y: jnp.sum(bend_of_mean(y)))(y)
    c = 2 * y
    if p is None:
        bend_of_sinhc = jax.grad(lambda y: jnp.sum(_slope_of_log_sinhc(y)))
        second = second + 0.25 * bend_of_sinhc(y)
        third = third + 0.125 * jax.grad(lambda y: jnp.sum(bend_of_sinhc(y)))(y)
    else:
        # left of the pole the path of φ alone leads away from it, with the pole's own bend it would lead round it; and
        # for a large h, where φ is a parabola, that bend leads along a ridge
        plain = upper | (fixed_h > 1)
        second = jnp.where(plain, second, second + 0.25 / distance**2)
        third = jnp.where(plain, third, third - 0.25 / distance**3)
    spread, bend = 1 / jnp.sqrt(second), -third / (6 * second)
    scale = jnp.minimum(spread, 2 * jnp.abs(distance))
    if p is not None:  # a small h bends nothing: round the singularities, by the parabola whose focus is the first
        alone, away = upper & (fixed_h < _SMALL), jnp.minimum(1 / fixed_x, 0.5 * (fixed_p - 2 * wall))
        c = jnp.where(alone, 2 * wall + away, c)
        spread, scale = (jnp.where(alone, away, each) for each in (spread, scale))
        bend = jnp.where(alone, 0.25 / away, bend)
    # the integrand falls by the curvature at c, or only by exp(-bend t² x) where c stands near the wall
    width = jnp.maximum(_REACH * spread, jnp.sqrt(_REACH**2 / 2 / jnp.maximum(bend * fixed_x, 1e-8 / spread**2)))
    beyond = beyond + (jnp.log(h / (4 * x)) if p is None else 0.0)
    return beyond + _along(x, h, p, c, bend, scale, width)


def _along(x: Any, h: Any, p: Any, c: Any, bend: Any, scale: Any, width: Any) -> Any:
    """The integral up a parabola through c, by nodes that lie close within `scale` of it, where a pole may be near."""
    nodes = _NODES if p is None else 4 * _NODES
    length = jnp.arcsinh(width / scale)
    u = length[..., None] * (jnp.arange(nodes) + 0.5) / nodes  # of one half, the other is its mirror image
    at = scale[..., None] * jnp.sinh(u)
    step = lax.complex(-bend[..., None] * at**2, at)
    s, first = c[..., None] + step, jnp.sqrt(lax.complex(c, jnp.zeros_like(c)) / 2)
    root = jnp.sqrt(s / 2)
    further = 0.5 * step / (root + first[..., None])  # of the root, without cancellation
    rise = further + jnp.log1p(jnp.exp(-2 * root)) - jnp.log1p(jnp.exp(-2 * first))[..., None]
    start = c * x - h * (first + jnp.log1p(jnp.exp(-2 * first)) - jnp.log(2.0)).real
    ahead, power = step * x[..., None], -h[..., None] * rise
    turned = lax.complex(jnp.ones_like(at), 2 * bend[..., None] * at)
    if p is None:
        factor = -jnp.expm1(-2 * root) / ((1 + jnp.exp(-2 * root)) * root)
        terms = jnp.exp(ahead + power) * factor
    else:
        # left of the pole a constant has no integral: without M(c) nothing cancels where h is small, M nearly constant
        alone = ((c < p) & (h < _SMALL))[..., None]
        risen = jnp.where(alone, jnp.exp(ahead) * jnp.expm1(jnp.where(alone, power, 0.0)), jnp.exp(ahead + power))
        terms = risen * jnp.sign(c - p)[..., None] / (s - p[..., None])
    terms = terms * turned
    return start + jnp.log(jnp.sum(terms.real * jnp.cosh(u), axis=-1) * scale * length / (nodes * jnp.pi))


def _log_tail(above: bool) -> Callable[..., Any]:
    def tail(x: Any, h: Any, z: Any) -> Any:
        p = z**2 / 2
        mean = h / 4 * _mean_of_tilted(p / 2)
        upper = x > jnp.where(h < _SMALL, 0.5 / (p + jnp.pi**2 / 2), mean)
        half = jnp.abs(z) / 2
        tilt = h * (half + jnp.log1p(jnp.exp(-2 * half)) - jnp.log(2.0)) - p * x
        small = jnp.minimum(_log_integral(x, h, p, upper) + tilt, -1e-300)
        return jnp.where(upper == above, small, log1mexp.lower(small))

    return tail


def _together(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: f(*jnp.broadcast_arrays(*[jnp.asarray(x) for x in xs]))


log_polya_gamma = Elementwise("log_polya_gamma", _together(_log_integral), "float")
log_polya_gamma_cdf = Elementwise("log_polya_gamma_cdf", _together(_log_tail(False)), "float", range=(-np.inf, 0))
log_polya_gamma_ccdf = Elementwise("log_polya_gamma_ccdf", _together(_log_tail(True)), "float", range=(-np.inf, 0))
log_polya_gamma.__doc__ = "log f(x) for X ~ PG(h, 0), x > 0."
log_polya_gamma_cdf.__doc__ = "log P(X ≤ x) for X ~ PG(h, z), x > 0, |z| < 1e8, to 1e-11, and h/1e17 for h > 1e6."
log_polya_gamma_ccdf.__doc__ = "log P(X > x) for X ~ PG(h, z), x > 0, |z| < 1e8, to 1e-11, and h/1e17 for h > 1e6."

_TERMS = 32


def _draw(key: Any, h: Any, z: Any, *, shape: Any, dtype: Any) -> Any:
    """The sum of Gamma(h)/d_k, d_k = 2π²(k - 1/2)² + z²/2 (Polson, Scott and Windle 2013, eq. 2).

    The terms from the 33rd on are replaced by one gamma number of their mean and variance; what is left of their third
    cumulant is below 1e-9 of the sum's, less than 1e17 draws would show.
    """
    h, z = (jnp.asarray(p, jnp.float64) for p in (h, z))
    y = z**2 / 4
    mean, slope = jax.jvp(_mean_of_tilted, (y,), (jnp.ones_like(y),))
    shapes = h if h.ndim == 0 else jnp.broadcast_to(h, shape)

    def gamma(k: Any, shapes: Any) -> Any:
        return jnp.exp(log_gamma(tuple(shape), threefry.fold_in(key, k), shapes))

    def add(k: Any, state: Any) -> Any:
        total, mean, variance = state
        d = 2 * jnp.pi**2 * (k + 0.5) ** 2 + z**2 / 2
        return total + gamma(k, shapes) / d, mean - 1 / d, variance - d**-2

    start = (jnp.zeros(shape), mean / 4, -slope / 8)
    total, mean, variance = lax.fori_loop(0, _TERMS, add, start)
    rest = h * mean**2 / variance
    rest = rest if rest.ndim == 0 else jnp.broadcast_to(rest, shape)
    return (total + gamma(_TERMS, rest) * variance / mean).astype(dtype)


polya_gamma = Draw("random_polya_gamma", _draw, 2, "float")
