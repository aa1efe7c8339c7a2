r"""Metrics: linear maps that make the target look like a standard normal.

A metric is the map A = diag(s) (I + U diag(c) Uᵀ) with orthonormal columns U and c = √λ - 1. Momenta live in the
whitened space, where the mass matrix is the identity; A Aᵀ plays the part of an inverse mass matrix (an estimate of
the posterior covariance). With no columns it is the diagonal metric.

The number of columns of U is fixed when a program is compiled and unused ones, the last, have c = 0. A program reads
4 or 8 or all columns, as ``rank`` says; while it is 0 their cost is a comparison, so the same program serves diagonal
and low-rank warm-up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ppl.xla.later import Array, jnp, lax

LANES = 8
ROOMS = (8, 4)  # how many columns are read where no more are in use, if any


class Metric(NamedTuple):
    """A = diag(scale) (I + basisᵀ diag(stretch) basis)."""

    scale: Array  # (dim,)
    basis: Array  # (columns, dim): Uᵀ, orthonormal rows, padded with zeros; both products then run along memory
    stretch: Array  # (columns,): √λ - 1 for each column
    rank: Array  # how many columns are in use


def identity(dim: int, columns: int, dtype: jnp.dtype) -> Metric:
    """The metric that changes nothing."""
    return Metric(
        jnp.ones(dim, dtype), jnp.zeros((columns, dim), dtype), jnp.zeros(columns, dtype), jnp.zeros((), jnp.int32)
    )


def velocity(metric: Metric, momentum: Array) -> Array:
    """A p: how positions move."""
    return metric.scale * _stretched(metric, momentum)


def force(metric: Metric, gradient: Array) -> Array:
    """Aᵀ g: how momenta change."""
    return _stretched(metric, metric.scale * gradient)


def _stretched(metric: Metric, z: Array) -> Array:
    room = metric.basis.shape[0]
    if room == 0:
        return z

    def along(columns: int, z: Array) -> Array:
        basis, stretch = metric.basis[:columns], metric.stretch[:columns]
        return z + (stretch * (basis @ z)) @ basis

    stretched: Callable[[Array], Array] = partial(along, room)
    for columns in (*ROOMS, 0):
        if columns < room:
            fewer = partial(along, columns) if columns else lambda z: z
            stretched = partial(lax.cond, metric.rank > columns, stretched, fewer)
    return stretched(z)


def columns_read(rank: int, room: int) -> int:
    """How many columns a program with so much room reads when so many are in use."""
    return min(columns for columns in (0, *ROOMS, room) if columns >= rank)


def dot(a: Array, b: Array) -> Array:
    """a·b, summed in float64 whatever the vectors hold: energies are differences of large numbers.

    Long vectors are summed in eight pieces side by side, because a compiler may not reorder one running sum of floats;
    the barrier keeps it from making one sum of the two.
    """
    products = (a * b).astype(jnp.float64)
    length = products.shape[0] // LANES
    if length < 2:
        return jnp.sum(products)
    lanes = lax.optimization_barrier(jnp.sum(products[: LANES * length].reshape(LANES, length), axis=0))
    return jnp.sum(lanes) + jnp.sum(products[LANES * length :])
