"""Convolutions and correlations of sequences."""

from __future__ import annotations

import jax.numpy as jnp

from ppl.tensor.ops import JaxOp

convolve = JaxOp("convolve", lambda a, b, *, mode="full": jnp.convolve(a, b, mode), ("convolve1d",))


correlate = JaxOp("correlate", lambda a, b, *, mode="valid": jnp.correlate(a, b, mode))
