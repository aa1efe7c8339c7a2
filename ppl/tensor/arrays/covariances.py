"""Covariances and correlations of variables."""

from __future__ import annotations

from typing import Any

from ppl.tensor.arrays.reductions import sum as sum_along
from ppl.tensor.arrays.shaping import broadcast_to, swapaxes
from ppl.tensor.core.elementwise import sqrt
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.linear_algebra.products import matmul
from ppl.tensor.tensor import Tensor, as_tensor, function


@function()
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Tensor:
    """The covariance matrix of variables in rows (or in columns), observations in the other direction."""
    m = as_tensor(m)
    if m.ndim > 2:
        raise ValueError(f"cov: {m!r} has more than two axes")
    m = m if m.ndim == 2 else m[None, :]
    m = m if rowvar or m.type.shape[0] == 1 else m.T
    if y is not None:
        y = as_tensor(y)
        y = y if y.ndim == 2 else y[None, :]
        m = as_tensor([*_rows(m), *_rows(y if rowvar or y.type.shape[0] == 1 else y.T)])
    degrees = (0 if bias else 1) if ddof is None else ddof
    weights: Any = 1 if fweights is None else as_tensor(fweights)
    weights = weights if aweights is None else weights * as_tensor(aweights)
    weights = broadcast_to(as_tensor(weights) * 1.0, (shape_of(m)[1],))
    total = sum_along(weights)
    centered = m - (sum_along(m * weights, 1) / total)[:, None]
    if aweights is None:
        scale = total - degrees
    else:
        scale = total - degrees * sum_along(weights * as_tensor(aweights)) / total
    result = matmul(centered * weights, swapaxes(centered, 0, 1).conj()) / scale
    return result[0, 0] if result.type.shape == (1, 1) else result


def _rows(m: Tensor) -> list[Tensor]:
    if m.type.shape[0] is None:
        raise ValueError(f"cov: the number of variables in {m!r} must be known")
    return [m[i] for i in range(m.type.shape[0])]


@function()
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Tensor:
    """The matrix of correlations of variables in rows."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    deviations = sqrt(c.diagonal())
    return c / deviations[:, None] / deviations[None, :]
