"""Gamma draws in logarithms, for shapes from the smallest to the largest double."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ppl.tensor.core.later import jsp
from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.acceptance import few, held, in_blocks, in_rounds, redone, taken
from ppl.tensor.sampling.draws import Draw
from ppl.xla import threefry
from ppl.xla.either import cond, xp
from ppl.xla.later import custom_jvp, jnp, lax


def log_gamma(shape: tuple[int, ...], key: Any, alpha: Any) -> Any:
    """The logarithm of Gamma(alpha, 1), by Marsaglia and Tsang (2000).

    For alpha < 1 a draw of alpha + 1 times U^(1/alpha) (their section 6), in logarithms, so that a tiny alpha, whose
    draws underflow, still has distinct ones. JAX's own sampler takes the entries one by one.
    """
    if isinstance(key, threefry.Entries | threefry.HostKey):
        return in_blocks(_log_gamma, key, shape, (alpha,))
    return _with_slope(shape, key, jnp.asarray(alpha))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _with_slope(shape: tuple[int, ...], key: Any, alpha: Any) -> Any:
    return in_blocks(_log_gamma, key, shape, (alpha,))


def _log_gamma(key: Any, shape: tuple[int, ...], alpha: Any) -> Any:
    boost_key, loop_key = threefry.split(key)
    valid = (alpha > 0) & xp.isfinite(alpha)
    d = xp.where(valid, xp.where(alpha < 1, alpha + 1, alpha), 1) - 1 / 3
    small = lambda log_v: log_v - xp.where(alpha < 1, standard.exponential(boost_key, shape, np.float64) / alpha, 0.0)
    log_v = 3 * standard.log(_roots(shape, loop_key, d, valid))
    result = standard.log(d) + cond(xp.any(alpha < 1), small, lambda log_v: log_v, log_v)
    return xp.where(valid, result, xp.where(alpha == 0, -np.inf, xp.where(alpha > 0, np.inf, np.nan)))


@_with_slope.defjvp
def _log_gamma_slope(shape: tuple[int, ...], primals: Any, tangents: Any) -> Any:
    """Implicit differentiation of the cumulative distribution function (Figurnov et al. 2018).

    Below exp(-30) it is x^alpha / Gamma(alpha + 1) to rounding, whose derivative is written out: exp(x) may underflow.
    """
    (key, alpha), (_, slope) = primals, tangents
    x = _with_slope(shape, key, alpha)
    small = x < -30
    value = xp.exp(xp.where(small, 0, x))
    large = lax.random_gamma_grad(alpha, value) / value
    return x, slope * xp.where(small, (jsp.digamma(alpha + 1) - x) / alpha, large)


# The proposal is d r³ with r = 1 + z/√(9d) and z normal, accepted with probability exp(-d g(r - 1)).


def _roots(shape: tuple[int, ...], key: Any, d: Any, wanted: Any) -> Any:
    """The accepted r, where one is wanted.

    Of many, most are accepted without a logarithm: a normal takes 52 bits of a word, and where the other 12 say that a
    uniform number lies below a bound of the probability, that settles it. Where they do not, it lies above, anywhere.
    """
    if few(key, shape):
        return in_rounds(_propose, key, (d,), xp.broadcast_to(wanted, shape))
    first, rest = threefry.split(key)
    words = threefry.bits(first, shape, np.uint64)
    r = _proposed(words, d)
    last = standard.double_of((words & np.uint64(4095)) | np.uint64(0x433 << 52)) - 2.0**52
    tried = xp.where(last < 4096 * _surely(r, d), r, xp.where(r > 0, -r, np.nan))
    roots = held(xp.where(wanted, tried, 1.0), first)

    def again(key: Any, left: Any, at: Any, there: Any) -> Any:
        some, (decide, propose) = taken(d, at), threefry.split(key)
        open_ = left < 0
        r, word = xp.where(open_, -left, 1.0), threefry.bits(decide, at.shape, np.uint64)
        sure = _surely(r, some)
        accepted = open_ & _below(sure + (1 - sure) * standard.open_uniform_of(word), r, some)
        return xp.where(accepted, r, in_rounds(_propose, propose, (some,), there & ~accepted))

    return redone(roots, ~(roots > 0), rest, again, part=32)


def _proposed(words: Any, d: Any) -> Any:
    return 1 + standard.normal_of(words) / xp.sqrt(9 * d)


def _surely(r: Any, d: Any) -> Any:
    """A lower bound of the probability of acceptance, in whole parts of 4096: g(t) ≤ ¾t⁴/(1 + min(t, 0)) by Taylor."""
    bound = 1 - 0.75 * d * (r - 1) ** 4 / xp.clip(r, 1e-3, 1)  # below 0 where r is smaller still
    return xp.maximum(xp.floor(4096 * bound), 0) / 4096


def _below(u: Any, r: Any, d: Any) -> Any:
    """Whether u is below the probability of acceptance, in logarithms: g(t) = t³ - 3t²/2 + 3t - 3 log(1 + t)."""
    t = r - 1
    return standard.log(u) < -d * (((t - 1.5) * t + 3) * t - 3 * standard.log(r))


def _propose(words: Any, d: Any) -> tuple[Any, Any]:
    r = _proposed(words[0], d)
    inside = r > 0
    return r, inside & _below(standard.open_uniform_of(words[1]), xp.where(inside, r, 1), d)


def _draw(key: Any, alpha: Any, *, shape: Any, dtype: Any) -> Any:
    alpha = alpha.astype(np.float64)
    return log_gamma(tuple(shape), key, alpha if alpha.ndim == 0 else xp.broadcast_to(alpha, shape)).astype(dtype)


loggamma = Draw("random_loggamma", _draw, 1, "float", at_once=True)
