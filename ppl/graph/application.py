"""An operation with its inputs, as PyTensor's programs see it: `x.owner` of a node that is computed."""

from __future__ import annotations

import weakref
from typing import Any

from ppl.graph.node import GET, Node, TupleNode

# What programs for PyTensor know some nodes by, where here several operations do what is one there.
known_as: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()


class Application:
    """What a node is computed by. It is true, as programs ask (`if x.owner and ...`), where nodes have no truth."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node.inputs[0] if node.op is GET else node  # of one result of several: what gives them all

    @property
    def op(self) -> Any:
        """The operation."""
        return known_as.get(self._node, self._node.op)

    @property
    def inputs(self) -> list[Node]:
        """What it is applied to; of a draw, the parameters."""
        return list(self._node.inputs)

    @property
    def outputs(self) -> list[Node]:
        """The node itself, or the results of an operation that has several."""
        return list(self._node) if isinstance(self._node, TupleNode) else [self._node]

    @property
    def out(self) -> Node:
        """The only output."""
        (output,) = self.outputs
        return output

    def get_parents(self) -> list[Node]:
        """What it is applied to (PyTensor's name)."""
        return self.inputs

    @property
    def nin(self) -> int:
        return len(self.inputs)

    @property
    def nout(self) -> int:
        return len(self.outputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Application) and self._node is other._node

    def __hash__(self) -> int:
        return hash((Application, id(self._node)))

    def __repr__(self) -> str:
        return repr(self._node)
