"""Sums over blocks of rows, added up in a fixed order, so that they come out the same however many devices share them.

The rows of data stand in a grid of blocks, an axis in front of each array. Each block's sums, and their slopes in the
numbers that enter, are made by one and the same code, a turn of a loop; where the grid is spread over devices, the
results of all blocks are gathered in one message; and they are added in the order of the blocks. Neither the number of
devices nor that of processes reaches a bit of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.xla.later import Array, jax, jnp, lax

BLOCKS = 64  # blocks of a grid


def rows_of_blocks(rows: int, blocks: int) -> np.ndarray:
    """The numbers of the rows of each block, (blocks, rows a block); the last row fills up what is left over.

    >>> rows_of_blocks(5, 3).tolist()
    [[0, 1], [2, 3], [4, 4]]
    """
    each = -(-rows // blocks)
    return np.minimum(np.arange(blocks * each).reshape(blocks, each), rows - 1)


def real_rows(rows: int, blocks: int) -> np.ndarray:
    """Which of these are rows of the data, and no filling."""
    each = -(-rows // blocks)
    return np.arange(blocks * each).reshape(blocks, each) < rows


def added_up(
    block: Callable[[Array, Sequence[Any], Sequence[Any]], Array],
    entering: Array,
    fixed: Sequence[Any],
    grid: Sequence[Any],
    turns: Array,
    axis: str | None = None,
) -> Array:
    """The sum over all blocks of the vectors ``block(entering, fixed, arrays of one block)``.

    ``entering`` holds the numbers that slopes are taken in, ``grid`` the arrays whose first axis goes over the blocks
    of this device, of which the first ``turns`` are worked off; ``axis`` names the axis of the mesh that the blocks are
    spread along. Slopes of any order are those of the plain sum.
    """

    @jax.custom_jvp
    def total(entering: Array, fixed: Sequence[Any], grid: Sequence[Any], turns: Array) -> Array:
        return _gathered(lambda each: block(entering, fixed, each), grid, turns, axis)

    @total.defjvp
    def slopes(given: Any, moves: Any) -> tuple[Array, Array]:
        entering, fixed, grid, turns = given

        def with_slopes(each: Sequence[Any]) -> Array:
            values, back = jax.vjp(lambda numbers: block(numbers, fixed, each), entering)
            rows = [back(one)[0] for one in np.eye(values.shape[0], dtype=values.dtype)]
            return jnp.concatenate([values[:, None], jnp.stack(rows)], axis=1)

        found = _gathered(with_slopes, grid, turns, axis)
        return found[:, 0], found[:, 1:] @ moves[0]

    return total(entering, tuple(fixed), tuple(grid), turns)


def _gathered(one: Callable[[Sequence[Any]], Array], grid: Sequence[Any], turns: Array, axis: str | None) -> Array:
    """The sum of what ``one`` makes of each block, in the order of the blocks."""
    of = lambda i: [lax.dynamic_index_in_dim(array, i, keepdims=False) for array in grid]
    kind = jax.eval_shape(lambda: one(of(0)))
    mine = lax.fori_loop(
        0, turns, lambda i, found: found.at[i].set(one(of(i))),
        jnp.zeros((grid[0].shape[0], *kind.shape), kind.dtype),
    )  # fmt: skip
    every = mine if axis is None else lax.all_gather(mine, axis, tiled=True)
    return jnp.sum(every[:BLOCKS], axis=0)
