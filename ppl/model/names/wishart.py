"""A Wishart matrix by coordinates in which a sampler can move."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions import ChiSquared, Normal
from ppl.distributions.formulas.covariance import check_positive_definite, factor_from
from ppl.model.registry.named import Deterministic
from ppl.tensor import expand_dims, matmul, sqrt, unpack_triangular
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


def WishartBartlett(
    name: str, S: Any, nu: Any, is_cholesky: bool = False, return_cholesky: bool = False, initval: Any = None
) -> Tensor:
    r"""A Wishart(ν, S) matrix LAAᵀLᵀ with S = LLᵀ, or LA, its Cholesky factor (Bartlett's decomposition).

    The model gets `name_c`, the squares of A's diagonal, which are χ²(ν), χ²(ν - 1), ..., and `name_z`, the standard
    normals below it. PyMC 5 takes the upper factor of S for L and ν - 2 for the first of the ν: its mean is not νS.

    >>> with pm.Model():
    ...     W = pm.WishartBartlett("W", S=np.eye(2), nu=4)
    >>> pm.draw(W, random_seed=1).shape
    (2, 2)
    """
    who = f'WishartBartlett "{name}"'
    factor = factor_from(who, chol=S) if is_cholesky else factor_from(who, S=S)
    n = factor.type.shape[-1]
    if n is None or factor.ndim != 2:
        raise ValueError(f"{who}: S must be one matrix whose size is known, got shape {factor.type.shape}")
    nu = as_tensor(nu)
    if is_constant(nu) and np.any(value_of(nu) <= n - 1):
        raise ValueError(f"{who}: nu must exceed {n - 1}, the number of rows of S less 1, got {value_of(nu)}")
    start = _coordinates(who, factor, initval)
    squares = ChiSquared(f"{name}_c", nu - np.arange(n), shape=n, initval=start[0])
    inner = expand_dims(sqrt(squares), -1) * np.eye(n)
    if n > 1:
        below = Normal(f"{name}_z", 0.0, 1.0, shape=n * (n - 1) // 2, initval=start[1])
        inner = inner + unpack_triangular(below, n, lower=True, strict=True)
    root = matmul(factor, inner)
    return Deterministic(name, root if return_cholesky else matmul(root, root.mT))


def _coordinates(who: str, factor: Tensor, matrix: Any) -> tuple[Any, Any]:
    """The squared diagonal and the lower triangle of A for a matrix to start from."""
    if matrix is None:
        return None, None
    matrix = np.asarray(matrix, float)
    check_positive_definite(f"{who}: initval", matrix)
    inner = np.linalg.solve(np.asarray(factor.eval()), np.linalg.cholesky(matrix))
    return np.diagonal(inner) ** 2, inner[np.tril_indices(len(inner), -1)]
