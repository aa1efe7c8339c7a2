"""Sameness of graphs: a hash of their content, and equality.

Within a process two graphs over the same leaves are equal exactly when they are the same objects, since nodes are
hash-consed. The digest goes further: it is the same in every process, and the same for graphs that differ only in
*which* inputs, variables and draws they hold, as long as these have the same names and types, in the same order.
Functions that a user wrapped are known only to the process, and so are the digests of graphs that hold them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ppl.graph.body import Body, bodies
from ppl.graph.node import FrozenArray, Identity, Node
from ppl.graph.registry import CODECS, OPS
from ppl.graph.replace import substitute
from ppl.graph.walk import Nodes, as_nodes

_SIZE = 20
_PROCESS = os.urandom(8).hex()  # numbers of processes come again: in a container always the same


def digest(outputs: Nodes, own: Callable[[Any], bytes] | None = None) -> str:
    """A hash of what the graph computes, the same in every process.

    Leaves and draws with an identity count by the order in which a walk from the outputs first meets them. `own` says
    what marks a user's function or operation, where the digest shall outlive the process.

    >>> import ppl.tensor as tt
    >>> x, y = tt.dscalars("x", "x")
    >>> x is y, digest(tt.exp(x)) == digest(tt.exp(y)), digest(x + x) == digest(x + y)
    (False, True, False)
    """
    wanted = as_nodes(outputs)
    found: dict[Node, bytes] = {}
    numbers: dict[Any, int] = {}
    for node in visiting(wanted):
        hasher = blake2b(digest_size=_SIZE)
        hasher.update(f"{node.op.name}/{len(node.inputs)}".encode())
        if OPS.get(node.op.name) is not node.op:
            hasher.update((own or _own)(node.op))
        for key in sorted(node.attrs):
            hasher.update(f"|{key}=".encode())
            hasher.update(_bytes_of(node.attrs[key], numbers, found, own or _own))
        for parent in node.inputs:
            hasher.update(found[parent])
        found[node] = hasher.digest()
    return _hash(*[found[node] for node in wanted]).hex()


def visiting(outputs: Sequence[Node]) -> Iterator[Node]:
    """Every node once, after its inputs and its bodies, from left to right: an order that does not depend on when nodes
    were built."""
    seen: set[Node] = set()
    stack = [(node, False) for node in reversed(outputs)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((need, False) for need in reversed(needs(node)) if need not in seen)


def needs(node: Node) -> list[Node]:
    """The inputs of a node, and the parameters and outputs of its bodies."""
    inside = bodies(node) if node.attrs else []
    return [*node.inputs, *[n for body in inside for n in (*body.params, *body.outputs)]]


def _hash(*parts: bytes) -> bytes:
    return blake2b(b"".join(parts), digest_size=_SIZE).digest()


def _bytes_of(value: Any, numbers: dict[Any, int], found: Mapping[Node, bytes], own: Callable[[Any], bytes]) -> bytes:
    """An attribute as bytes, each kind with a mark of its own."""
    if isinstance(value, Body):
        parts = [found[node] for node in (*value.params, *value.outputs)]
        return b"B%d," % len(value.params) + _hash(*parts)
    if isinstance(value, FrozenArray):
        return f"A{value.array.dtype.name}{value.array.shape}".encode() + _hash(value.content)
    if isinstance(value, tuple):
        return b"T%d," % len(value) + _hash(*[_bytes_of(item, numbers, found, own) for item in value])
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return f"{type(value).__name__}:{value!r}".encode()
    codec = CODECS.get(type(value)) or next((c for c in CODECS.values() if isinstance(value, c.kind)), None)
    if codec is not None and not codec.has_identity:
        return codec.mark.encode() + _bytes_of(codec.parts(value), numbers, found, own)
    if codec is not None or isinstance(value, Identity):
        return b"I%d" % numbers.setdefault(value, len(numbers))  # equal only to itself, so its place says all
    return own(value)


def _own(value: Any) -> bytes:
    """What marks a user's function or operation: good for this process only, where another of the same name differs."""
    return f"{type(value).__name__}@{_PROCESS}:{os.getpid()}:{hash(value)}:{id(value)}".encode()


def equal_computations(
    xs: Iterable[Node], ys: Iterable[Node], in_xs: Iterable[Node] | None = None, in_ys: Iterable[Node] | None = None
) -> bool:
    """Whether `xs` compute from `in_xs` what `ys` compute from `in_ys`; other leaves must be the very same.

    >>> import ppl.tensor as tt
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> ppl.equal_computations([x + 1], [y + 1], [x], [y])
    True
    """
    left, right = list(xs), list(ys)
    sources, targets = list(in_xs or ()), list(in_ys or ())
    if len(left) != len(right) or len(sources) != len(targets):
        return False
    if any(a.type != b.type for a, b in zip(sources, targets, strict=True)):
        return False
    moved = substitute(left, dict(zip(sources, targets, strict=True))) if sources else left
    return all(a is b for a, b in zip(moved, right, strict=True))


def same_content(xs: Nodes, ys: Nodes) -> bool:
    """Whether the graphs are equal up to which leaves and draws they hold: these match by order, name and type.

    >>> import ppl.tensor as tt
    >>> x, y = tt.dscalar("x"), tt.dscalar("y")
    >>> ppl.same_content(x + 1, y + 1), ppl.same_content(x + 1, y + 2)
    (False, False)
    """
    return digest(xs) == digest(ys)
