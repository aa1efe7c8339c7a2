"""What Theano's programs ask of a compiled function: `f.maker.fgraph`, the graph that was compiled."""

from __future__ import annotations

from collections.abc import Sequence

from ppl.graph import Node, topological
from ppl.graph.records import record


@record
class CompiledGraph:
    """The graph of a compiled function, as it was after rewriting."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def toposort(self) -> list[Node]:
        """The operations in an order in which they can be done. A node is an application: `node.op`, `node.inputs`."""
        return [node for node in topological(self.outputs) if node.inputs]

    @property
    def apply_nodes(self) -> set[Node]:
        return set(self.toposort())

    @property
    def variables(self) -> set[Node]:
        return set(topological(self.outputs)) | set(self.inputs)


@record
class Maker:
    """Theano's name for what made a function."""

    fgraph: CompiledGraph

    @classmethod
    def of(cls, inputs: Sequence[Node], outputs: Sequence[Node]) -> Maker:
        return cls(CompiledGraph(tuple(inputs), tuple(outputs)))
