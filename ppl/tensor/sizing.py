"""Values that are sizes: what must be known when a program is compiled, since compiled programs have fixed shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ppl.graph import BOUND, Body, Node, ancestors, bodies
from ppl.tensor.shaping import DIM
from ppl.tensor.tensor import INPUT, TensorType
from ppl.tensor.variables import VARIABLE


def size_inputs(node: Node) -> tuple[Node, ...]:
    """The inputs of a node whose values are lengths: what its operation says, or the last ones, as many as its
    attribute `shape` or `size` leaves open."""
    said = getattr(node.op, "size_inputs", None)
    if said is not None:
        return tuple(said(node.inputs, node.attrs))
    sizes = node.attrs.get("shape", node.attrs.get("size")) if node.attrs else None
    count = sizes.count(None) if isinstance(sizes, tuple) else 0
    return node.inputs[len(node.inputs) - count :]


def deciding(outputs: Iterable[Node], blockers: Collection[Node] = ()) -> set[Node]:
    """The inputs and variables whose values, not only whose shapes, decide sizes in the graph from `blockers`, or from
    its leaves, to `outputs`."""
    return {leaf for leaf in _sources(outputs, blockers) if leaf.op in (INPUT, VARIABLE)}


def _sources(outputs: Iterable[Node], blockers: Collection[Node]) -> set[Node]:
    """All that sizes are computed from, in bodies too; lengths of arrays are known and lead no further."""
    ends: set[Node] = set()
    for node in ancestors(outputs, blockers):
        ends.update(size_inputs(node))
        if any(_decided_outside(body) for body in bodies(node)):
            ends.update(x for x in node.inputs if isinstance(x.type, TensorType) and _may_be_size(x.type))
    if not ends:
        return ends
    lengths = [node for node in ancestors(ends) if node.op is DIM]
    return ancestors(ends, blockers=[*lengths, *blockers])


def _decided_outside(body: Body) -> bool:
    """Whether sizes in a body follow from its parameters; what those stand for outside, the operation alone knows."""
    return any(leaf.op is BOUND for leaf in _sources(body.outputs, ()))


def _may_be_size(type: TensorType) -> bool:
    return not type.shape and type.dtype[0] in "ui"
