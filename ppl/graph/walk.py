"""Walks over graphs. All are iterative: a chain of 100,000 nodes is walked as easily as one of three."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from typing import Any

from ppl.graph.node import Node

Nodes = Node | Iterable[Node]


def as_nodes(nodes: Nodes) -> list[Node]:
    """One node or several, as a list."""
    return [nodes] if isinstance(nodes, Node) else list(nodes)


def ancestors(outputs: Nodes, blockers: Collection[Node] = ()) -> set[Node]:
    """All nodes that `outputs` are computed from, themselves included; the walk does not go behind `blockers`."""
    stack = as_nodes(outputs)
    seen = set(stack)
    blocked = blockers if isinstance(blockers, Set | Mapping) else set(blockers)  # a large table is not copied
    while stack:
        node = stack.pop()
        if node in blocked:
            continue
        for parent in node.inputs:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return seen


def topological(outputs: Nodes, blockers: Collection[Node] = ()) -> list[Node]:
    """The ancestors of `outputs`, inputs always before the nodes that use them.

    The order follows from the structure of the graph alone (each node's inputs from left to right, then the node):
    what else is alive in the process, or which thread made a shared node first, does not change it. What is rewritten
    in this order is therefore the same in every run of a program.
    """
    blocked = blockers if isinstance(blockers, Set | Mapping) else set(blockers)
    order: dict[Node, None] = {}
    stack = as_nodes(outputs)[::-1]
    while stack:
        node = stack[-1]
        if node in order:
            stack.pop()
            continue
        waiting = () if node in blocked else [parent for parent in node.inputs if parent not in order]
        if waiting:
            stack += waiting[::-1]
        else:
            stack.pop()
            order[node] = None
    return list(order)


def leaves(outputs: Nodes) -> list[Node]:
    """The nodes without inputs that `outputs` are computed from, in the order in which a walk meets them."""
    return [node for node in topological(outputs) if not node.inputs]


def uses(outputs: Nodes) -> dict[Node, list[tuple[Node, int]]]:
    """For each node of the graph the places where it is used, as (user, position among its inputs)."""
    found: dict[Node, list[tuple[Node, int]]] = {}
    for node in topological(outputs):
        found.setdefault(node, [])
        for position, parent in enumerate(node.inputs):
            found[parent].append((node, position))
    return found


def depends_on(outputs: Nodes, candidates: Nodes) -> bool:
    """Whether any of `outputs` is computed from any of `candidates`."""
    wanted = set(as_nodes(candidates))
    return not wanted.isdisjoint(ancestors(outputs))


def between(sources: Nodes, outputs: Nodes) -> list[Node]:
    """The nodes on a path from `sources` to `outputs`, both ends included, in topological order."""
    reached = set(as_nodes(sources))
    order = topological(outputs, blockers=reached)
    on_path = reached & set(order)
    for node in order:
        if node not in on_path and any(parent in on_path for parent in node.inputs):
            on_path.add(node)
    return [node for node in order if node in on_path]


def paths(source: Node, target: Node) -> Iterator[list[Node]]:
    """Every path from `source` to `target`; their number can grow exponentially, so they come one at a time."""
    onward: dict[Node, list[Node]] = {}
    for node in between(source, target):
        for parent in dict.fromkeys(node.inputs):
            onward.setdefault(parent, []).append(node)
    stack = [[source]]
    while stack:
        path = stack.pop()
        if path[-1] is target:
            yield path
            continue
        stack.extend([*path, user] for user in reversed(onward.get(path[-1], [])))


def fold(outputs: Nodes, visit: Callable[[Node, list[Any]], Any]) -> dict[Node, Any]:
    """`visit(node, results of its inputs)` for every node, inputs first."""
    results: dict[Node, Any] = {}
    for node in topological(outputs):
        results[node] = visit(node, [results[parent] for parent in node.inputs])
    return results
