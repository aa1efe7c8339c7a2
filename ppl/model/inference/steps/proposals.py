"""Proposals of random walks: laws of a step, with their scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.samplers.steps.moves import wrapped
from ppl.xla.later import jax, jnp


class Proposal:
    """A law of steps around zero; `s` is its scale, one number or one an entry."""

    def __init__(self, s: Any = 1.0) -> None:
        self.s = np.asarray(s, np.float64)
        if self.s.ndim != self.axes and self.s.ndim != 0:
            raise ValueError(f"{type(self).__name__}: the scale has {self.s.ndim} axes, it must have {self.axes}")

    axes = 1
    together = False  # is the step one vector, accepted or refused as a whole?

    @property
    def key(self) -> Any:
        """Stands for the law."""
        return type(self).__name__, self.s.tobytes(), self.s.shape

    def law(self, key: Any, n: int) -> Any:
        """`n` steps of scale one."""
        raise NotImplementedError(f"{type(self).__name__} does not say its law")

    def draw(self, key: Any, n: int) -> Any:
        """`n` steps."""
        return self.law(wrapped(key), n) * self.s


class NormalProposal(Proposal):
    """Normal steps of standard deviation `s`."""

    def law(self, key: Any, n: int) -> Any:
        return jax.random.normal(key, (n,), jnp.float64)


class UniformProposal(Proposal):
    """Uniform steps between -`s` and `s`."""

    def law(self, key: Any, n: int) -> Any:
        return jax.random.uniform(key, (n,), jnp.float64, -1.0, 1.0)


class CauchyProposal(Proposal):
    """Cauchy steps of scale `s`."""

    def law(self, key: Any, n: int) -> Any:
        return jax.random.cauchy(key, (n,), jnp.float64)


class LaplaceProposal(Proposal):
    """Laplace steps of scale `s`."""

    def law(self, key: Any, n: int) -> Any:
        return jax.random.laplace(key, (n,), jnp.float64)


class PoissonProposal(Proposal):
    """Poisson counts of mean `s`, less their mean."""

    def draw(self, key: Any, n: int) -> Any:
        mean = jnp.broadcast_to(self.s, (n,))
        return jax.random.poisson(wrapped(key), mean).astype(jnp.float64) - mean


class MultivariateNormalProposal(Proposal):
    """Normal steps of covariance `s`, accepted or refused as one."""

    axes, together = 2, True

    def __init__(self, s: Any) -> None:
        super().__init__(s)
        if self.s.ndim != 2 or self.s.shape[0] != self.s.shape[1]:
            raise ValueError(f"MultivariateNormalProposal: the covariance is a square matrix, got shape {self.s.shape}")
        self.factor = np.linalg.cholesky(self.s)

    def draw(self, key: Any, n: int) -> Any:
        if n != len(self.s):
            raise ValueError(f"MultivariateNormalProposal: a covariance of {len(self.s)} entries for {n} values")
        return self.factor @ jax.random.normal(wrapped(key), (n,), jnp.float64)


def chosen(proposal_dist: Any, scale: Any, default: type[Proposal]) -> Proposal:
    """The proposal of a step method: by its class and a scale, or as it is."""
    if isinstance(proposal_dist, Proposal):
        return proposal_dist
    scale = 1.0 if scale is None else scale
    if proposal_dist is not None:
        return proposal_dist(scale)
    return MultivariateNormalProposal(scale) if np.ndim(scale) == 2 else default(scale)
