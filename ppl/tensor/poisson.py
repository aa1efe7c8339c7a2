"""Poisson draws, for means from 0 to 1e15 and beyond."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ppl.tensor.draws import Draw
from ppl.tensor.special_counts import deviance, stirling

_stirling, _deviance = stirling.lower, deviance.lower


def _poisson(key: Any, lam: Any, *, shape: Any, dtype: Any) -> Any:
    """Hörmann's transformed rejection (1993, PTRS) for a mean of 10 or more, inversion below; nan and negative is -1.

    In double precision and by a density without cancellation: JAX's own works in single precision, which is wrong for
    means of 1e7 and more.
    """
    lam = jnp.broadcast_to(lam, shape).astype("float64")
    large = lam >= 10
    valid = (lam >= 0) & jnp.isfinite(lam)
    few = _poisson_by_inversion(key, jnp.where(valid & ~large, lam, 0.0))
    many = _poisson_by_rejection(key, jnp.where(valid & large, lam, 10.0), valid & large)
    return jnp.where(valid, jnp.where(large, many, few), -1).astype(dtype)


def _poisson_by_inversion(key: Any, lam: Any) -> Any:
    def further(state: Any) -> Any:
        k, weight, left = state
        open_ = left >= weight
        left = jnp.where(open_, left - weight, left)
        k = jnp.where(open_, k + 1, k)
        return k, jnp.where(open_, weight * lam / jnp.maximum(k, 1), weight), left

    start = (jnp.zeros_like(lam), jnp.exp(-lam), jax.random.uniform(key, lam.shape, lam.dtype))
    some_left = lambda state: jnp.any((state[2] >= state[1]) & (state[1] > 0))
    return lax.while_loop(some_left, further, start)[0]


def _poisson_by_rejection(key: Any, lam: Any, wanted: Any) -> Any:
    b = 0.931 + 2.53 * jnp.sqrt(lam)
    a = 0.02483 * b - 0.059
    log_alpha, surely = jnp.log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2)

    def propose(state: Any) -> Any:
        step, kept, open_ = state
        side, height = jax.random.uniform(jax.random.fold_in(key, step), (2, *lam.shape), lam.dtype)
        u, v = side - 0.5, 1 - height
        edge = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / edge + b) * u + lam + 0.43)
        x = jnp.maximum(k, 0)
        log_weight = -_stirling(x) - _deviance(x, lam, jnp.log(lam))
        below = jnp.log(v) + log_alpha - jnp.log(a / edge**2 + b) <= log_weight
        accepted = ((edge >= 0.07) & (v <= surely)) | ((k >= 0) & ((edge >= 0.013) | (v <= edge)) & below)
        return step + 1, jnp.where(open_ & accepted, k, kept), open_ & ~accepted

    start = (jnp.uint32(0), jnp.zeros_like(lam), wanted)
    return lax.while_loop(lambda state: jnp.any(state[2]), propose, start)[1]


poisson = Draw("random_poisson", _poisson, 1, "int")
