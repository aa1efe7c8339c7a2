r"""Squared distances between the rows of two tables of inputs.

.. math:: d^2_{ij} = \sum_k \big((x_{ik} - x'_{jk})/ℓ_k\big)^2, \qquad
          p^2_{ij} = \sum_k \big(\sin(π(x_{ik} - x'_{jk})/T_k)/ℓ_k\big)^2

Differences are taken first and squared then. The form x² + x'² - 2xx', one product of matrices, loses all digits where
inputs are far from zero and near each other, as times in seconds are.

A covariance function is a correlation (`ppl.tensor.kernels.correlations`) of one of these, times numbers: so theorems
see which kernel of which inputs a matrix holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp, unify
from ppl.tensor.tensor import Tensor, TensorType, told
from ppl.xla.either import xp

MOST_WRITTEN_OUT = 16  # columns, each a matrix of differences that XLA adds to the others in one pass


class _Distance(TensorOp):
    """A matrix with a row for each row of the first table and a column for each row of the second. What follows them
    is a number, or one for each column of the tables."""

    def __call__(self, x: Any, xs: Any, *scales: Any, name: str | None = None) -> Tensor:
        matrix: Tensor = self.build(unify((x, xs, *scales), to_float=True), {}, name)
        return matrix

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, xs, *scales = inputs
        if x.type.ndim != 2 or xs.type.ndim != 2:
            shown = " and ".join(f"{told(node)} of shape {node.type.shape}" for node in (x, xs))
            raise ValueError(
                f"{self.name}: inputs are tables with a row for each point, got {shown}. Write x[:, None]."
            )
        width = x.type.shape[1]
        if None not in (width, xs.type.shape[1]) and width != xs.type.shape[1]:
            raise ValueError(f"{self.name}: {told(x)} has {width} columns, {told(xs)} has {xs.type.shape[1]}")
        for scale in scales:
            given = scale.type.shape
            unknown = len(given) == 1 and None in (width, *given)
            if given not in ((), (1,), (width,)) and not unknown:
                raise ValueError(
                    f"{self.name}: {told(scale)} of shape {given} is neither one number nor one for each of the "
                    f"{width} columns of {told(x)}"
                )
        return TensorType(x.type.dtype, (x.type.shape[0], xs.type.shape[0]))


def _sum_of_columns(x: Any, xs: Any, term: Any) -> Any:
    """The sum over columns k of `term(differences, k)`."""
    width = x.shape[1]
    if width > MOST_WRITTEN_OUT:
        return xp.sum(term(x[:, None, :] - xs[None, :, :], slice(None)), axis=-1)
    terms = [term(x[:, k, None] - xs[None, :, k], k) for k in range(width)]
    return sum(terms[1:], terms[0]) if terms else (x @ xs.T)


def _of(scale: Any, k: Any) -> Any:
    """The number of a column."""
    return scale if scale.ndim == 0 or scale.shape[0] == 1 else scale[k]


def _squared_distance(x: Any, xs: Any, ls: Any) -> Any:
    if ls.ndim == 0:
        return _sum_of_columns(x, xs, lambda d, k: d**2) / ls**2
    return _sum_of_columns(x, xs, lambda d, k: (d / _of(ls, k)) ** 2)


def _periodic_distance(x: Any, xs: Any, ls: Any, period: Any) -> Any:
    return _sum_of_columns(x, xs, lambda d, k: (xp.sin(np.pi * d / _of(period, k)) / _of(ls, k)) ** 2)


squared_distance = _Distance("squared_distance", _squared_distance)
squared_distance.__doc__ = "Σ((x - x')/ℓ)² for each row x of one table and x' of another."
periodic_distance = _Distance("periodic_distance", _periodic_distance)
periodic_distance.__doc__ = "Σ(sin(π(x - x')/T)/ℓ)² for each row x of one table and x' of another."
DISTANCES = (squared_distance, periodic_distance)
