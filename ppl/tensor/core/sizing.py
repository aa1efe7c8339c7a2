"""Values that are sizes: what must be known when a program is compiled, since compiled programs have fixed shapes.

Sizes that follow from shapes are known then. Others follow from integers that the user passes (`x[:n]`), or from
arrays (`tt.zeros(x.argmax())`), and must be worked out before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from ppl.graph import BOUND, Body, Node, ancestors, bodies
from ppl.tensor.core.sizes import DIM
from ppl.tensor.tensor import INPUT, TensorType
from ppl.tensor.variables import VARIABLE


class Deciding(NamedTuple):
    """What sizes follow from: inputs and variables that are integers, and further nodes, computed of arrays."""

    leaves: set[Node]
    computed: list[Node]


def deciding(outputs: Iterable[Node], blockers: Collection[Node] = ()) -> Deciding:
    """What decides sizes in the graph from `blockers` to `outputs` by its value, not only by its shape."""
    ends = _ends(outputs, blockers)
    computed = [] if _follow_from_integers(ends) else [end for end in ends if not _follow_from_integers([end])]
    leaves = _leaves(ends.difference(computed))
    return Deciding(leaves, sorted(computed, key=lambda node: node.serial))


def _follow_from_integers(ends: Collection[Node]) -> bool:
    """Whether numbers alone lead from integers, or entries of a vector of them such as a shape, to these sizes."""
    behind = _behind(ends)
    given = {x for x in behind if not x.inputs and not x.op.computed}
    return all(x.op in (INPUT, VARIABLE) and _is_integer(x.type) and len(x.type.shape) <= 1 for x in given) and all(
        isinstance(x.type, TensorType) and not x.type.shape for x in behind if x.inputs
    )


def _leaves(ends: Collection[Node]) -> set[Node]:
    return {x for x in _behind(ends) if not x.inputs and not x.op.computed}


def size_inputs(node: Node) -> tuple[Node, ...]:
    """The inputs of a node whose values are lengths: what its operation says, or the last ones, as many as its
    attribute `shape` or `size` leaves open."""
    said = getattr(node.op, "size_inputs", None)
    if said is not None:
        return tuple(said(node.inputs, node.attrs))
    sizes = node.attrs.get("shape", node.attrs.get("size")) if node.attrs else None
    count = sizes.count(None) if isinstance(sizes, tuple) else 0
    return node.inputs[len(node.inputs) - count :]


def _ends(outputs: Iterable[Node], blockers: Collection[Node] = ()) -> set[Node]:
    """The nodes whose values are sizes; of those inside a body, all that they may stand for outside."""
    ends: set[Node] = set()
    for node in ancestors(outputs, blockers):
        ends.update(size_inputs(node))
        if node.attrs and any(_decided_outside(body) for body in bodies(node)):
            ends.update(x for x in node.inputs if _is_integer(x.type) and not x.type.shape)
    return ends


def _decided_outside(body: Body) -> bool:
    """Whether sizes in a body follow from its parameters; what those stand for outside, the operation alone knows."""
    return any(x.op is BOUND for x in _behind(_ends(body.outputs)))


def _behind(ends: Collection[Node], blockers: Collection[Node] = ()) -> set[Node]:
    """All that sizes are computed from; lengths of arrays are known and lead no further."""
    lengths = [node for node in ancestors(ends, blockers) if node.op is DIM]
    return ancestors(ends, blockers=[*lengths, *blockers])


def _is_integer(type: Any) -> bool:
    return isinstance(type, TensorType) and type.dtype[0] in "ui"
