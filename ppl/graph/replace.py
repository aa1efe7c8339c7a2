"""Substitution: the same graph over other nodes. Nodes are rebuilt by identity, never by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

from ppl.graph.node import Node
from ppl.graph.walk import as_nodes, topological


def rebuilt(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node's operation on other inputs; the node itself where they are the same."""
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    return Node(node.op, inputs, node.attrs)


@overload
def substitute(outputs: Node, replacements: Mapping[Any, Node]) -> Node: ...
@overload
def substitute(outputs: Iterable[Node], replacements: Mapping[Any, Node]) -> list[Node]: ...
def substitute(outputs: Node | Iterable[Node], replacements: Mapping[Any, Node]) -> Node | list[Node]:
    """`outputs` with each key of `replacements` replaced by its value, all at once.

    The values are taken as they are: x -> f(x) puts f(x) where x was and does not loop.
    """
    wanted = as_nodes(outputs)
    done: dict[Node, Node] = dict(replacements)
    for node in topological(wanted, blockers=done):
        if node not in done:
            done[node] = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
    results = [done[node] for node in wanted]
    return results[0] if isinstance(outputs, Node) else results


def transform(outputs: Iterable[Node], visit: Callable[[Node], Node]) -> list[Node]:
    """Rebuild the graph bottom-up, passing each rebuilt node through `visit`."""
    wanted = list(outputs)
    done: dict[Node, Node] = {}
    for node in topological(wanted):
        done[node] = visit(rebuilt(node, tuple([done[parent] for parent in node.inputs])))
    return [done[node] for node in wanted]
