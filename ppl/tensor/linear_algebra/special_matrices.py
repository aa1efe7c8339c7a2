"""Matrices of a special form, with SciPy's names: from a few entries, or from a size alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.tensor.arrays.convolutions import convolution_matrix_of, shifted
from ppl.tensor.arrays.creation import zeros_like
from ppl.tensor.core.later import jsl
from ppl.tensor.core.ops import JaxOp
from ppl.tensor.tensor import Tensor, as_tensor, constant, function
from ppl.xla.later import jnp


def _toeplitz_of(c: Any, r: Any) -> Any:
    m, n = c.shape[-1], r.shape[-1]
    return shifted(jnp.concatenate([c[..., ::-1], r[..., 1:]], axis=-1), np.arange(m)[::-1], n)


def _hankel_of(c: Any, r: Any) -> Any:
    m, n = c.shape[-1], r.shape[-1]
    return shifted(jnp.concatenate([c, r[..., 1:]], axis=-1), np.arange(m), n)


circulant = JaxOp("circulant", lambda c: jsl.circulant(c))
companion = JaxOp("companion", lambda a: jsl.companion(a), to_float=True)
fiedler = JaxOp("fiedler", lambda a: jsl.fiedler(a))
leslie = JaxOp("leslie", lambda f, s: jsl.leslie(f, s), one_dtype=True)
convolution_matrix = JaxOp("convolution_matrix", convolution_matrix_of)
_toeplitz = JaxOp("toeplitz_op", _toeplitz_of, one_dtype=True)
_hankel = JaxOp("hankel_op", _hankel_of, one_dtype=True)


@function()
def toeplitz(c: Any, r: Any = None) -> Tensor:
    """Constant along diagonals: the first column, and the first row (where None, the column's conjugate)."""
    c = as_tensor(c)
    return _toeplitz(c, c.conj() if r is None else r)


@function()
def hankel(c: Any, r: Any = None) -> Tensor:
    """Constant along the other diagonals: the first column, and the last row (zeros where None)."""
    c = as_tensor(c)
    return _hankel(c, zeros_like(c) if r is None else r)


def _of_size(name: str, doc: str) -> Callable[..., Tensor]:
    def make(n: int, **options: Any) -> Tensor:
        import scipy.linalg

        return constant(np.asarray(getattr(scipy.linalg, name)(n, **options)))

    make.__name__, make.__doc__ = name, doc
    return function()(make)


dft = _of_size("dft", "The matrix of the discrete Fourier transform.")
hadamard = _of_size("hadamard", "Hadamard's matrix of ±1, for powers of two.")
helmert = _of_size("helmert", "Helmert's matrix of contrasts.")
hilbert = _of_size("hilbert", "Hilbert's matrix, 1/(i + j + 1).")
invhilbert = _of_size("invhilbert", "The inverse of Hilbert's matrix.")
pascal = _of_size("pascal", "Pascal's matrix of binomial coefficients.")
invpascal = _of_size("invpascal", "The inverse of Pascal's matrix.")
