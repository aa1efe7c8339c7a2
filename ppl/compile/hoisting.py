"""Work that depends on data alone, taken out of programs that run many times.

A log-density is evaluated a million times with the same data. `hoisted` cuts its graph where data meet values: what
lies on the side of the data is computed once by a program of its own, what is left takes the results as inputs. So
sufficient statistics need no special treatment: once algebra has written them as sums of data, they are hoisted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import jax

from ppl.compile.pure import Program
from ppl.graph import Node, substitute, topological
from ppl.rewrites.invariants import CHEAP
from ppl.tensor.tensor import Tensor, placeholder


def hoisted(outputs: Sequence[Tensor], inputs: Sequence[Node]) -> tuple[list[Tensor], dict[Tensor, Tensor]]:
    """The outputs over further inputs, and for each of these the expression of data that it stands for."""
    moving: set[Node] = set()  # nodes whose value is not known from data alone
    given = set(inputs)
    order = topological(outputs)
    for node in order:
        outside = not node.inputs and not node.op.computed and node.op.name != "variable"
        if node in given or outside or any(parent in moving for parent in node.inputs):
            moving.add(node)
    cut: dict[Node, Node] = {}
    used = [*outputs, *(parent for node in order if node in moving for parent in node.inputs)]
    waiting: list[Node] = [node for node in used if node not in moving]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or not node.inputs:
            continue
        seen.add(node)
        if node.op.name in CHEAP or not isinstance(node, Tensor) or (node.ndim == 0 and node.dtype[0] in "ui"):
            waiting.extend(node.inputs)
        else:
            cut[node] = placeholder(node.type)
    rest = substitute(list(outputs), cut)
    return rest, {place: node for node, place in cut.items()}  # type: ignore[return-value, misc]


_compiled: dict[Hashable, Any] = {}


def computed(program: Program) -> list[Any]:
    """The values of a program of data alone; compiled once for each content."""
    key = program.key
    if key not in _compiled:
        _compiled[key] = jax.jit(lambda *data: program([], *data))
    with jax.enable_x64(True):
        return _compiled[key](*program.data)
