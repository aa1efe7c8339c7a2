"""Convolutions and correlations of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.core.ops import JaxOp
from ppl.xla.later import jnp


def shifted(entries: Any, starts: Any, width: int) -> Any:
    """Rows of `width` neighboring entries, from each of the starts. (JAX's own multiply by a matrix of ones and
    zeros, which makes nan of infinities.)"""
    return jnp.take(entries, starts[:, None] + np.arange(width), axis=-1)


def convolution_matrix_of(a: Any, *, n: int, mode: str = "full") -> Any:
    if n < 1 or mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix: n is positive, mode 'full', 'same' or 'valid'; got {n}, {mode!r}")
    m = a.shape[-1]
    padded = jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(n - 1, n - 1)])[..., ::-1]
    whole = shifted(padded, np.arange(m + n - 1)[::-1], n)
    rows = {"full": m + n - 1, "same": max(m, n), "valid": abs(m - n) + 1}[mode]
    first = (m + n - 1 - rows) // 2
    return whole[..., first : first + rows, :]


def _convolve(a: Any, b: Any, *, mode: str = "full") -> Any:
    """Of integers by a matrix, exactly: JAX makes floats of them."""
    if a.dtype.kind in "biu":
        return convolution_matrix_of(a, n=b.shape[-1], mode=mode) @ b
    return jnp.convolve(a, b, mode)


def _correlate(a: Any, b: Any, *, mode: str = "valid") -> Any:
    return _convolve(a, b[::-1], mode=mode) if a.dtype.kind in "biu" else jnp.correlate(a, b, mode)


convolve = JaxOp("convolve", _convolve, ("convolve1d",), one_dtype=True)
correlate = JaxOp("correlate", _correlate, one_dtype=True)
