r"""Gathers by an index that is known beforehand, whose gradient is a gather too.

The gradient of ``values[index]`` adds up the rows of each group. JAX writes that as a scatter, which keeps XLA from
folding a sampling loop into one kernel, and adds row after row. But an index that does not change can be turned round
beforehand: column k of a table lists the rows of group k, and the sum over a group is the sum down its column. Where
groups are of very different sizes, each is first cut into parts of at most ``height`` rows, so that the table stays
small: a second table then lists the parts of each group.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


class Index(NamedTuple):
    """An index turned round. Arrays, so that it can be handed to a compiled program as data."""

    rows: Array | np.ndarray  # (n,): the group of each row
    parts: Array | np.ndarray  # (height, parts): rows of each part; n stands for no row
    groups: Array | np.ndarray  # (most parts, count): parts of each group, ``parts.shape[1]`` stands for no part


def index(groups: Sequence[int] | np.ndarray, count: int) -> Index:
    """``groups``, whole numbers from 0 to ``count`` - 1 in any order, turned round."""
    rows = np.asarray(groups)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(f"An index is a vector of whole numbers, got {rows.dtype} of shape {rows.shape}.")
    if rows.size and (rows.min() < 0 or rows.max() >= count):
        raise ValueError(f"The index must lie between 0 and {count - 1}, got {rows.min()} to {rows.max()}.")
    sizes = np.bincount(rows, minlength=count)
    height = min(_heights(sizes), key=lambda h: _work(sizes, h))
    shares = -(-sizes // height)
    first_part = np.cumsum(shares) - shares
    order = np.argsort(rows, kind="stable")
    within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    parts = np.full((height, int(shares.sum())), rows.size, np.int32)
    parts[within % height, first_part[rows[order]] + within // height] = order
    place = np.arange(int(shares.max(initial=1)))[:, None]
    table = np.where(place < shares, first_part + place, parts.shape[1]).astype(np.int32)
    return Index(rows.astype(np.int32), parts, table)


@jax.custom_vjp
def take(values: Array, index: Index) -> Array:
    """``values[index.rows]`` along the first axis."""
    return jnp.asarray(values).at[index.rows].get(mode="promise_in_bounds", wrap_negative_indices=False)


def sums(rows: Array, index: Index) -> Array:
    """For each group the sum of its rows: the transpose of ``take``."""
    parts = _columns(rows, index.parts)
    return _columns(parts, index.groups)


def _columns(rows: Array, table: Array | np.ndarray) -> Array:
    """Sums down the columns of a table of row numbers, in which a number beyond the last row stands for nothing."""
    padded = jnp.concatenate([rows, jnp.zeros((1, *rows.shape[1:]), rows.dtype)])
    return jnp.sum(padded.at[table].get(mode="promise_in_bounds", wrap_negative_indices=False), axis=0)


def _heights(sizes: np.ndarray) -> list[int]:
    """Heights worth a try: the largest group, and the powers of two below it."""
    most = max(1, int(sizes.max(initial=1)))
    return [most, *(1 << k for k in range(most.bit_length()) if 1 << k < most)]


def _work(sizes: np.ndarray, height: int) -> int:
    """Entries of both tables."""
    shares = -(-sizes // height)
    return int(height * shares.sum() + shares.max(initial=1) * sizes.size)


def _forward(values: Array, index: Index) -> tuple[Array, Index]:
    return take(values, index), index


def _backward(index: Index, rows: Array) -> tuple[Array, None]:
    return sums(rows, index), None


take.defvjp(_forward, _backward)
