"""Gathers taken last: f(x[i]) = f(x)[i], computed once for each entry of x where i is longer than x.

This is no rule of a book: in normal form functions stand next to what they are applied to, so that exp(x[i]) meets
the logarithm or the sum of exponentials around it. Once all rules are through, the index moves outward, and a sum of
x[i] over known positions becomes a sum over x with counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppl.graph import Attrs, Node, topological
from ppl.graph.replace import rebuilt
from ppl.rewrites.values.work import entries
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.core import elementwise as ew
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import CONSTANT, constant, value_of


def gathers_last(outputs: Sequence[Node]) -> list[Node]:
    """The same values, with elementwise functions applied before entries are repeated."""
    done: dict[Node, Node] = {}
    for node in topological(outputs):
        new = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
        if isinstance(new.op, Elementwise):
            new = _of_sources(new)
        elif new.op is red.sum:
            new = _counted(new)
        done[node] = new
    return [done[node] for node in outputs]


def _is_gather(x: Node) -> bool:
    return x.op is GETITEM and any(part[0] == "array" for part in x.attrs["plan"])


def _of_sources(node: Node) -> Node:
    """f(x[i], y[i], a) as f(x, y, a)[i] for scalars a."""
    gathers = [x for x in node.inputs if _is_gather(x)]
    if not gathers or any(x.type.ndim for x in node.inputs if not _is_gather(x)):
        return node
    first = gathers[0]
    same = len({(x.attrs, *map(id, x.inputs[1:])) for x in gathers}) == 1
    shapes = {x.inputs[0].type.shape for x in gathers}
    if not same or len(shapes) > 1 or entries(first.inputs[0]) >= entries(first) or not _keeps_nan(node, first):
        return node
    whole = Node(node.op, tuple([x.inputs[0] if _is_gather(x) else x for x in node.inputs]), node.attrs)
    return Node(GETITEM, (whole, *first.inputs[1:]), first.attrs)


def _keeps_nan(node: Node, gather: Node) -> bool:
    """Whether the places out of range, which read nan, still do: there are none where positions and sizes are known."""
    source, *indices = gather.inputs
    if None not in source.type.shape and all(index.op is CONSTANT for index in indices):
        return True
    return len(node.inputs) == 1 and node.type.dtype[0] == source.type.dtype[0] == "f"


def _counted(node: Node) -> Node:
    """Σᵢ x[gᵢ] = Σⱼ nⱼ·xⱼ, where position j is taken nⱼ times."""
    x = node.inputs[0]
    if not _is_gather(x) or x.attrs["plan"] != (("array",),) or x.type.ndim != len(node.attrs["axis"]):
        return node
    source, index = x.inputs
    dim = source.type.shape[0]
    if node.attrs["keepdims"] or index.op is not CONSTANT or dim is None or dim >= entries(x):
        return node
    positions = value_of(index).ravel()
    if positions.min() < -dim or positions.max() >= dim:
        return node
    counts = np.bincount(np.where(positions < 0, positions + dim, positions), minlength=dim)
    taken = np.flatnonzero(counts)
    if len(taken) < dim:  # what is never taken does not count, not even as 0·nan
        source, counts = Node(GETITEM, (source, constant(taken)), x.attrs), counts[taken]
    weighted = Node(ew.multiply, (source, constant(counts.astype(source.type.dtype))))
    return Node(red.sum, (weighted,), Attrs(axis=(0,), keepdims=False))
