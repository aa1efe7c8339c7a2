"""Work of a loop that its states do not touch, done for all steps at once.

What a step computes from the entries of the sequences alone, log(eₜ) or W·eₜ, needs no loop: as one operation on whole
sequences, log(E) or a stack of products, it is a single kernel, and its rows are a sequence of the loop. A loop without
states disappears in this way. Two loops of one length that do not need each other are one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ppl.graph import GET, Attrs, Body, Identity, Node, ancestors, bodies, close, substitute, topological
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.sharing.invariants import EFFECTS, last_still
from ppl.rewrites.values.sizes import sizes
from ppl.rewrites.values.work import entries
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.loops.loop import SCAN
from ppl.tensor.tensor import TensorType, placeholder


def rows_first(loop: Node) -> Node:
    """The loop with the work on its sequences done before it."""
    states, sequences = loop.attrs["states"], loop.attrs["sequences"]
    body: Body = loop.attrs["body"]
    own, captured = body.params[: states + sequences], body.params[states + sequences :]
    found = _of_sequences(body, states, own[states:])
    if not found:
        return loop
    length = loop.inputs[states].type.shape[0]
    kept = sum(entries(x) for x in ancestors(found) if isinstance(x.type, TensorType))
    if (length or LIMITS.steps_where_unknown) * kept > LIMITS.kept_entries_of_a_loop:
        return loop
    given = loop.inputs[len(own) + loop.attrs["counted"] :]
    rows = _for_all_steps(found, own[states:], loop.inputs[states : len(own)], captured, given)
    stand_ins = [placeholder(x.type) for x in found]
    outputs = substitute(list(body.outputs), dict(zip(found, stand_ins, strict=True)))
    needed = ancestors(outputs)
    series = [(own[i], loop.inputs[i]) for i in range(states, len(own)) if own[i] in needed]
    series += zip(stand_ins, rows, strict=True)
    fixed = [(param, x) for param, x in zip(captured, given, strict=True) if param in needed]
    new, more = close([*own[:states], *[param for param, _ in [*series, *fixed]]], outputs)
    assert not more, "a body is closed"
    counts = loop.inputs[len(own) : len(own) + loop.attrs["counted"]]
    inputs = (*loop.inputs[:states], *[x for _, x in series], *counts, *[x for _, x in fixed])
    changes: dict[str, Any] = {"body": new, "sequences": len(series)}
    if series[0][1].type.shape[0] != length:  # which only the first of the sequences said
        changes["length"] = length
    return Node(SCAN, inputs, loop.attrs.but(**changes))


def _of_sequences(body: Body, states: int, own: Sequence[Node]) -> list[Node]:
    """The last nodes that need entries of sequences, and no state."""
    moving = frozenset(body.params[:states])
    moves = lambda node: node in moving or not _is_plain(node)
    still = last_still(body.outputs, moves, cheap=lambda node: False)
    entries_of = frozenset(own)
    return [node for node in still if not entries_of.isdisjoint(ancestors(node))]


def _is_plain(node: Node) -> bool:
    """Whether a node may be computed for all steps at once: no draw, nothing with an effect or a body of its own."""
    drawn = bool(node.inputs) and any(isinstance(value, Identity) for value in node.attrs.values())
    return not (drawn or bodies(node) or node.op.name in EFFECTS)


def _for_all_steps(
    found: Sequence[Node], own: Sequence[Node], series: Sequence[Node], captured: Sequence[Node], given: Sequence[Node]
) -> list[Node]:
    """The nodes of a step, over whole sequences."""
    outer = dict(zip(captured, given, strict=True))
    parameters = frozenset([*own, *captured])
    inside = [node for node in topological(found, blockers=parameters) if node.inputs]
    scalars = all(isinstance(x.type, TensorType) and x.type.shape == () for x in [*inside, *own])
    if scalars and all(isinstance(node.op, Elementwise) for node in inside):
        return substitute(list(found), {**outer, **dict(zip(own, series, strict=True))})
    used = [(param, whole) for param, whole in zip(own, series, strict=True) if param in ancestors(found)]
    fixed = [(param, x) for param, x in outer.items() if param in ancestors(found)]
    body, more = close([param for param, _ in [*used, *fixed]], list(found))
    assert not more, "a body is closed"
    ranks = tuple(param.type.ndim for param, _ in used)
    stacked: Any = Node(VECTORIZED, tuple(x for _, x in [*used, *fixed]), Attrs(body=body, ranks=ranks))
    return [stacked] if len(found) == 1 else list(stacked)


# --- loops beside each other
def merged(outputs: Sequence[Node]) -> list[Node]:
    """The outputs, with loops of one length that do not need each other run as one."""
    order = topological(outputs)
    groups: dict[tuple[Any, ...], list[Node]] = {}
    for node in order:
        if node.op is SCAN:
            groups.setdefault(_length_of(node), []).append(node)
    for alike in groups.values():
        for i, first in enumerate(alike):
            for second in alike[i + 1 :]:
                if first not in ancestors(second) and second not in ancestors(first):
                    return merged(_merged(outputs, first, second))
    return list(outputs)


def _length_of(loop: Node) -> tuple[Any, ...]:
    """What loops that run side by side have in common: the length, or what says it, and the way they go."""
    states, sequences, length = (loop.attrs[key] for key in ("states", "sequences", "length"))
    if sequences and length is None:
        length = sizes(loop.inputs[states], {})[0]
    elif loop.attrs["counted"]:
        length = loop.inputs[states + sequences]
    return length, loop.attrs["reverse"], loop.attrs["counted"]


class _Parts(NamedTuple):
    """A loop taken apart: what comes in from outside, what stands for it in a step, and what a step gives."""

    starts: list[Node]
    series: list[Node]
    given: list[Node]
    states: list[Node]
    entries: list[Node]
    captured: list[Node]
    after: list[Node]
    rows: list[Node]


def _apart(loop: Node) -> _Parts:
    n = loop.attrs["states"]
    m = n + loop.attrs["sequences"]
    body: Body = loop.attrs["body"]
    params: list[Node] = [placeholder(param.type) for param in body.params]
    results, inputs = body.apply(params), list(loop.inputs)
    return _Parts(
        inputs[:n], inputs[n:m], inputs[m + loop.attrs["counted"] :],
        params[:n], params[n:m], params[m:], results[:n], results[n:],
    )  # fmt: skip


def _merged(outputs: Sequence[Node], first: Node, second: Node) -> list[Node]:
    """The outputs with two loops as one."""
    one, two = _apart(first), _apart(second)
    both = _Parts(*[a + b for a, b in zip(one, two, strict=True)])
    body, more = close([*both.states, *both.entries, *both.captured], [*both.after, *both.rows])
    assert not more, "a body is closed"
    start = first.attrs["states"] + first.attrs["sequences"]
    counts = first.inputs[start : start + first.attrs["counted"]]
    attrs = first.attrs.but(body=body, states=len(both.states), sequences=len(both.entries))
    whole = Node(SCAN, (*both.starts, *both.series, *counts, *both.given), attrs)

    def position(loop: Node, k: int) -> int:
        """Where the k-th result of a loop stands among those of both: the states of both come first."""
        mine = one if loop is first else two
        if k < len(mine.states):
            return k if loop is first else len(one.states) + k
        return len(both.states) + k - len(mine.states) + (0 if loop is first else len(one.rows))

    swap = {
        node: Node(GET, (whole,), Attrs(position=position(node.inputs[0], node.attrs["position"])))
        for node in topological(outputs)
        if node.op is GET and (node.inputs[0] is first or node.inputs[0] is second)
    }
    return substitute(list(outputs), swap)
