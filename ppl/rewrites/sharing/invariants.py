"""Work that every step of a loop would repeat, moved out of it.

Building a loop leaves outside what does not depend on its states and sequences. Rewriting finds more of that: log(a·x)
is log(a) + log(x), and log(a) is the same in every step. Such nodes are computed before the loop and captured by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ppl.graph import Body, Node, ancestors, close, substitute, topological
from ppl.tensor.tensor import TensorType, placeholder

# Cheap to repeat, and smaller before than after: what is computed once stays below them.
CHEAP = frozenset(["broadcast_to", "expand_dims", "reshape", "transpose", "squeeze", "named", "cast", "dim"])
EFFECTS = frozenset(["print_value", "check"])  # happen as often as they are written


class Part(NamedTuple):
    """A body of a loop: its attribute, how many of its parameters change, and the captured inputs of the node."""

    key: str
    changing: int
    captured: slice


def parts(node: Node) -> list[Part]:
    """The bodies of a loop; none for other nodes."""
    if node.op.name == "scan_op":
        changing = node.attrs["states"] + node.attrs["sequences"]
        return [Part("body", changing, slice(changing + node.attrs["counted"], None))]
    if node.op.name == "while_op":
        states = node.attrs["states"]
        between = states + node.attrs["split"]
        return [Part("test", states, slice(states, between)), Part("step", states, slice(between, None))]
    return []


def moved_out(node: Node) -> Node:
    """The loop with the work of its steps that is always the same done before it."""
    each = parts(node)
    inputs = list(node.inputs[: each[0].captured.start])
    changes: dict[str, Any] = {}
    for part in each:
        body: Body = node.attrs[part.key]
        given = node.inputs[part.captured]
        same = _unchanging(body, part.changing)
        if same:
            changes[part.key], given = _captured(body, part.changing, same, given)
            if part.key == "test":
                changes["split"] = len(given)
        inputs += given
    return Node(node.op, tuple(inputs), node.attrs.but(**changes)) if changes else node


def last_still(outputs: Iterable[Node], moves: Callable[[Node], bool], cheap: Callable[[Node], bool]) -> list[Node]:
    """The last nodes on every way to the outputs that need nothing which moves; what is cheap is looked through."""
    wanted = list(outputs)
    moving: set[Node] = set()
    for node in topological(wanted):
        if moves(node) or any(parent in moving for parent in node.inputs):
            moving.add(node)
    found: list[Node] = []
    seen: set[Node] = set()
    waiting = wanted[::-1]  # from the outputs down, so that the order is one of content, not of age
    while waiting:
        node = waiting.pop()
        if node in seen or not node.inputs:
            continue
        seen.add(node)
        if node in moving or node.op.name in CHEAP or not isinstance(node.type, TensorType) or cheap(node):
            waiting.extend(reversed(node.inputs))
        else:
            found.append(node)
    return found


def _unchanging(body: Body, changing: int) -> list[Node]:
    """The last nodes of a body that do not depend on the first parameters."""
    first = frozenset(body.params[:changing])
    moves = lambda node: node in first or node.op.name in EFFECTS
    return last_still(body.outputs, moves, cheap=lambda node: not _has_parameters(node))


def _has_parameters(node: Node) -> bool:
    return any(not leaf.inputs and not leaf.op.computed for leaf in ancestors(node))


def _captured(
    body: Body, changing: int, same: Collection[Node], given: Sequence[Node]
) -> tuple[Body, tuple[Node, ...]]:
    """The body with `same` among its parameters, and the outer nodes for all that it captures."""
    fixed = body.params[changing:]
    stand_ins = {node: placeholder(node.type) for node in same}
    outputs = substitute(list(body.outputs), stand_ins)
    needed = ancestors(outputs)
    kept = [(param, outer) for param, outer in zip(fixed, given, strict=True) if param in needed]
    outside = substitute(list(same), dict(zip(fixed, given, strict=True)))
    new, more = close([*body.params[:changing], *[param for param, _ in kept], *stand_ins.values()], outputs)
    assert not more, "a body is closed"
    return new, (*[outer for _, outer in kept], *outside)
