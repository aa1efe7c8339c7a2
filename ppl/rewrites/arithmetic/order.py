"""The order of operands in sums and products: by what they are, not by when they were made.

Nodes come and go while rewriting, so their age would make the order, and with it rounding and compiled programs, depend
on what else has run. Operands are ordered by their youngest input, then depth, operation, oldest input and content; the
order of two inputs is that in which the user made them. The values of data come last: other data leave the order alone.
"""

from __future__ import annotations

import functools
import zlib
from typing import NamedTuple

from ppl.graph import BOUND, Identity, Node
from ppl.graph.weak import NodeDict
from ppl.tensor.core.structural import is_structural
from ppl.tensor.tensor import CONSTANT, value_of

_MASK = (1 << 61) - 1
_NONE = -1


class Place(NamedTuple):
    """Where a node stands among others."""

    youngest: int
    depth: int
    op: str
    oldest: int
    digest: int  # of what is computed
    numbers: int  # and of the numbers that it is computed with


_places: NodeDict[Place] = NodeDict()


def place(node: Node) -> Place:
    """The place of a node in the order of operands; the same whenever the expression is the same."""
    known = _places.get(node)
    if known is not None:
        return known
    stack = [node]
    while stack:
        top = stack[-1]
        inputs = [found for x in top.inputs if (found := _places.get(x)) is not None]
        if len(inputs) < len(top.inputs):
            stack.extend([x for x in top.inputs if x not in _places])
        else:
            known = _places[top] = _place(top, inputs)
            stack.pop()
    assert known is not None, "the node itself is the last of the stack"
    return known


def _place(node: Node, inputs: list[Place]) -> Place:
    name = node.op.name
    if node.op is CONSTANT:
        value = value_of(node)
        content, kind = value.tobytes(), f"{value.dtype.str}{value.shape}".encode()
        return Place(_NONE, 0, name, _NONE, zlib.crc32(content if is_structural(value) else kind), zlib.crc32(content))
    number = _number(node)
    digest, youngest, oldest, depth = _digest_of_name(name), _NONE, _NONE, -1
    numbers = 0
    for x in inputs:
        digest = (digest * 1_000_003 + x.digest) & _MASK
        numbers = (numbers * 1_000_003 + x.numbers) & _MASK
        youngest, depth = max(youngest, x.youngest), max(depth, x.depth)
        if x.oldest != _NONE:
            oldest = x.oldest if oldest == _NONE else min(oldest, x.oldest)
    if node.attrs:
        shown = ",".join(f"{k}={v}" for k, v in node.attrs.items() if not isinstance(v, Identity) and k != "cell")
        digest = (digest * 31 + zlib.crc32(shown.encode())) & _MASK
    if number is not None:
        youngest = oldest = number
    return Place(youngest, depth + 1, name, oldest, digest, numbers)


@functools.cache
def _digest_of_name(name: str) -> int:
    return zlib.crc32(name.encode())


def _number(node: Node) -> int | None:
    """The number of an input or a draw, in the order in which they were made; None for what is computed."""
    if node.op is BOUND:
        return int(node.attrs["position"])
    for value in node.attrs.values():
        if isinstance(value, Identity):
            return value.number
    return None if node.inputs else node.serial
