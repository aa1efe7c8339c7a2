"""Laws of sums along axes of independent draws: which parameters add up, and which must be the same along the axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import ppl.tensor as tt
from ppl.distributions import (
    Bernoulli,
    Binomial,
    Cauchy,
    ChiSquared,
    Exponential,
    Gamma,
    Geometric,
    NegativeBinomial,
    Normal,
    Poisson,
    Wald,
)
from ppl.distributions.draw import RandomVariable
from ppl.tensor.tensor import Tensor


class NotAlike(Exception):  # noqa: N818  an answer, not an error
    """A parameter differs along the axes."""


@dataclass(frozen=True)
class Along:
    """The axes of a sum, and what becomes of parameters along them."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many draws make up one sum."""
        return prod(self.shape[a] for a in self.axes)

    def added(self, p: Tensor) -> Tensor:
        return tt.sum(tt.broadcast_to(p, self.shape), axis=self.axes)

    def alike(self, p: Tensor) -> Tensor:
        """A parameter that is the same along the axes."""
        full = (1,) * (len(self.shape) - p.ndim) + p.type.shape
        if any(full[a] != 1 for a in self.axes):
            raise NotAlike
        return tt.squeeze(p.reshape(full), self.axes)


AXIS_SUMS: dict[Any, Callable[..., Tensor]] = {
    Normal: lambda along, mu, sigma: Normal.dist(along.added(mu), tt.sqrt(along.added(sigma**2))),
    Poisson: lambda along, mu: Poisson.dist(along.added(mu)),
    Bernoulli: lambda along, p: Binomial.dist(along.count, along.alike(p)),
    Binomial: lambda along, n, p: Binomial.dist(along.added(n), along.alike(p)),
    NegativeBinomial: lambda along, n, p: NegativeBinomial.dist(n=along.added(n), p=along.alike(p)),
    Geometric: lambda along, p: NegativeBinomial.dist(n=along.count, p=along.alike(p)) + along.count,
    Exponential: lambda along, lam: Gamma.dist(float(along.count), along.alike(lam)),
    Gamma: lambda along, alpha, beta: Gamma.dist(along.added(alpha), along.alike(beta)),
    ChiSquared: lambda along, nu: ChiSquared.dist(along.added(nu)),
    Cauchy: lambda along, alpha, beta: Cauchy.dist(along.added(alpha), along.added(beta)),
    Wald: lambda along, mu, lam, alpha: Wald.dist(
        along.count * along.alike(mu), along.count**2 * along.alike(lam), alpha=along.added(alpha)
    ),
}


def axis_mean(node: Any) -> Tensor | None:
    """A mean along axes as a multiple of the sum."""
    if node.op.name != "mean" or node.attrs["keepdims"] or not isinstance(node.inputs[0], RandomVariable):
        return None
    (drawn,), axes = node.inputs, tuple(node.attrs["axis"])
    if drawn.name is not None or None in drawn.type.shape:
        return None
    return (1.0 / Along(drawn.type.shape, axes).count) * tt.sum(drawn, axis=axes)


def axis_sum(node: Any) -> Tensor | None:
    """The law of a sum of independent draws along axes; None where none is known."""
    if node.op.name != "sum" or node.attrs["keepdims"] or not isinstance(node.inputs[0], RandomVariable):
        return None
    (drawn,) = node.inputs
    shape = drawn.type.shape
    if drawn.name is not None or None in shape or drawn.family not in AXIS_SUMS:
        return None
    try:
        return AXIS_SUMS[drawn.family](Along(shape, tuple(node.attrs["axis"])), *drawn.parameters)
    except NotAlike:
        return None
