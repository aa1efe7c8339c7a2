r"""The coordinates of a covariance: standard deviations and partial correlations, not the entries of its factor.

A row of the factor is L_i = s_i u_i with s_i a standard deviation and u_i on the unit sphere, by partial correlations
(Lewandowski, Kurowicka and Joe 2009):

.. math:: u_{ij} = \tanh y_{ij} \prod_{k<j} \operatorname{sech} y_{ik}, \qquad
          u_{ii} = \prod_{k<i} \operatorname{sech} y_{ik}

Entries of L below the diagonal shrink with s_i, so that a sampler that moves them by themselves meets a funnel where
data do not exclude a small s_i. With

.. math:: \log|dL/d(y, s)| = \sum_i \Big[ i \log s_i - \log u_{ii}
          + \sum_{j<i} \log\Big(\operatorname{sech}^2 y_{ij} \prod_{k<j} \operatorname{sech} y_{ik}\Big) \Big]
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions.declaration.constants import LOG_2
from ppl.distributions.declaration.inner import log_density_of
from ppl.distributions.families.lkj_cholesky_cov import log_volume, rows
from ppl.graph.records import record
from ppl.rewrites.reparameterization.coordinates import Coordinate, ShortLog, coordinate_of
from ppl.tensor.tensor import Tensor, as_tensor


@record
class SpreadAndCorrelation(Coordinate):
    """LKJCholeskyCov by y below the diagonal and the scale coordinate of s on it, packed as the factor is."""

    name: str = "spread_and_correlation"

    def words(self) -> str:
        return "is moved by its standard deviations and partial correlations"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        y, w, logs = _parts(z, rows(parameters[0]))
        unit = (tt.tanh(y) + np.eye(rows(parameters[0]))) * tt.exp(logs - _log_sech(y))
        return tt.pack_triangular(unit * tt.expand_dims(_spread(parameters[2], w), -1))

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        n, sd = rows(parameters[0]), parameters[2]
        factor = tt.expand_packed_triangular(n, as_tensor(x))
        squares = factor**2
        after = tt.matmul(squares, np.tril(np.ones((n, n)), -1))  # the squares of what follows in the row
        below = np.tril(np.ones((n, n), bool), -1)
        y = tt.arcsinh(tt.switch(below, factor, 0.0) / tt.sqrt(tt.switch(below, after, 1.0)))
        s, short = tt.sqrt(tt.sum(squares, axis=-1)), _short(sd)
        w = tt.log(s) if short is None else short.forward(s, *sd.parameters)
        return tt.pack_triangular(y + np.eye(n) * tt.expand_dims(w, -1))

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        n, eta, sd = rows(parameters[0]), parameters[1], parameters[2]
        y, w, logs = _parts(z, n)
        last = tt.diagonal_of(logs)
        correlation = tt.sum((2.0 * eta - 3.0 + n - np.arange(n)) * last) - log_volume(eta, n)
        slopes = tt.sum(tt.switch(np.tril(np.ones((n, n), bool), -1), logs + _log_sech(y), 0.0))
        return correlation + slopes + _log_density_of_spread(sd, w)


def _parts(z: Any, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """y below the diagonal, what stands on it, and the running sums of log sech y in each row."""
    matrix = tt.expand_packed_triangular(n, as_tensor(z))
    y = tt.tril(matrix, -1)
    return y, tt.diagonal_of(matrix), tt.matmul(_log_sech(y), np.triu(np.ones((n, n))))


def _log_sech(y: Tensor) -> Tensor:
    return LOG_2 - abs(y) - tt.log1p(tt.exp(-2.0 * abs(y)))


def _short(sd: Any) -> ShortLog | None:
    """The short logarithm of a law of standard deviations, where it has one."""
    found = coordinate_of(sd.family)
    return found if isinstance(found, ShortLog) else None


def _spread(sd: Any, w: Tensor) -> Tensor:
    short = _short(sd)
    return tt.exp(w) if short is None else short.backward(w, *sd.parameters)


def _log_density_of_spread(sd: Any, w: Tensor) -> Tensor:
    short = _short(sd)
    if short is None:
        return log_density_of(sd, tt.exp(w), axes=1) + tt.sum(w)
    return tt.sum(short.log_density(w, *sd.parameters))
