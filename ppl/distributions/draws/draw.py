"""Draws: nodes that stand for one random value each.

A draw holds its family, its parameters and an identity of its own: two draws from Normal(0, 1) are two nodes, and
`x + x` has another law than `x + y`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.distributions.draws.operation import Drawing
from ppl.graph import Attrs, Identity, Node
from ppl.graph.node import Op
from ppl.tensor.core.ops import broadcast_shape
from ppl.tensor.core.sizes import split_sizes
from ppl.tensor.tensor import Tensor, TensorType, dtype_name


class RandomVariable(Tensor):
    """A draw from a distribution.

    >>> x = pm.Normal.dist(0, 1)
    >>> isinstance(x, ppl.RandomVariable), x is pm.Normal.dist(0, 1)
    (True, False)
    """

    __slots__ = ()

    @property
    def family(self) -> Any:
        """The class of the distribution."""
        return self.attrs["family"]

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        """The parameters, in the order in which the family declares them."""
        return self.inputs[: len(self.inputs) - self.attrs["sizes"]]  # type: ignore[return-value]

    @property
    def event_ndim(self) -> int:
        """How many of the last axes make up one value."""
        return self.attrs["event_ndim"]

    @property
    def owner(self) -> Drawing:
        """What it is drawn by, as PyTensor has it, also where it has no parameters."""
        return Drawing(self)

    def __str__(self) -> str:
        """The name, which programs written for PyMC take from it."""
        return self.name or repr(self)


RandomVariable.__name__ = "TensorVariable"  # programs that cannot import PyTensor ask by this name what they are given


class _Draw(Op):
    name = "draw"
    node_class = RandomVariable

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        parameters = inputs[: len(inputs) - attrs["sizes"]]
        return attrs["family"].draw_type(parameters, attrs["size"])


DRAW = _Draw()


class Batch:
    """A node without its last axes, for the broadcasting rule and its error message."""

    def __init__(self, node: Node, drop: int, label: Callable[[], str]) -> None:
        shape = node.type.shape
        self.type = TensorType(node.type.dtype, shape[: len(shape) - drop])
        self.label = label

    def __repr__(self) -> str:
        return self.label()


def batch_shape(name: str, parameters: Any, drops: Any, labels: Any, size: Any) -> tuple[int | None, ...]:
    """The shape of a family of independent draws: of the parameters together, or the size that was asked for."""
    parts = [Batch(p, drop, label) for p, drop, label in zip(parameters, drops, labels, strict=True)]
    common = broadcast_shape(name, tuple(parts)) if parts else ()  # type: ignore[arg-type]
    if size is None:
        return common
    fits = broadcast_shape(name, (*parts, _Sized(size)))  # type: ignore[arg-type]
    if len(fits) != len(size) or any(
        a is not None and b is not None and a != b for a, b in zip(fits, size, strict=True)
    ):
        shown = " and ".join(f"{part!r} of shape {part.type.shape}" for part in parts)
        raise ValueError(
            f"{name}: parameters of shape {common} do not broadcast to the shape {tuple(size)}, in {shown}. Ask for a "
            f"shape that ends in {common}."
        )
    return tuple(b if a is None else a for a, b in zip(size, fits, strict=True))


class _Sized:
    def __init__(self, size: Any) -> None:
        self.type = TensorType("float64", tuple(size))

    def __repr__(self) -> str:
        return "the shape asked for"


def draw(family: Any, parameters: Any, size: Any = None, name: str | None = None) -> RandomVariable:
    """A new draw; `size` is the shape of independent draws, None for that of the parameters."""
    static, symbolic = None, []
    if size is not None:
        _, static, symbolic = split_sizes(size)
        if any(n is not None and n < 0 for n in static):
            raise ValueError(f"{family.__name__}: a size is not negative, got {static}. Give 0 for no draws.")
    named = {} if name is None else {"name": name}
    return Node(  # type: ignore[return-value]
        DRAW,
        (*parameters, *symbolic),
        Attrs(
            family=family,
            identity=Identity(),
            size=static,
            sizes=len(symbolic),
            event_ndim=family.event_ndim_of(parameters),
            **named,
        ),
    )


def from_generator(node: RandomVariable, generator: Tensor) -> RandomVariable:
    """The same draw, which functions make from the state of a generator where nothing else gives it a seed."""
    return Node(DRAW, node.inputs, node.attrs.but(generator=generator))  # type: ignore[return-value]


def renamed(node: RandomVariable, name: str) -> RandomVariable:
    """The same draw under a name: the identity stays."""
    return Node(DRAW, node.inputs, node.attrs.but(name=name))  # type: ignore[return-value]


def is_draw(node: Node) -> bool:
    """Whether a node of a graph is a random draw.

    >>> x = pm.Normal.dist(0, 1)
    >>> ppl.distributions.is_draw(x), ppl.distributions.is_draw(2 * x)
    (True, False)
    """
    return node.op is DRAW


def draw_dtype(discrete: bool) -> str:
    return "int64" if discrete else dtype_name("floatX")
