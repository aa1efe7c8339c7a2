"""Graphs in pickles, for joblib, Dask, multiprocessing and their like.

A pickled graph is a list of its nodes, inputs before users, so that a chain of a hundred thousand nodes nests no deeper
than one of three. What is loaded is interned as if it had been written anew: within one pickle nodes that were one are
one again, and draws that were two stay two; between pickles, and beside the original, inputs, draws and variables are
fresh. Registered operations are named; those of the user are pickled with their functions, which is up to the pickler:
the standard one takes functions of modules by their names, cloudpickle any.

Reading a pickle runs what is in it: open those of your own alone, and see `ppl.save` for files to be given away.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ppl.graph.node import REDUCTIONS, Attrs, Node, Op
from ppl.graph.walk import topological

Labels = tuple[Callable[[Node], str | None], Callable[[Node, str], None]]
labels: list[Labels] = []  # what reads and sets the names that nodes were given later


class Entry:
    """A node in a pickle. There is one for each node as long as a pickler remembers it, so that it is written once."""

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: Node) -> None:
        self.node = node

    def __reduce__(self) -> Any:
        node = self.node
        label = next((text for read, _ in labels if (text := read(node)) is not None), None)
        return _node, (node.op, tuple(map(_entry, node.inputs)), node.attrs, *([] if label is None else [label]))


_entries: weakref.WeakValueDictionary[int, Entry] = weakref.WeakValueDictionary()


def _entry(node: Node) -> Entry:
    found = _entries.get(node.serial)
    if found is None:
        found = _entries[node.serial] = Entry(node)
    return found


def _node(op: Op, inputs: tuple[Node, ...], attrs: Attrs, label: str | None = None) -> Node:
    node = Node(op, inputs, attrs)
    if label is not None:
        for _, write in labels:
            write(node, label)
    return node


def in_order(nodes: Iterable[Node]) -> list[Entry]:
    """Stands in a pickle for these nodes and all they are computed from, oldest first; loaded, it is a list of them."""
    return list(map(_entry, topological(nodes)))


def standing_for(value: Any) -> Any:
    """A node, or a list, tuple or dictionary with nodes in it, as it stands in a pickle after `in_order`."""
    if isinstance(value, Node):
        return _entry(value)
    if isinstance(value, list):
        return list(map(standing_for, value))
    if type(value) is tuple:
        return tuple(map(standing_for, value))
    if isinstance(value, dict):
        return {standing_for(key): standing_for(item) for key, item in value.items()}
    return value


def nodes_in(value: Any) -> list[Node]:
    """The nodes in lists, tuples and dictionaries."""
    if isinstance(value, Node):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [node for part in parts for node in nodes_in(part)]


def last(before: list[Node], value: Any) -> Any:
    """What is left of a pickled graph: a value over the nodes that were loaded before it."""
    return value


def _of_node(node: Node) -> Any:
    return last, (in_order([node]), _entry(node))


REDUCTIONS[Node] = _of_node
