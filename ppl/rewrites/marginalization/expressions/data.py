"""What is known of an expression while planning: its shape, whether it is data, and the present values of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.distributions import DRAW
from ppl.graph import Attrs, Identity, Node, ancestors
from ppl.graph.node import Op
from ppl.rewrites.values.folding import on_host
from ppl.rewrites.values.reads import note
from ppl.tensor.arrays.indexing import real_index
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.tensor import Tensor, TensorType, is_constant, value_of
from ppl.tensor.variables import VARIABLE
from ppl.xla.later import wide

Shape = tuple[int, ...]


def known_shape(node: Any) -> Shape:
    """The shape of a node, all of which is known."""
    shape = node.type.shape
    assert None not in shape, f"{node!r} has a length that is only known when the program runs"
    return shape


class NotAffine(Exception):  # noqa: N818  an answer, not an error
    """The expression is not affine in the variables, or not in a way that is understood; the message says where."""


class _Steering(Op):
    """Stands for a discrete latent while other variables are integrated out given its value: data, but which is not
    known yet."""

    name = "steering"
    computed = True

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        found: TensorType = attrs["type"]
        return found


STEERING = _Steering()


def steering(label: Tensor) -> Tensor:
    """What stands for a discrete latent."""
    return Node(STEERING, (), Attrs(type=label.type, identity=Identity()))  # type: ignore[return-value]


def data_value(node: Node) -> np.ndarray:
    """The present value of an expression of constants and data; raises `NotAffine` where a discrete latent steers
    it."""
    if is_constant(node):
        return value_of(node)
    behind = ancestors(node)
    if any(n.op is STEERING for n in behind):
        raise NotAffine("an expression that a discrete latent switches")
    note(behind)
    held = {v: np.asarray(v.attrs["cell"].value) for v in behind if v.op is VARIABLE}
    found = on_host([node], held)  # no program is compiled to read data
    if found is not None:
        return found[0]
    with wide():
        return np.asarray(evaluate([node], held)[0])


def is_data(node: Node) -> bool:
    """Whether an expression is made of constants and data alone."""
    seen: set[Node] = {node}
    stack = [node]
    while stack:
        n = stack.pop()
        if n.op is DRAW or not (n.inputs or is_constant(n) or n.op is VARIABLE or n.op.computed):
            return False
        stack += [x for x in n.inputs if x not in seen]
        seen.update(n.inputs)
    return True


def is_read(node: Node) -> bool:
    """Whether an expression is data, the value of which can be read while planning."""
    return is_data(node) and not any(n.op is STEERING for n in ancestors(node))


def is_always(node: Node, value: float) -> bool:
    """Whether an expression is data, and each entry is a value."""
    return is_read(node) and bool(np.all(data_value(node) == value))


# --- operations that move entries, as NumPy does them
Move = Callable[[np.ndarray], np.ndarray]


def _host_index(e: Any) -> Move:
    index = real_index(e.attrs["plan"], [data_value(i) for i in e.inputs[1:]])
    return lambda a: np.asarray(a[index])


HOST: dict[str, Callable[[Any], Move]] = {
    "getitem": _host_index,
    "reshape": lambda e: lambda a: a.reshape(e.type.shape),
    "transpose": lambda e: lambda a: a.transpose(e.attrs["axes"]),
    "expand_dims": lambda e: lambda a: np.expand_dims(a, e.attrs["axis"]),
    "squeeze": lambda e: lambda a: np.squeeze(a, e.attrs["axis"]),
    "broadcast_to": lambda e: lambda a: np.broadcast_to(a, e.type.shape),
}
