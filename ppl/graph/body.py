"""Bodies: graphs inside a node (of a loop, a branch, a derivative).

A body is closed: everything it needs comes in through its parameters, which are `bound` nodes numbered by position and
by nesting level. So a body built twice alike is equal, and substitution in the outer graph never reaches inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppl.graph.node import Attrs, Node, Op
from ppl.graph.pickling import in_order, standing_for
from ppl.graph.replace import substitute
from ppl.graph.walk import topological


class _Bound(Op):
    name = "bound"

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return attrs["type"]


BOUND = _Bound()


class Body:
    """A function as a graph: `outputs` over `params`. Equal to another with the same nodes."""

    __slots__ = ("_identity", "outputs", "params")

    def __init__(self, params: tuple[Node, ...], outputs: tuple[Node, ...]) -> None:
        self.params, self.outputs = params, outputs
        self._identity = (tuple(map(id, params)), tuple(map(id, outputs)))

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self._identity == other._identity

    @property
    def level(self) -> int:
        """How deep bodies nest: 0 for one that holds no other."""
        return self.params[0].attrs["level"] if self.params else _level(self.outputs)

    def apply(self, arguments: Sequence[Node]) -> list[Node]:
        """The outputs with `arguments` in place of the parameters."""
        return substitute(self.outputs, dict(zip(self.params, arguments, strict=True)))

    def __reduce__(self) -> Any:
        before = in_order((*self.params, *self.outputs))
        return _loaded, (before, standing_for(self.params), standing_for(self.outputs))

    def __repr__(self) -> str:
        return f"<body of {len(topological(self.outputs))} nodes>"


def _loaded(before: list[Node], params: tuple[Node, ...], outputs: tuple[Node, ...]) -> Body:
    return Body(params, outputs)


def bodies(node: Node) -> list[Body]:
    """The bodies among a node's attributes."""
    return [value for value in node.attrs.values() if isinstance(value, Body)]


def _level(outputs: Sequence[Node]) -> int:
    return max((body.level + 1 for node in topological(outputs) for body in bodies(node)), default=0)


def close(params: Sequence[Node], outputs: Sequence[Node]) -> tuple[Body, list[Node]]:
    """The body with the given parameters, and the outer leaves it captures (its parameters after the given ones).

    Constants and arrays made from nothing (`eye(3)`) stay inside; every other leaf that is not a parameter becomes one.
    """
    given = set(params)
    captured = [
        node
        for node in topological(outputs, blockers=given)
        if not node.inputs and node not in given and not node.op.computed
    ]
    level = _level(outputs)
    outer = [*params, *captured]
    bound = [Node(BOUND, (), Attrs(level=level, position=i, type=node.type)) for i, node in enumerate(outer)]
    inner = substitute(list(outputs), dict(zip(outer, bound, strict=True)))
    return Body(tuple(bound), tuple(inner)), captured
