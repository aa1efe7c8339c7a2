"""What is known of unknown sizes: which leaf's length a dimension is.

A dimension is a number, or the set of places (node, axis) whose broadcast it is. So x[?] + y[?] may only lose y if y's
length is among those of what is left: at run time x may have length one.
"""

from __future__ import annotations

from ppl.graph import Node
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM
from ppl.tensor.arrays.shaping import BROADCAST_TO, EXPAND_DIMS, SQUEEZE, TRANSPOSE
from ppl.tensor.core.ops import Elementwise, Reduction
from ppl.tensor.core.sizes import DIM

Place = tuple[Node, int]
Size = int | frozenset[Place]


def sizes(node: Node, known: dict[Node, tuple[Size, ...]]) -> tuple[Size, ...]:
    """The sizes of a node's axes; `known` keeps what was found before."""
    stack = [node]
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        shape = top.type.shape
        if None not in shape:
            known[top] = shape
        else:
            missing = [x for x in _seen_through(top) if x not in known]
            if missing:
                stack.extend(missing)
                continue
            known[top] = _of_node(top, known)
    return known[node]


_SAME_SHAPE = frozenset(["named", "assume", "softmax", "log_softmax", "cumsum", "cumprod", "stop_gradient"])


def _seen_through(node: Node) -> tuple[Node, ...]:
    """The inputs whose sizes say something of those of the node."""
    if isinstance(node.op, Elementwise) or node.op in (SUM, PRODUCT):
        return node.inputs
    if node.op.name in _SAME_SHAPE or node.op in (TRANSPOSE, EXPAND_DIMS, SQUEEZE) or isinstance(node.op, Reduction):
        return node.inputs[:1]
    return tuple(x.inputs[0] for x in node.inputs[1:] if x.op is DIM) if node.op is BROADCAST_TO else ()


def _of_node(node: Node, known: dict[Node, tuple[Size, ...]]) -> tuple[Size, ...]:
    if isinstance(node.op, Elementwise) or node.op in (SUM, PRODUCT):
        return common_sizes([known[x] for x in node.inputs])
    if node.op.name in _SAME_SHAPE:
        return known[node.inputs[0]]
    if node.op is TRANSPOSE:
        return tuple(known[node.inputs[0]][a] for a in node.attrs["axes"])
    if node.op is EXPAND_DIMS:
        result = list(known[node.inputs[0]])
        for a in node.attrs["axis"]:
            result.insert(a, 1)
        return tuple(result)
    if node.op is SQUEEZE or isinstance(node.op, Reduction):
        kept = bool(node.attrs.get("keepdims"))
        axes = node.attrs["axis"]
        return tuple(1 if i in axes else s for i, s in enumerate(known[node.inputs[0]]) if kept or i not in axes)
    own: list[Size] = [frozenset([(node, axis)]) if dim is None else dim for axis, dim in enumerate(node.type.shape)]
    if node.op is BROADCAST_TO:
        unknown = [axis for axis, dim in enumerate(node.attrs["shape"]) if dim is None]
        for axis, given in zip(unknown, node.inputs[1:], strict=True):
            if given.op is DIM:
                own[axis] = known[given.inputs[0]][given.attrs["axis"]]
    return tuple(own)


def common_sizes(shapes: list[tuple[Size, ...]]) -> tuple[Size, ...]:
    """The broadcast of sizes."""
    rank = max(map(len, shapes), default=0)
    result: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, start=rank - len(shape)):
            present = result[axis]
            if size == 1 or (isinstance(present, int) and present != 1):
                continue
            if isinstance(size, frozenset) and isinstance(present, frozenset):
                result[axis] = present | size
            else:
                result[axis] = size
    return tuple(result)
