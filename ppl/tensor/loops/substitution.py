"""Substitution that reaches inside bodies: of derivatives, branches and stacks of graphs.

A body holds an outer expression e over its own parameters, so replacing e outside would leave it standing inside. Here
e is looked for in its inner form, and what takes its place becomes one more thing that the body captures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppl.graph import Body, Node, ancestors, bodies, close, rebuilt, substitute, topological
from ppl.tensor.core.derivatives import JACOBIAN, PULL_BACK, PUSH_FORWARD, VALUE_AND_GRAD
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.loops.branches import COND
from ppl.tensor.tensor import placeholder


def replaced(outputs: Sequence[Node], replacements: Mapping[Any, Node]) -> list[Node]:
    """`outputs` with each key replaced by its value, all at once, inside bodies too."""
    keys = {old: new for old, new in replacements.items() if old.inputs}
    done: dict[Node, Node] = dict(replacements)
    for node in topological(outputs, blockers=done):
        if node in done:
            continue
        new = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
        done[node] = _inside(node, new, keys) if keys and node.attrs and bodies(node) else new
    return [done[node] for node in outputs]


def _own_parameters(node: Node) -> int | None:
    """How many parameters of the body are not captured; None where the operation captures computed tensors anyway."""
    if node.op in (VALUE_AND_GRAD, JACOBIAN, PUSH_FORWARD, PULL_BACK):
        return node.attrs["count"]
    return len(node.attrs["ranks"]) if node.op is VECTORIZED else None


def _inside(node: Node, new: Node, keys: Mapping[Node, Node]) -> Node:
    """The rebuilt node with keys replaced in the bodies of the one that it was."""
    if node.op is COND:
        split = node.attrs["split"]
        branches = [(node.attrs["then"], slice(1, 1 + split)), (node.attrs["otherwise"], slice(1 + split, None))]
        (then, first), (otherwise, second) = [
            _in_body(node, body, 0, node.inputs[at], new.inputs[at], keys) for body, at in branches
        ]
        attrs = new.attrs.but(then=then, otherwise=otherwise, split=len(first))
        return Node(new.op, (new.inputs[0], *first, *second), attrs)
    own = _own_parameters(node)
    if own is None:
        return new
    body = node.attrs["body"]
    at = len(node.inputs) - (len(body.params) - own)
    _no_point_moves(node, body, own, at, keys)
    body, captured = _in_body(node, body, own, node.inputs[at:], new.inputs[at:], keys)
    return Node(new.op, (*new.inputs[:at], *captured), new.attrs.but(body=body))


def _no_point_moves(node: Node, body: Body, own: int, at: int, keys: Mapping[Node, Node]) -> None:
    """A key that depends on what the body is a function of cannot be replaced: its derivative is used as well. What
    the body is a function of can: it is an input of the node."""
    everything = dict(zip([*node.inputs[:own], *node.inputs[at:]], body.params, strict=True))
    reached = ancestors(body.outputs)
    points = set(body.params[:own])
    for old in keys:
        inner = substitute(old, everything)
        if inner in reached and inner not in points and not points.isdisjoint(ancestors(inner)):
            raise ValueError(
                f"{old!r} cannot be replaced inside {node.op.name}, whose variable it depends on: replace it in the "
                "cost, before the derivative is taken"
            )


def _in_body(
    node: Node, body: Body, own: int, before: Sequence[Node], after: Sequence[Node], keys: Mapping[Node, Node]
) -> tuple[Body, list[Node]]:
    """The body with keys replaced, and what it captures then; it captured `after`, which was `before` outside."""
    to_inner = dict(zip(before, body.params[own:], strict=True))
    stands: dict[Node, Node] = {placeholder(new.type): new for new in keys.values()}
    inner = {substitute(old, to_inner): stand for old, stand in zip(keys, stands, strict=True)}
    outputs = replaced(body.outputs, inner)
    if all(a is b for a, b in zip(outputs, body.outputs, strict=True)):
        return body, list(after)
    opened = [placeholder(param.type) for param in body.params]
    outer = stands | dict(zip(opened[own:], after, strict=True))
    again, captured = close(opened[:own], substitute(outputs, dict(zip(body.params, opened, strict=True))))
    return again, [outer[node] for node in captured]
