"""Windows: weights that fade a stretch of a signal out towards its ends."""

from __future__ import annotations

import numpy as np

from ppl.tensor.tensor import Tensor, constant, function


@function()
def bartlett(m: int) -> Tensor:
    """The triangular window of `m` points."""
    return constant(np.bartlett(m))


@function()
def blackman(m: int) -> Tensor:
    """Blackman's window of `m` points."""
    return constant(np.blackman(m))


@function()
def hamming(m: int) -> Tensor:
    """Hamming's window of `m` points."""
    return constant(np.hamming(m))


@function()
def hanning(m: int) -> Tensor:
    """Hann's window of `m` points."""
    return constant(np.hanning(m))


@function()
def kaiser(m: int, beta: float) -> Tensor:
    """Kaiser's window of `m` points."""
    return constant(np.kaiser(m, beta))
