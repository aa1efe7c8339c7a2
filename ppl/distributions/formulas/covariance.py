"""Covariance matrices as users give them, and the Cholesky factor that families keep."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import ancestors
from ppl.tensor.linear_algebra.unrolled import UNROLLED
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of
from ppl.tensor.variables import VARIABLE


def factor_from(who: str, lower: bool = True, chol: Any = None, singular: bool = False, **matrices: Any) -> Tensor:
    """The Cholesky factor of a covariance, given as itself, as the matrix, or as `tau`, its inverse: one of them.

    What is constant is checked and factored now. A covariance that may be `singular` gets a small multiple of the
    identity where it has no factor.
    """
    given = {key: value for key, value in {**matrices, "chol": chol}.items() if value is not None}
    if len(given) != 1:
        found = f"got {' and '.join(given)}" if given else "got none"
        raise ValueError(f"{who}: give exactly one of {', '.join([*matrices, 'chol'])}, {found}.")
    ((key, value),) = given.items()
    matrix = as_tensor(value)
    square_matrix(f"{who}: {key}", matrix)
    if key == "chol":
        return tt.cast(matrix if lower else matrix.mT, "floatX" if matrix.dtype[0] != "f" else matrix.dtype)
    singular = singular and key != "tau"
    if is_constant(matrix):
        check_positive_definite(f"{who}: {key}", value_of(matrix), singular)
    if singular:
        return tt.cholesky_lifted(matrix)
    return tt.cholesky_of_inverse(matrix) if key == "tau" else tt.cholesky_of(matrix)


def square_of(chol: Any) -> Tensor:
    """The matrix of a Cholesky factor, the very one that it was computed from where there is one."""
    factor = as_tensor(chol)
    return factor.inputs[0] if factor.op.name == "cholesky" else tt.matmul(factor, factor.mT)  # type: ignore[return-value]


def is_factor_of_moving(chol: Tensor) -> bool:
    """Whether a factor is that of one large covariance which depends on more than constants and data: its density is
    taken by the covariance, with the derivative that has. What does not move is factored once, for all evaluations."""
    n = chol.type.shape[-1]
    if chol.op is not tt.cholesky or not chol.attrs["lower"] or chol.ndim != 2 or (n is not None and n <= UNROLLED):
        return False
    return any(not (x.inputs or is_constant(x) or x.op is VARIABLE or x.op.computed) for x in ancestors([chol])) or any(
        x.op.name == "draw" for x in ancestors([chol])
    )


def square_matrix(who: str, matrix: Tensor) -> None:
    """Refuse what is no stack of square matrices."""
    shape = matrix.type.shape
    if len(shape) < 2 or (None not in shape[-2:] and shape[-1] != shape[-2]):
        raise ValueError(f"{who} must be a square matrix, got shape {shape}")


def check_positive_definite(who: str, array: np.ndarray, or_singular: bool = False) -> None:
    """Refuse matrices that are not symmetric and positive definite, with the number that shows it."""
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{who} must be finite, got {array[at]} at position {at}")
    skew = np.abs(array - np.swapaxes(array, -1, -2))
    if (skew > 1e-6 * (1 + np.abs(array))).any():
        at = tuple(int(i) for i in np.unravel_index(np.argmax(skew), skew.shape))
        mirrored = (*at[:-2], at[-1], at[-2])
        raise ValueError(
            f"{who} must be symmetric, but its entry {at} is {array[at]:g} and the entry {mirrored} is "
            f"{array[mirrored]:g}. To mend it: average it with its transpose."
        )
    smallest = np.linalg.eigvalsh((array + np.swapaxes(array, -1, -2)) / 2)[..., 0]
    largest = np.abs(array).max() * array.shape[-1]
    eps = np.finfo(float).eps * largest
    if (smallest < -1e3 * eps if or_singular else smallest <= eps).any():
        lift = max(1e-10 * largest, -2 * smallest.min())
        raise ValueError(
            f"{who} must be positive definite, but its smallest eigenvalue is {smallest.min():.6g}. Look for "
            f"variables that are sums of others, or add at least {lift:.1g} to the diagonal."
        )


def vector_like(who: str, mu: Any, chol: Tensor) -> Tensor:
    """A mean as a vector with an entry for each row of the factor."""
    mu = as_tensor(mu)
    n = chol.type.shape[-1]
    if mu.ndim and mu.type.shape[-1] == n:
        return mu
    if mu.ndim == 0 or mu.type.shape[-1] == 1:
        if is_constant(mu) and n is not None:
            return as_tensor(np.broadcast_to(value_of(mu), (*mu.type.shape[:-1], n)))
        return tt.broadcast_to(mu, (*mu.shape[:-1], chol.shape[-1]))
    if n is not None and mu.type.shape[-1] is not None:
        raise ValueError(
            f"{who}: mu has {mu.type.shape[-1]} entries, but the covariance is {n} by {n}; give mu {n} entries or one"
        )
    return mu


def wrong_length(who: str, given: int, n: int) -> str:
    """What is said of a mean that does not fit its covariance."""
    return f"{who}: mu has {given} entries, but the covariance is {n} by {n}. Give mu {n} entries, or one for all."
