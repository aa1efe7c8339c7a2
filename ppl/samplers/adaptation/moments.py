r"""Running means and sums of squares of draws and of gradients, and the diagonal metrics they imply.

For a target with density π let g = ∇log π(x). Among diagonal maps the Fisher divergence E‖y + ∇log π(y)‖² of the
whitened target y from the standard normal is least for σᵢ² = √(Var xᵢ / Var gᵢ): the geometric mean of the marginal and
the conditional variance (Seyboldt, Carlson & Carpenter 2026). It needs fewer draws than the variance alone, because
the gradients of a normal target carry its precision exactly. Welford's estimate is σᵢ² = Var xᵢ.
"""

from __future__ import annotations

from typing import NamedTuple

from ppl.xla.later import Array, jnp

SMALLEST, LARGEST = 1e-20, 1e20


class Moments(NamedTuple):
    """Count, means and sums of squared deviations of positions (x) and gradients (g)."""

    n: Array
    mean_x: Array
    square_x: Array
    mean_g: Array
    square_g: Array


def empty(dim: int, dtype: jnp.dtype) -> Moments:
    """The moments of no draws."""
    zeros = jnp.zeros(dim, dtype)
    return Moments(jnp.zeros((), jnp.int64), zeros, zeros, zeros, zeros)


def include(moments: Moments, x: Array, g: Array) -> Moments:
    """The moments with one more draw (Welford's update)."""
    n = moments.n + 1
    dx, dg = x - moments.mean_x, g - moments.mean_g
    weight = 1 / n.astype(x.dtype)
    mean_x, mean_g = moments.mean_x + dx * weight, moments.mean_g + dg * weight
    return Moments(
        n,
        mean_x,
        moments.square_x + dx * (x - mean_x),
        mean_g,
        moments.square_g + dg * (g - mean_g),
    )


def scale_from_gradient(g: Array) -> Array:
    """A first guess from one gradient: σᵢ = |gᵢ|^(-1/2), and 1 where the start is stationary."""
    size = jnp.abs(g)
    return jnp.where(size < 1e-10, 1.0, 1 / jnp.sqrt(jnp.clip(size, SMALLEST, LARGEST))).astype(g.dtype)


def fisher_scale(moments: Moments, old: Array) -> Array:
    """σ by least Fisher divergence; an entry that cannot be estimated keeps its old value."""
    return _usable(jnp.sqrt(moments.square_x / moments.square_g), old)


def welford_scale(moments: Moments, old: Array) -> Array:
    """σ by the variance of the draws; an entry that cannot be estimated keeps its old value."""
    n = moments.n.astype(old.dtype)
    return _usable(moments.square_x / jnp.maximum(n - 1, 1), old)


def _usable(variance: Array, old: Array) -> Array:
    clipped = jnp.clip(variance, SMALLEST, LARGEST)
    return jnp.where(jnp.isfinite(variance) & (variance > 0), jnp.sqrt(clipped), old).astype(old.dtype)
