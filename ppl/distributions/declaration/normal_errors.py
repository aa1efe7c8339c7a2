"""How a family that is normal given its parameters says so: expressions that have normal errors of mean zero.

The fact `residuals(x, *parameters)` yields pairs (mean less value, errors), whose log-densities add up to that of x.
Errors are a standard deviation of independent entries, or one of the kinds here.
"""

from __future__ import annotations

from typing import Any

from ppl.graph.records import record


@record
class Correlated:
    """Vectors whose covariance has a Cholesky factor."""

    chol: Any


@record
class Kronecker:
    """Vectors whose covariance has the Cholesky factor L₁ ⊗ L₂ ⊗ ..."""

    roots: tuple[Any, ...]


@record
class NoisyKronecker:
    """Vectors of the covariance K₁ ⊗ K₂ ⊗ ... + σ²I."""

    covariances: tuple[Any, ...]
    sigma: Any


@record
class NormalSteps:
    """A series whose first value is Normal(m₀, s₀), and x_t - m_t is Normal(ρ (x_{t-1} - m_{t-1}), s_t) after it."""

    mean: Any  # m
    first: Any  # s₀
    carried: Any  # ρ
    scale: Any  # s₁, s₂, ..., or a number for all


class NotNormal(Exception):  # noqa: N818  an answer, not an error
    """A law that has other laws inside is not normal, or not in a way that is understood; the message says why."""
