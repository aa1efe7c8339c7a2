"""Results of loops that need no loop, or not all of its rows."""

from __future__ import annotations

from typing import Any

from ppl.graph import GET, Attrs, Body, Node
from ppl.rewrites.engine.book import Book
from ppl.rewrites.engine.engine import Engine
from ppl.rewrites.engine.rule import Safety
from ppl.rewrites.engine.statement import rewrites
from ppl.tensor.arrays.indexing import GETITEM
from ppl.tensor.core.elementwise import exp
from ppl.tensor.loops.loop import SCAN, carry_scan
from ppl.tensor.tensor import TensorType

VECTOR = TensorType("float64", (5,))


def _running(v: Any, s: Any) -> Any:
    """The last of the running sums of e^v, from s on, all of them, and the entries of v."""
    return carry_scan(lambda total, entry: (total + exp(entry), (total + exp(entry), entry)), s, v)


def _row(node: Node) -> tuple[Node, Body, int] | None:
    """The loop of which a node is the stacked rows, its body, and which of the body's outputs they are."""
    if node.op is not GET or node.inputs[0].op is not SCAN:
        return None
    loop, position = node.inputs[0], node.attrs["position"]
    return None if position < loop.attrs["states"] else (loop, loop.attrs["body"], position)


@rewrites(GET, example=lambda v, s: _running(v, s)[1][1], types={"v": VECTOR}, one_of=[SCAN], safety=Safety.exact)
def rows_of_a_sequence(node: Node, engine: Engine) -> Node | None:
    """The rows of what every step takes from a sequence are the sequence."""
    found = _row(node)
    if found is None:
        return None
    loop, body, position = found
    first = loop.attrs["states"]
    for param, whole in zip(body.params[first : first + loop.attrs["sequences"]], loop.inputs[first:], strict=False):
        if body.outputs[position] is param and whole.type == node.type:
            return whole
    return None


@rewrites(GETITEM, example=lambda v, s: _running(v, s)[1][0][-1], types={"v": VECTOR}, one_of=[GET],
          safety=Safety.exact)  # fmt: skip
def last_row_of_states(node: Node, engine: Engine) -> Node | None:
    """The last row of a state is the state after the last step, so that the others need not be kept."""
    found = _row(node.inputs[0])
    if found is None or len(node.inputs) > 1:
        return None
    loop, body, position = found
    count, first = node.inputs[0].type.shape[0], node.attrs["plan"][0]
    if not count or first != ("int", 0 if loop.attrs["reverse"] else count - 1):
        return None
    for state in range(loop.attrs["states"]):
        if body.outputs[state] is body.outputs[position]:
            last = engine.make(GET, (loop,), Attrs(position=state))
            rest = node.attrs["plan"][1:]
            whole = all(part == ("slice", None, None, None) for part in rest)
            return last if whole else engine.make(GETITEM, (last,), Attrs(plan=rest))
    return None


loops = Book("loops", rows_of_a_sequence, last_row_of_states)
