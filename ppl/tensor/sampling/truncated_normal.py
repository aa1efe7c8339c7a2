"""Standard normal draws between bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.sampling import standard_draws as standard
from ppl.tensor.sampling.draws import Draw
from ppl.tensor.special_functions.normal import log_ndtr_between, log_ndtr_of, ndtri_exp_of
from ppl.xla import threefry
from ppl.xla.either import cond, of_numpy, xp
from ppl.xla.later import custom_jvp, jnp

_FAR = -725.0  # the logarithm of the probability of 38 standard deviations: further out by a search


def _quantile(u: Any, low: Any, high: Any) -> Any:
    """z with Φ(z) = (1 - u) Φ(low) + u Φ(high), found in the tail where the nearer bound lies."""
    left = low + high < 0
    a, b = xp.where(left, low, -high), xp.where(left, high, -low)  # a is the bound further out
    share = xp.where(left, u, 1 - u)
    mass = log_ndtr_between.lower(a, b)
    top = log_ndtr_of(b)
    log_p = top + standard.log(share + (1 - share) * -xp.expm1(mass - top))
    far = lambda: ndtri_exp_of(log_p)
    z = cond(xp.any(log_p < _FAR), far, lambda: standard.normal_quantile_of_log(log_p))
    return xp.clip(xp.where(left, z, -z), low, high)


_between = custom_jvp(_quantile)


@_between.defjvp
def _between_slope(primals: Any, tangents: Any) -> Any:
    """φ(z) dz = (1 - u) φ(low) dlow + u φ(high) dhigh."""
    (u, low, high), (_, dlow, dhigh) = primals, tangents
    z = _between(u, low, high)
    at_low, at_high = (jnp.exp(0.5 * (z - bound) * (z + bound)) for bound in (low, high))
    return z, (1 - u) * at_low * dlow + u * at_high * dhigh


def _truncated_normal(key: Any, low: Any, high: Any, *, shape: Any, dtype: Any) -> Any:
    u = standard.open_uniform_of(threefry.bits(key, tuple(shape), np.uint64))
    bounds = (xp.clip(bound.astype(np.float64), -1e10, 1e10) for bound in (low, high))  # infinite ones have no sum
    return (_quantile if of_numpy(u) else _between)(u, *bounds).astype(dtype)


truncated_normal = Draw("random_truncated_normal", _truncated_normal, 2, "float", at_once=True)
