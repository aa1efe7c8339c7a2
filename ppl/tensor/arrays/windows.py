"""Windows: weights that fade a stretch of a signal out towards its ends."""

from __future__ import annotations

import numpy as np

from ppl.tensor.tensor import Tensor, constant, function


@function()
def bartlett(M: int) -> Tensor:
    """The triangular window of `m` points."""
    return constant(np.bartlett(M))


@function()
def blackman(M: int) -> Tensor:
    """Blackman's window of `m` points."""
    return constant(np.blackman(M))


@function()
def hamming(M: int) -> Tensor:
    """Hamming's window of `m` points."""
    return constant(np.hamming(M))


@function()
def hanning(M: int) -> Tensor:
    """Hann's window of `m` points."""
    return constant(np.hanning(M))


@function()
def kaiser(M: int, beta: float) -> Tensor:
    """Kaiser's window of `m` points."""
    return constant(np.kaiser(M, beta))
