"""Laws of sums and products along axes of independent draws: which parameters add up, and which must be the same along
the axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import (
    Bernoulli,
    Binomial,
    Cauchy,
    ChiSquared,
    Exponential,
    Gamma,
    Geometric,
    LogNormal,
    Multinomial,
    NegativeBinomial,
    Normal,
    Poisson,
    Uniform,
    Wald,
)
from ppl.distributions.draws.draw import RandomVariable, is_draw
from ppl.graph import ancestors
from ppl.rewrites.marginalization.expressions.affine import known_shape
from ppl.tensor.tensor import Tensor, is_constant, value_of


class NotAlike(Exception):  # noqa: N818  an answer, not an error
    """A parameter differs along the axes."""


@dataclass(frozen=True)
class Along:
    """The axes of a sum, and what becomes of parameters along them."""

    shape: tuple[int, ...]  # without the axes of one draw
    axes: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many draws make up one sum."""
        return prod(self.shape[a] for a in self.axes)

    def added(self, p: Tensor) -> Tensor:
        return tt.sum(tt.broadcast_to(p, self.shape), axis=self.axes)

    def alike(self, p: Tensor) -> Tensor:
        """A parameter that is the same along the axes."""
        return self.vectors(p, 0)

    def vectors(self, p: Tensor, own: int = 1) -> Tensor:
        """The same of one that has `own` last axes within each draw."""
        full = (1,) * (len(self.shape) + own - p.ndim) + p.type.shape
        if any(full[a] != 1 for a in self.axes):
            raise NotAlike
        return tt.squeeze(p.reshape(full), self.axes)

    def all_of(self, p: Tensor) -> Tensor:
        return tt.prod(tt.broadcast_to(p, self.shape), axis=self.axes)


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
    Multinomial: lambda along, n, p: Multinomial.dist(along.added(n), along.vectors(p)),
}


def _of_uniforms(along: Along, lower: Tensor, upper: Tensor) -> Tensor:
    if not (
        is_constant(lower) and is_constant(upper) and np.all(value_of(lower) == 0) and np.all(value_of(upper) == 1)
    ):
        raise NotAlike
    return tt.exp(-Gamma.dist(float(along.count), 1.0, shape=_left(along)))


def _left(along: Along) -> tuple[int, ...]:
    return tuple(n for a, n in enumerate(along.shape) if a not in along.axes)


AXIS_PRODUCTS: dict[Any, Callable[..., Tensor]] = {
    LogNormal: lambda along, mu, sigma: LogNormal.dist(along.added(mu), tt.sqrt(along.added(sigma**2))),
    Bernoulli: lambda along, p: Bernoulli.dist(along.all_of(p)),
    Uniform: _of_uniforms,
}
TABLES = {"sum": AXIS_SUMS, "prod": AXIS_PRODUCTS}


def axis_mean(node: Any) -> Tensor | None:
    """A mean along axes as a multiple of the sum."""
    if node.op.name != "mean" or node.attrs["keepdims"] or not isinstance(node.inputs[0], RandomVariable):
        return None
    (drawn,), axes = node.inputs, tuple(node.attrs["axis"])
    if drawn.name is not None or None in drawn.type.shape:
        return None
    return (1.0 / Along(drawn.type.shape, axes).count) * tt.sum(drawn, axis=axes)


def axis_sum(node: Any) -> Tensor | None:
    """The law of a sum or product of independent draws along axes; None where none is known."""
    if node.op.name not in TABLES or node.attrs["keepdims"]:
        return None
    (inner,), table = node.inputs, TABLES[node.op.name]
    if not isinstance(inner, RandomVariable):
        return _shifted_sum(node) if node.op.name == "sum" else None
    if inner.name is not None or None in inner.type.shape or inner.family not in table:
        return None
    shape, axes = known_shape(inner), tuple(node.attrs["axis"])
    batch = shape[: len(shape) - inner.event_ndim]
    if any(a >= len(batch) for a in axes):
        return None
    try:
        return table[inner.family](Along(batch, axes), *inner.parameters)
    except NotAlike:
        return None


def _shifted_sum(node: Any) -> Tensor | None:
    """Σ(x + c) = Σx + nc, so that the draws meet their sum."""
    (inner,) = node.inputs
    if inner.op.name not in ("add", "subtract") or None in inner.type.shape:
        return None
    x, c = inner.inputs
    if inner.op.name == "add" and not isinstance(x, RandomVariable):
        x, c = c, x
    drawn = isinstance(x, RandomVariable) and x.name is None and x.type.shape == inner.type.shape
    if not drawn or any(is_draw(n) for n in ancestors(c)):
        return None
    axes, rest = node.attrs["axis"], tt.sum(tt.broadcast_to(c, inner.type.shape), axis=node.attrs["axis"])
    return tt.sum(x, axis=axes) + rest if inner.op.name == "add" else tt.sum(x, axis=axes) - rest
