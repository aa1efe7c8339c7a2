"""Entries taken by positions that are known before the program runs: group numbers, categories, masks.

See `ppl.tensor.grouped` for what is gained. Where one row is taken far more often than the others the table of places
would be long and empty, and the index stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from ppl.graph import Node, topological
from ppl.graph.replace import rebuilt
from ppl.tensor.evaluate import evaluate
from ppl.tensor.grouped import TAKE_ROWS, places_of
from ppl.tensor.indexing import GETITEM
from ppl.tensor.shaping import reshape
from ppl.tensor.tensor import CONSTANT, Tensor, constant
from ppl.tensor.variables import VARIABLE

_PADDING = 4  # entries of the table for each row taken or summed, above which a scatter is less work


def grouped(outputs: Sequence[Tensor], inputs: Sequence[Node]) -> list[Tensor]:
    """The outputs with `x[known positions]` of values that depend on `inputs` taken by a table of places."""
    moving: set[Node] = set(inputs)
    done: dict[Node, Node] = {}
    for node in topological(outputs):
        new = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
        if node in moving or any(parent in moving for parent in node.inputs):
            moving.add(node)
            if node.op is GETITEM and node.inputs[0] in moving:
                new = _taken(new)
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
    positions = [p for p in map(_known, node.inputs[1:]) if p is not None]
    if len(positions) < axes:
        return node
    stack, rows = x.type.shape[:axes], x.type.shape[axes:]
    numbers = _row_numbers(positions, stack)
    if numbers is None or not numbers.size:
        return node
    count = int(np.prod(stack))
    places = places_of(numbers.ravel(), count)
    if places.size > _PADDING * (count + numbers.size):
        return node
    flat = x if axes == 1 else reshape(x, (count, *rows))
    taken = TAKE_ROWS(flat, constant(numbers.ravel().astype(np.int32)), constant(places.astype(np.int32)))
    return taken if numbers.ndim == 1 else reshape(taken, (*numbers.shape, *rows))


def _known(index: Node) -> np.ndarray | None:
    """The value of an index of constants and of data; data that change make another program, as sizes do."""
    leaves: dict[Node, np.ndarray] = {}
    for node in topological([index]):
        if node.op is VARIABLE:
            leaves[node] = np.asarray(node.attrs["cell"].value)
        elif not node.inputs and node.op is not CONSTANT:
            return None
    with jax.enable_x64(True):
        return np.asarray(evaluate([index], leaves)[0])


def _row_numbers(positions: Sequence[np.ndarray], stack: Sequence[int]) -> np.ndarray | None:
    """Positions along several axes as row numbers of the flattened array; None where one is out of range."""
    wrapped = [np.where(p < 0, p + n, p) for p, n in zip(positions, stack, strict=True)]
    if any(p.size and (p.min() < 0 or p.max() >= n) for p, n in zip(wrapped, stack, strict=True)):
        return None
    return np.ravel_multi_index(np.broadcast_arrays(*wrapped), tuple(stack))
