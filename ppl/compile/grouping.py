"""Entries taken by positions that are known before the program runs: group numbers, categories, masks.

See `ppl.tensor.arrays.grouped` for what is gained. Where one row is taken far more often than the others the table of
places would be long and empty, and the index stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppl.graph import Node, topological
from ppl.graph.replace import rebuilt
from ppl.rewrites.values.reads import note
from ppl.tensor.arrays.grouped import ADD_UP_ROWS, TAKE_ROWS, places_of
from ppl.tensor.arrays.indexing import GETITEM, take_along_axis
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.arrays.shaping import reshape
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.tensor import CONSTANT, Tensor, constant
from ppl.tensor.variables import VARIABLE
from ppl.xla.later import wide

_PADDING = 4  # entries of the table for each row taken or summed, above which a scatter is less work


def grouped(outputs: Sequence[Tensor], inputs: Sequence[Node]) -> list[Tensor]:
    """The outputs with `x[known positions]` and sums by known groups, of values that depend on `inputs`, by tables."""
    moving: set[Node] = set(inputs)
    done: dict[Node, Node] = {}
    for node in topological(outputs):
        new = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
        if node in moving or any(parent in moving for parent in node.inputs):
            moving.add(node)
            if node.op in _BY_TABLE and node.inputs[0] in moving:
                new = _BY_TABLE[node.op](new)
        done[node] = new
    return [done[node] for node in outputs]  # type: ignore[misc]


def _taken(node: Node) -> Node:
    """The same rows by a table; the node itself where its index is of another kind, or unknown, or it does not pay."""
    x, plan = node.inputs[0], node.attrs["plan"]
    axes = len(node.inputs) - 1
    leading = all(part == ("array",) for part in plan[:axes])
    whole = all(part == ("slice", None, None, None) for part in plan[axes:])
    if not axes or not leading or not whole or None in x.type.shape:
        return node
    stack, rows = x.type.shape[:axes], x.type.shape[axes:]
    numbers = _row_numbers(node.inputs[1:], stack)
    table = None if numbers is None else _table(numbers, int(np.prod(stack)))
    if numbers is None or table is None:
        return node
    flat = x if axes == 1 else reshape(x, (int(np.prod(stack)), *rows))
    taken = TAKE_ROWS(flat, *table)
    return taken if numbers.ndim == 1 else reshape(taken, (*numbers.shape, *rows))


def _taken_along(node: Node) -> Node:
    """Entries picked along an axis, as the probabilities of what was observed; or the node itself."""
    (x, index), axis = node.inputs, node.attrs["axis"]
    positions = None if None in x.type.shape else known_positions(index)
    if positions is None:
        return node
    shape = tuple(positions.shape[a] if a == axis or n == 1 else n for a, n in enumerate(x.type.shape))
    grid = [np.zeros_like(along) if n == 1 else along for n, along in zip(x.type.shape, np.indices(shape), strict=True)]
    grid[axis] = np.broadcast_to(positions, shape)
    return _taken(GETITEM(x, tuple(grid)))


def _added_up(node: Node) -> Node:
    """The same sums by a table, or the node itself."""
    y, groups = node.inputs
    numbers = _row_numbers([groups], (node.attrs["count"],))
    table = None if numbers is None else _table(numbers, node.attrs["count"])
    return node if table is None else ADD_UP_ROWS(y, *table)


_BY_TABLE = {GETITEM: _taken, take_along_axis: _taken_along, segment_sum: _added_up}


def _table(numbers: np.ndarray, count: int) -> tuple[Tensor, Tensor] | None:
    """The row numbers and their table of places as constants; None where the table would be mostly empty."""
    places = _widened(places_of(numbers.ravel(), count), numbers.size)
    if places.size > _PADDING * (count + numbers.size):
        return None
    return constant(numbers.ravel().astype(np.int32)), constant(places.astype(np.int32))


def table_of_places(numbers: np.ndarray, count: int) -> np.ndarray | None:
    """For each row of a table of group numbers the places of each group; None where that would be mostly empty."""
    tables = [places_of(row, count) for row in numbers]
    end, width = numbers.shape[1], max(table.shape[1] for table in tables)
    if len(tables) * count * width > _PADDING * numbers.size:
        return None
    return np.stack([np.pad(t, [(0, 0), (0, width - t.shape[1])], constant_values=end) for t in tables])


def _widened(places: np.ndarray, end: int) -> np.ndarray:
    """The table with one of a few numbers of columns, where groups differ in size: data in other such groups then run
    the same program. There are four widths from each power of two to the next."""
    width = places.shape[1]
    step = 2 ** max(0, (width - 1).bit_length() - 3)
    uneven = bool(np.any(places == end))
    return np.pad(places, [(0, 0), (0, -width % step if uneven else 0)], constant_values=end)


def known_positions(index: Node) -> np.ndarray | None:
    """The value of an index of constants and of data; data that change make another program, as sizes do."""
    leaves: dict[Node, np.ndarray] = {}
    for node in topological([index]):
        if node.op is VARIABLE:
            leaves[node] = np.asarray(node.attrs["cell"].value)
        elif not node.inputs and node.op is not CONSTANT:
            return None
    note(leaves)
    with wide():
        return np.asarray(evaluate([index], leaves)[0])


def _row_numbers(indices: Sequence[Node], stack: Sequence[int]) -> np.ndarray | None:
    """Positions along several axes as row numbers of the flattened array; None where they are not known, or none, or
    out of range."""
    known = [p for p in map(known_positions, indices) if p is not None]
    if len(known) < len(indices):
        return None
    positions = [np.where(p < 0, p + n, p) for p, n in zip(known, stack, strict=True)]
    if any(not p.size or p.min() < 0 or p.max() >= n for p, n in zip(positions, stack, strict=True)):
        return None
    return np.asarray(np.ravel_multi_index(np.broadcast_arrays(*positions), tuple(stack)))
