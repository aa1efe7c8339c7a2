"""Adjacency matrices of areas and their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.domains import Domain, real_matrix
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

borders = Domain(
    real_matrix.name, real_matrix.contains, ndim=2,
    examples=([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
)  # fmt: skip
DENSE = 64  # up to so many areas all pairs are cheaper than an index, whose derivative is a scatter


def adjacency(who: str, W: Any, only_ones: bool = False) -> Tensor:
    """The matrix as a tensor; a constant one is refused if it is no symmetric matrix of weights."""
    W = as_tensor(W.toarray() if hasattr(W, "toarray") else W)
    shape = W.type.shape
    if len(shape) != 2 or (None not in shape and shape[0] != shape[1]):
        raise ValueError(f"{who}: W must be a square matrix, got shape {shape}")
    if not is_constant(W):
        return W
    array = value_of(W)
    if not np.allclose(array, array.T):
        at = tuple(int(i) for i in np.argwhere(~np.isclose(array, array.T))[0])
        raise ValueError(
            f"{who}: W must be symmetric, but W[{at[0]}, {at[1]}] is {array[at]} and not {array[at[::-1]]}"
        )
    if only_ones and ((array != 0) & (array != 1)).any():
        raise ValueError(f"{who}: W must hold only zeros and ones, got {array[(array != 0) & (array != 1)][0]}")
    if (array < 0).any():
        raise ValueError(f"{who}: the weights in W must not be negative, got {array.min()}")
    return W


def neighbors(W: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The pairs i > j of neighbors and their weights, where they are known and a list of them is the shorter form."""
    if not is_constant(W) or W.type.shape[0] <= DENSE:
        return None
    i, j = np.nonzero(np.tril(value_of(W), -1))
    return i, j, value_of(W)[i, j]


def times_neighbors(W: Tensor, x: Any) -> Tensor:
    r"""Σ_ij W_ij x_i x_j."""
    pairs = neighbors(W)
    if pairs is None:
        return tt.sum(x * tt.times_vectors(tt.cast(W, "floatX"), x), axis=-1)
    i, j, weights = pairs
    own = np.diagonal(value_of(W))
    return 2 * tt.sum(weights * x[..., i] * x[..., j], axis=-1) + tt.sum(own * x**2, axis=-1)


def squared_differences(W: Tensor, x: Any) -> Tensor:
    r"""Σ W_ij (x_i - x_j)² over pairs i > j."""
    pairs = neighbors(W)
    if pairs is None:
        differences = tt.expand_dims(x, -1) - tt.expand_dims(x, -2)
        return 0.5 * tt.sum(W * differences**2, axis=(-1, -2))
    i, j, weights = pairs
    return tt.sum(weights * (x[..., i] - x[..., j]) ** 2, axis=-1)


def components(W: Any) -> int:
    """How many parts the areas fall into."""
    array = value_of(W) if isinstance(W, Tensor) else np.asarray(W)
    reached = np.eye(len(array), dtype=bool) | (array != 0)
    while not np.array_equal(reached, wider := (reached.astype(float) @ reached) > 0):
        reached = wider
    return len({row.tobytes() for row in reached})
