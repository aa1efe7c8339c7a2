"""Numbers that arrays use, computed once.

XLA fuses what a number is made of into the loop over the array that uses it, and computes it anew for every entry. It
does not where the last operation is one that it holds for dear, as an exponential; of a tail of the normal law, a long
polynomial, the last operations are cheap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ppl.graph import Node, topological
from ppl.graph.replace import rebuilt
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import Tensor
from ppl.xla.later import custom_jvp, jnp
from ppl.xla.operation_costs import DEAR, cost_of_each


@custom_jvp
def _held(x: Any) -> Any:
    """x, by a division by one that XLA does not see through and does not repeat (see `ppl.xla.apart`)."""
    return x / jnp.where(x == x, 1.0, 2.0).astype(x.dtype)


_held.defjvp(lambda given, moves: (_held(*given), *moves))
HELD = Elementwise("held", _held)


def held_numbers(outputs: Sequence[Tensor], inputs: Collection[Node]) -> list[Tensor]:
    """The outputs with dear numbers held where arrays use them, of those that depend on `inputs`."""
    moving, dear = set(inputs), set[Node]()
    done: dict[Node, Node] = {}
    for node in topological(outputs):
        given = node.inputs
        if any(x in moving for x in given):
            moving.add(node)
            if _is_number(node):
                if cost_of_each(node.op.name) >= DEAR or any(x in dear for x in given):
                    dear.add(node)
            else:
                done[node] = rebuilt(node, tuple([HELD(done[x]) if x in dear else done[x] for x in given]))
        done.setdefault(node, rebuilt(node, tuple([done[x] for x in given])))
    return [done[node] for node in outputs]  # type: ignore[misc]


def _is_number(node: Node) -> bool:
    return getattr(node.type, "shape", None) == () and node.type.dtype[0] == "f"
