r"""Incomplete gamma and beta functions in logarithms, their inverses, and the logarithm of the beta function.

They are the distribution functions of log X for a gamma X and of logit X for a beta X, whose densities are log-concave.
The tail is integrated on the side where it is small (`tails`); the other tail is the rest to 1. Since the tails are
log-concave too, Newton's method in logarithms finds a quantile from any start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.tensor.core.elementwise import log1mexp
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.special_functions.counts import deviance, stirling
from ppl.tensor.special_functions.tails import tail_integral, together
from ppl.xla.later import custom_jvp, jax, jnp, lax

_log1mexp, _stirling, _deviance = log1mexp.lower, stirling.lower, deviance.lower


# --- gamma
def _log_gamma_power(a: Any, x: Any) -> Any:
    """log of x^a exp(-x) / Γ(a + 1)."""
    return -_stirling(a) - _deviance(a, x, jnp.log(x))


def _gamma_tails(a: Any, x: Any) -> tuple[Any, Any]:
    """log P(a, x) and log Q(a, x) for 0 < x < ∞."""
    lower = x <= jnp.maximum(a, 1.0)
    step = jnp.where(lower & (a < 1), 1.0, 0.0)  # P(a, x) = P(a + 1, x) + x^a exp(-x) / Γ(a + 1)
    side = jnp.where(lower, 1.0, -1.0)
    mass = tail_integral(
        lambda s, a, x, side: side * a * s + x * jnp.expm1(-side * s),
        side * (a + step - x), x, a + step, x, side,
    )  # fmt: skip
    power = _log_gamma_power(a, x)
    tail = power + jnp.where(step > 0, jnp.log1p(x * mass), jnp.log(a * mass))
    tail = jnp.minimum(tail, 0.0)
    rest = _log1mexp(jnp.minimum(tail, -1e-300))
    return jnp.where(lower, tail, rest), jnp.where(lower, rest, tail)


def _gamma_tail(upper: bool) -> Callable[..., Any]:
    def tail(a: Any, x: Any) -> Any:
        inside = (x > 0) & (x < jnp.inf)
        value = _gamma_tails(a, jnp.where(inside, x, 1.0))[upper]
        sure = jnp.where(a == 1, -x, 0.0)  # 0, with the slope that it has for a = 1
        ends = (sure, -jnp.inf) if upper else (-jnp.inf, 0.0)
        outside = jnp.where(jnp.isnan(a), jnp.nan, jnp.where(x == 0, ends[0], jnp.where(x > 0, ends[1], jnp.nan)))
        return jnp.where(inside, value, outside)

    return together(tail)


log_gammainc = Elementwise("log_gammainc", _gamma_tail(False), "float", range=(-np.inf, 0))
log_gammaincc = Elementwise("log_gammaincc", _gamma_tail(True), "float", range=(-np.inf, 0))
log_gammainc.__doc__ = "log P(X ≤ x) for X ~ Gamma(a, 1)."
log_gammaincc.__doc__ = "log P(X > x) for X ~ Gamma(a, 1)."


# --- beta
def _betaln(a: Any, b: Any) -> Any:
    """log B(a, b); the terms in a log a are written so that they do not cancel."""
    n = a + b
    powers = a * jnp.log1p(b / a) + b * jnp.log1p(a / b)
    return _stirling(a) + _stirling(b) - _stirling(n) - powers - jnp.log(a) + jnp.log1p(a / b)


def log_beta_power(a: Any, b: Any, t: Any) -> Any:
    """log of x^a (1 - x)^b / (a B(a, b)) at x = sigmoid(t)."""
    n, log_x, log_y = a + b, jax.nn.log_sigmoid(t), jax.nn.log_sigmoid(-t)
    log_n = jnp.log(n)
    remainders = _stirling(n) - _stirling(a) - _stirling(b)
    return (
        remainders
        - _deviance(a, n * jnp.exp(log_x), log_n + log_x)
        - _deviance(b, n * jnp.exp(log_y), log_n + log_y)
        - jnp.log1p(a / b)
    )


def _beta_fall(s: Any, a: Any, b: Any, p: Any) -> Any:
    """h(t) - h(t - s), written in x or in 1 - x, whichever is small: p is x, or x - 1, which may be -0."""
    by_x = ~jnp.signbit(p)
    return jnp.where(by_x, a, -b) * s + (a + b) * jnp.log1p(jnp.abs(p) * jnp.expm1(jnp.where(by_x, -s, s)))


def _beta_tail(a: Any, b: Any, t: Any) -> Any:
    """log P(logit X ≤ t) for X ~ Beta(a, b) and finite t."""
    lower = (a + (a < 1)) * jax.nn.sigmoid(-t) >= (b + (b < 1)) * jax.nn.sigmoid(t)
    near, far, t = jnp.where(lower, a, b), jnp.where(lower, b, a), jnp.where(lower, t, -t)
    x, y = jax.nn.sigmoid(t), jax.nn.sigmoid(-t)
    step = jnp.where(near < 1, 1.0, 0.0)  # I(a, b) = I(a + 1, b) + x^a (1 - x)^b / (a B(a, b))
    mass = tail_integral(
        _beta_fall, (near + step) * y - far * x, (near + far + step) * x * y, near + step, far, jnp.where(x < y, x, -y)
    )
    tail = log_beta_power(near, far, t) + jnp.where(step > 0, jnp.log1p((near + far) * x * mass), jnp.log(near * mass))
    tail = jnp.minimum(tail, 0.0)
    return jnp.where(lower, tail, _log1mexp(jnp.minimum(tail, -1e-300)))


def _log_beta_cdf(a: Any, b: Any, t: Any) -> Any:
    finite = jnp.isfinite(t)
    value = _beta_tail(a, b, jnp.where(finite, t, 0.0))
    return jnp.where(finite, value, jnp.where(t > 0, 0.0, jnp.where(t < 0, -jnp.inf, jnp.nan)))


betaln = Elementwise("betaln", together(_betaln), "float", commutative=True)
log_beta_cdf = Elementwise("log_beta_cdf", together(_log_beta_cdf), "float", range=(-np.inf, 0))
betaln.__doc__ = "log B(a, b)."
log_beta_cdf.__doc__ = "log P(logit X ≤ t) for X ~ Beta(a, b); for P(logit X > t) it is log_beta_cdf(b, a, -t)."


gammainc = Elementwise("gammainc", lambda a, x: jnp.exp(log_gammainc.lower(a, x)), "float", range=(0, 1))
gammaincc = Elementwise("gammaincc", lambda a, x: jnp.exp(log_gammaincc.lower(a, x)), "float", range=(0, 1))
betainc = Elementwise(
    "betainc", lambda a, b, x: jnp.exp(log_beta_cdf.lower(a, b, jnp.log(x) - jnp.log1p(-x))), "float", range=(0, 1)
)
gammainc.__doc__ = "P(X ≤ x) for X ~ Gamma(a, 1)."
gammaincc.__doc__ = "P(X > x) for X ~ Gamma(a, 1)."
betainc.__doc__ = "P(X ≤ x) for X ~ Beta(a, b)."


# --- quantiles
def _newton(tail: Callable[[Any], tuple[Any, Any]], target: Any, start: Any) -> Any:
    """Where log-tail = target; `tail` gives the log-tail and its slope. The step after one of 1e-9 is exact."""

    def step(state: Any) -> Any:
        count, t, _ = state
        value, slope = tail(t)
        new = t - (value - target) / slope
        change = jnp.abs(new - t) / (1e-3 + jnp.abs(new))
        return count + 1, new, jnp.max(jnp.where(jnp.isnan(change), 0.0, change), initial=0.0)

    state = (0, *step((0, start, jnp.inf))[1:])
    return lax.while_loop(lambda s: (s[0] < 60) & (s[2] > 1e-9), step, state)[1]


@custom_jvp
def _gamma_quantile(a: Any, lower: Any, target: Any) -> Any:
    """log x where the log-tail below (or above) x is `target`."""
    spread = jnp.sqrt(-2 * a * target)
    right = jnp.log(a + spread - target)
    left = jnp.where(a > 2 * spread, jnp.log(jnp.maximum(a - spread, a / 2)), jnp.log(a))

    def tail(u: Any) -> tuple[Any, Any]:
        x = jnp.exp(u)
        below, above = _gamma_tails(a, jnp.maximum(x, 1e-305))
        below = jnp.where(x < 1e-305, a * u - lax.lgamma(a + 1), below)
        value = jnp.where(lower, below, above)
        density = jnp.log(a) + jnp.where(x < 1e-305, below, _log_gamma_power(a, jnp.maximum(x, 1e-305)))
        return value, jnp.where(lower, 1.0, -1.0) * jnp.exp(density - value)

    return _newton(tail, target, jnp.where(lower, left, right))


@_gamma_quantile.defjvp
def _gamma_quantile_slope(primals: Any, tangents: Any) -> Any:
    (a, lower, target), (da, _, dtarget) = primals, tangents
    u = _gamma_quantile(a, lower, target)
    x = jnp.maximum(jnp.exp(u), 1e-305)
    value, by_a = jax.jvp(lambda a: jnp.where(lower, *_gamma_tails(a, x)), (a,), (jnp.ones_like(a),))
    slope = jnp.where(lower, 1.0, -1.0) * jnp.exp(jnp.log(a) + _log_gamma_power(a, x) - value)
    return u, (dtarget - by_a * da) / slope


def _gamma_inverse(upper: bool) -> Callable[..., Any]:
    def inverse(a: Any, q: Any) -> Any:
        inside = (q > 0) & (q < 1)
        safe = jnp.where(inside, q, 0.5)
        small = safe <= 0.5
        u = _gamma_quantile(a, small ^ upper, jnp.where(small, jnp.log(safe), jnp.log1p(-safe)))
        ends = (jnp.inf, 0.0) if upper else (0.0, jnp.inf)
        return jnp.where(inside, jnp.exp(u), jnp.where(q == 0, ends[0], jnp.where(q == 1, ends[1], jnp.nan)))

    return together(inverse)


@custom_jvp
def _beta_quantile(a: Any, b: Any, target: Any) -> Any:
    """t where the log-tail of logit X below t is `target`."""

    def tail(t: Any) -> tuple[Any, Any]:
        value = _beta_tail(a, b, t)
        return value, a * jnp.exp(log_beta_power(a, b, t) - value)

    return _newton(tail, target, jnp.log(a) - jnp.log(b))


@_beta_quantile.defjvp
def _beta_quantile_slope(primals: Any, tangents: Any) -> Any:
    (a, b, target), (da, db, dtarget) = primals, tangents
    t = _beta_quantile(a, b, target)
    value, by_shape = jax.jvp(lambda a, b: _beta_tail(a, b, t), (a, b), (da, db))
    return t, (dtarget - by_shape) / (a * jnp.exp(log_beta_power(a, b, t) - value))


def _beta_inverse(a: Any, b: Any, q: Any) -> Any:
    inside = (q > 0) & (q < 1)
    safe = jnp.where(inside, q, 0.5)
    small = safe <= 0.5
    near, far = jnp.where(small, a, b), jnp.where(small, b, a)
    t = _beta_quantile(near, far, jnp.where(small, jnp.log(safe), jnp.log1p(-safe)))
    ends = jnp.where(q == 0, -jnp.inf, jnp.where(q == 1, jnp.inf, jnp.nan))
    return jnp.where(inside, jnp.where(small, t, -t), ends)


_logit_betaincinv = together(_beta_inverse)
gammaincinv = Elementwise("gammaincinv", _gamma_inverse(False), "float", range=(0, np.inf))
gammainccinv = Elementwise("gammainccinv", _gamma_inverse(True), "float", range=(0, np.inf))
logit_betaincinv = Elementwise("logit_betaincinv", _logit_betaincinv, "float")
betaincinv = Elementwise("betaincinv", lambda *args: jax.nn.sigmoid(_logit_betaincinv(*args)), "float", range=(0, 1))
gammaincinv.__doc__ = "x with P(X ≤ x) = q for X ~ Gamma(a, 1)."
gammainccinv.__doc__ = "x with P(X > x) = q for X ~ Gamma(a, 1)."
logit_betaincinv.__doc__ = "t with P(logit X ≤ t) = q for X ~ Beta(a, b)."
betaincinv.__doc__ = "x with P(X ≤ x) = q for X ~ Beta(a, b)."
