"""Graphs at the sizes that their variables have now.

A variable may change its lengths between runs, so its type leaves them open, and no rule that counts rows can fire. A
program is compiled for one size anyway: here each variable is taken at its present one, and all lengths that follow
from it become numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ppl.graph import Node, topological
from ppl.graph.replace import rebuilt
from ppl.rewrites.values.folding import folded
from ppl.tensor.core.sizing import size_inputs
from ppl.tensor.tensor import CONSTANT, TensorType, value_of
from ppl.tensor.variables import VARIABLE


def at_present_sizes(outputs: Iterable[Node], done: dict[Node, Node]) -> list[Node]:
    """`outputs` with every known length filled in; `done` keeps what stands for each node, and may begin with some."""
    wanted = list(outputs)
    for node in topological(wanted, blockers=done):
        if node not in done:
            done[node] = _now(node) if node.op is VARIABLE else _counted(node, tuple(done[x] for x in node.inputs))
    return [done[node] for node in wanted]


def _now(variable: Node) -> Node:
    """The variable, with the shape of its present value in its type."""
    if None not in variable.type.shape:
        return variable
    shape = np.shape(variable.attrs["cell"].value)
    return Node(VARIABLE, (), variable.attrs.but(type=TensorType(variable.type.dtype, shape)))


def _counted(node: Node, inputs: tuple[Node, ...]) -> Node:
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    new = _filled(rebuilt(node, inputs))
    is_number = isinstance(new.type, TensorType) and new.type.shape == () and new.type.dtype[0] in "ui"
    known = folded(new) if is_number else None
    return new if known is None else known


def _filled(node: Node) -> Node:
    """The node with sizes that have become numbers among its attributes."""
    for name in ("shape", "size"):
        sizes = node.attrs.get(name)
        if isinstance(sizes, tuple) and None in sizes:
            break
    else:
        return node
    symbolic = size_inputs(node)
    if not symbolic:
        return node
    rest = iter(symbolic)
    filled = tuple(_number(next(rest)) if n is None else n for n in sizes)
    if filled == sizes:
        return node
    left = [x for x in symbolic if x.op is not CONSTANT]
    changes = {name: filled} | ({"sizes": len(left)} if "sizes" in node.attrs else {})
    return Node(node.op, (*node.inputs[: len(node.inputs) - len(symbolic)], *left), node.attrs.but(**changes))


def _number(size: Node) -> int | None:
    return int(value_of(size)) if size.op is CONSTANT else None
