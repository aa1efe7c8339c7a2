"""Large constants lifted out of a graph, so that they can be arguments of its program.

Other data of the same shapes then run the program that is there, and XLA is not given megabytes to fold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ppl.graph import BOUND, Attrs, Body, Node, bodies, rebuilt, topological
from ppl.tensor.core.names import NAMED
from ppl.tensor.tensor import CONSTANT, value_of

LARGE = 10_000  # bytes above which a constant is an argument


def lift_constants(outputs: Sequence[Node]) -> tuple[list[Node], dict[Node, Any]]:
    """The graph with numbered places in place of large constants, inside bodies too; and what belongs there.

    Names go as well, since they do not matter to the numbers: graphs that differ only in names share a program.
    """
    places: dict[Node, Node] = {}
    values: dict[Node, Any] = {}

    def lift(node: Node) -> Node:
        if node.op is NAMED:
            return node.inputs[0]
        if node.op is not CONSTANT or value_of(node).nbytes <= LARGE:
            return node
        if node not in places:
            place = Node(BOUND, (), Attrs(level=-1, position=len(places), type=node.type))
            places[node], values[place] = place, value_of(node)
        return places[node]

    return _rebuild_deep(outputs, lift), values


def _rebuild_deep(outputs: Sequence[Node], change: Callable[[Node], Node]) -> list[Node]:
    """Every node rebuilt and changed, those in bodies too."""
    seen: dict[Body, Body] = {}
    return _rebuilt(list(outputs), change, seen)


def _rebuilt(outputs: list[Node], change: Callable[[Node], Node], seen: dict[Body, Body]) -> list[Node]:
    done: dict[Node, Node] = {}
    for node in topological(outputs):
        new = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
        for body in bodies(node) if node.attrs else []:
            if body not in seen:
                seen[body] = Body(body.params, tuple(_rebuilt(list(body.outputs), change, seen)))
        if node.attrs and any(isinstance(value, Body) and seen[value] != value for value in node.attrs.values()):
            new = Node(node.op, new.inputs, new.attrs.but(**_changed(node.attrs, seen)))
        done[node] = change(new)
    return [done[node] for node in outputs]


def _changed(attrs: Mapping[str, Any], seen: Mapping[Body, Body]) -> dict[str, Any]:
    return {key: seen[value] for key, value in attrs.items() if isinstance(value, Body)}
