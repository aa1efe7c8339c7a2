"""Something to remember about nodes, for as long as they live."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar

from ppl.graph.node import Node

Value = TypeVar("Value")


class NodeDict(MutableMapping[Node, Value]):
    """A dictionary that holds no node alive. Nodes are told apart by identity: `==` on tensors builds a node, which is
    why Python's own WeakKeyDictionary will not do."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Node], Value]] = {}

    def __getitem__(self, node: Node) -> Value:
        return self._entries[id(node)][1]

    def get(self, node: Node, default: Any = None) -> Any:
        entry = self._entries.get(id(node))
        return default if entry is None else entry[1]

    def __setitem__(self, node: Node, value: Value) -> None:
        key, entries = id(node), self._entries
        entries[key] = (weakref.ref(node, lambda _: entries.pop(key, None)), value)

    def __delitem__(self, node: Node) -> None:
        del self._entries[id(node)]

    def __contains__(self, node: object) -> bool:
        return id(node) in self._entries

    def __iter__(self) -> Iterator[Node]:
        return iter([node for ref, _ in list(self._entries.values()) if (node := ref()) is not None])

    def __len__(self) -> int:
        return len(self._entries)
