"""Fourier transforms, with NumPy's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.config import config
from ppl.tensor.core.ops import JaxOp
from ppl.tensor.tensor import Tensor, constant, function
from ppl.xla.later import Functions, jnp

_JAX = Functions("jax.numpy.fft")


def _along_one(name: str) -> JaxOp:
    transform = getattr(_JAX, name)
    return JaxOp(name, lambda a, *, n=None, axis=-1, norm=None: transform(a, n, axis, norm), to_float=True)


def _along_several(name: str, axes: Any) -> JaxOp:
    transform = getattr(_JAX, name)

    def lower(a: Any, *, s: Any = None, axes: Any = axes, norm: Any = None) -> Any:
        return transform(a, s, axes, norm)

    return JaxOp(name, lower, to_float=True)


fft, ifft, rfft, irfft, hfft, ihfft = map(_along_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = (_along_several(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2"))
fftn, ifftn, rfftn, irfftn = (_along_several(name, None) for name in ("fftn", "ifftn", "rfftn", "irfftn"))
fftshift = JaxOp("fftshift", lambda x, *, axes=None: jnp.fft.fftshift(x, axes))
ifftshift = JaxOp("ifftshift", lambda x, *, axes=None: jnp.fft.ifftshift(x, axes))


@function()
def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of `fft` for `n` samples `d` apart."""
    return constant(np.fft.fftfreq(n, d).astype(config.floatX))


@function()
def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of `rfft` for `n` samples `d` apart."""
    return constant(np.fft.rfftfreq(n, d).astype(config.floatX))
