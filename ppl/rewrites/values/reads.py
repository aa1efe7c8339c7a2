"""Which data an answer was read from, and whether these are what they were.

A rule may look at data: whether all are positive, which rows share a group. What it concludes holds as long as the data
that it looked at are the same, whatever becomes of others. So who wants to keep an answer lets `Reads` note them:

    reads = Reads()
    with reads.noted():
        answer = ...      # whatever reads data calls `note`
    reads.hold()          # later: may the answer still be used?
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any

import numpy as np

from ppl.graph import Node
from ppl.tensor.variables import VARIABLE
from ppl.xla.later import Array


class Reads:
    """Variables that were read, and what they held."""

    def __init__(self) -> None:
        self._contents: dict[Node, Content] = {}
        self._mixed = False  # whether one of them was another at another reading

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Variables that are read inside are noted here, and by those who note around."""
        token = _noting.set((*_noting.get(), self))
        try:
            yield
        finally:
            _noting.reset(token)

    def note(self, nodes: Iterable[Node]) -> None:
        """Note the variables among the nodes."""
        for node in nodes:
            if node.op is not VARIABLE:
                continue
            if node not in self._contents:
                self._contents[node] = Content(node)
            elif not self._contents[node].is_of(node):
                self._mixed = True

    def hold(self) -> bool:
        """Whether all of them hold now what they held when they were read."""
        return not self._mixed and all(content.is_of(node) for node, content in self._contents.items())


class Content:
    """What a variable holds: its array, if that cannot change, and a digest of it."""

    def __init__(self, variable: Node) -> None:
        value = variable.attrs["cell"].value
        self._array, self._digest = _fixed(value), _digest(value)

    def is_of(self, variable: Node) -> bool:
        """Whether the variable holds it now."""
        value = variable.attrs["cell"].value
        if self._array is not None and self._array() is value:
            return True
        if _digest(value) != self._digest:
            return False
        self._array = _fixed(value)
        return True


def note(nodes: Iterable[Node]) -> None:
    """Tell whoever keeps an answer that these variables are read for it."""
    known = _noting.get()
    if known:
        variables = [node for node in nodes if node.op is VARIABLE]
        for reads in known:
            reads.note(variables)


_noting: ContextVar[tuple[Reads, ...]] = ContextVar("noting", default=())


def _fixed(value: Any) -> Any:
    """A reference to an array that nobody can change any more; None for others."""
    if isinstance(value, Array) or (isinstance(value, np.ndarray) and not value.flags.writeable and value.base is None):
        return weakref.ref(value)
    return None


def _digest(value: Any) -> tuple[Any, ...]:
    array = np.asarray(value)
    return array.dtype.str, array.shape, blake2b(np.ascontiguousarray(array).data, digest_size=20).digest()
