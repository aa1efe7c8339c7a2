"""Coordinates of series of normal steps: numbers that are about independent given the scale of the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import FAMILIES
from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.declaration.normal_errors import NormalSteps
from ppl.graph.records import record
from ppl.rewrites.reparameterization.coordinates import Coordinate
from ppl.tensor.linear_algebra.block_chains import chain_factor, chain_substitution
from ppl.tensor.tensor import Tensor, as_tensor


def _pull(information: np.ndarray, first: Any, carried: Any, scale: Any) -> tuple[Tensor, Tensor]:
    """The diagonal of L and what is below it, LL' the precision of a series; its first entry has a scale of its own."""
    n = len(information)
    steps = tt.broadcast_to(as_tensor(scale), (n - 1,)) ** -2.0
    before = tt.concatenate([as_tensor(first).reshape((1,)) ** -2.0, steps])
    after = tt.concatenate([carried**2 * steps, np.zeros(1)])
    below = tt.concatenate([np.zeros(1), -carried * steps]).reshape((n, 1, 1))
    return chain_factor((before + after + information).reshape((n, 1, 1)), below)


def _walk(z: Any, lower: Tensor, links: Tensor) -> Tensor:
    """L'⁻¹ z."""
    return chain_substitution(lower, links, as_tensor(z).reshape((-1, 1)), reverse=True)[:, 0]


def _numbers(d: Any, lower: Tensor, links: Tensor) -> Tensor:
    """L' d."""
    return lower[:, 0, 0] * d + tt.concatenate([links[1:, 0, 0] * d[1:], np.zeros(1)])


@record
class Pulled(Coordinate):
    r"""A random walk or an autoregression x by z = L'(x - m), m its mean and LL' its precision and that of its rows:

    .. math:: LL' = D'D/σ^2 + \mathrm{diag}(I), \qquad (Dx)_t = x_t - ρ x_{t-1}

    Neighbors pull at each other by the scale σ of the steps, and data by their information I, whatever σ is: z has
    about a standard normal law given σ and ρ, which is 1 in a walk.
    """

    information: np.ndarray
    family: type[Distribution]
    name: str = "pulled"

    def words(self) -> str:
        return "is whitened, given the scale of its steps and the Fisher information of its observations"

    def _parts(self, *parameters: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The mean, and the diagonals of L and beside it."""
        law: NormalSteps = self.family.normal_steps(*parameters)
        pulled = _pull(self.information, law.first, law.carried, law.scale)
        return tt.broadcast_to(law.mean, self.information.shape), *pulled

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        mean, *pulled = self._parts(*parameters)
        return mean + _walk(z, *pulled)

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        mean, *pulled = self._parts(*parameters)
        return _numbers(as_tensor(x) - mean, *pulled)

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        _, lower, _ = self._parts(*parameters)
        inner = self.family.log_density(self.backward(z, *parameters), *parameters)
        return tt.sum(inner) - tt.sum(tt.log(lower))


@record
class PulledSteps(Coordinate):
    """Standard normal steps e of a walk c = cumsum(σ e), by z = L'c: the same for a walk written as its steps."""

    information: np.ndarray
    further: tuple[Tensor, ...]  # σ
    name: str = "pulled_steps"

    def words(self) -> str:
        return "is whitened by its cumulative sum, given its scale and the Fisher information of its observations"

    def backward(self, z: Any, *parameters: Any) -> Tensor:
        *_, scale = parameters
        c = _walk(z, *_pull(self.information, scale, 1.0, scale))
        return (c - tt.concatenate([np.zeros(1), c[:-1]])) / scale

    def forward(self, x: Any, *parameters: Any) -> Tensor:
        *_, scale = parameters
        return _numbers(tt.cumsum(scale * as_tensor(x)), *_pull(self.information, scale, 1.0, scale))

    def log_density(self, z: Any, *parameters: Any) -> Tensor:
        *own, scale = parameters
        lower, _ = _pull(self.information, scale, 1.0, scale)
        inner = FAMILIES["Normal"].log_density(self.backward(z, *parameters), *own)
        return tt.sum(inner) - tt.sum(tt.log(lower)) - len(self.information) * tt.log(scale)
