"""The normal form of arithmetic: sums with coefficients and products with powers, of any number of operands.

`SUM(x, y; 2, 3; shift 4)` is 2x + 3y + 4 and `PRODUCT(x, y; 2, -1)` is x²/y. Operands are distinct, sorted by place and
never sums in a sum or products in a product; numbers stand in coefficients, never among the operands. So two ways of
writing one linear combination, or one monomial, are one node. Both operations live inside rewriting only:
`sharing.lower` turns them into additions and multiplications again.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.order import Place, place
from ppl.tensor.core.ops import broadcast_shape
from ppl.tensor.tensor import CONSTANT, TensorType, constant, value_of
from ppl.xla.later import jnp

Number = float | int
Weighted = list[tuple[Node, Number]]


class _Combination(Op):
    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return TensorType(inputs[0].type.dtype, broadcast_shape(self.name, inputs))


class _Sum(_Combination):
    name = "sum_of"

    @staticmethod
    def lower(*operands: Any, weights: tuple[Number, ...], shift: Number) -> Any:
        scaled = [x if w == 1 else jnp.asarray(w, x.dtype) * x for x, w in zip(operands, weights, strict=True)]
        return functools.reduce(operator.add, scaled) + jnp.asarray(shift, operands[0].dtype)


class _Product(_Combination):
    name = "product_of"

    @staticmethod
    def lower(*operands: Any, weights: tuple[Number, ...]) -> Any:
        return functools.reduce(
            operator.mul,
            [jnp.power(x, int(p) if float(p).is_integer() else p) for x, p in zip(operands, weights, strict=True)],
        )


SUM, PRODUCT = _Sum(), _Product()


def sum_node(parts: Iterable[tuple[Node, Number]], shift: Number) -> Node:
    """The sum in normal form of operands that already are: distinct, no sums, no numbers."""
    ordered = list(parts)
    if len(ordered) > 1:
        ordered.sort(key=_place_of)
    if len(ordered) == 1 and ordered[0][1] == 1 and shift == 0:
        return ordered[0][0]
    exact = float if ordered[0][0].type.dtype[0] == "f" else int  # 2 and 2.0 are equal but not written alike
    weights = tuple([exact(w) + 0 for _, w in ordered])
    return Node(SUM, tuple([x for x, _ in ordered]), Attrs(weights=weights, shift=exact(shift) + 0))


def product_node(parts: Iterable[tuple[Node, Number]]) -> Node:
    """The product in normal form of operands that already are."""
    ordered = list(parts)
    if len(ordered) > 1:
        ordered.sort(key=_place_and_weight)
    if len(ordered) == 1 and ordered[0][1] == 1:
        return ordered[0][0]
    powers = tuple([int(p) if is_whole(p) else p for _, p in ordered])
    return Node(PRODUCT, tuple([x for x, _ in ordered]), Attrs(weights=powers))


def _place_of(part: tuple[Node, Number]) -> Place:
    return place(part[0])


def _place_and_weight(part: tuple[Node, Number]) -> tuple[Place, Number]:
    return place(part[0]), part[1]


def weighted(node: Node) -> Weighted:
    """The operands of a sum or a product with their coefficients or powers."""
    return list(zip(node.inputs, node.attrs["weights"], strict=True))


def terms(node: Node) -> tuple[Weighted, Number]:
    """Any node as a linear combination: operands with coefficients, and the number added to them."""
    if node.op is SUM:
        return weighted(node), node.attrs["shift"]
    number = number_of(node)
    return ([(node, 1)], 0) if number is None else ([], number)


def factors(node: Node) -> Weighted:
    """Any node as a monomial: operands with powers."""
    return weighted(node) if node.op is PRODUCT else [(node, 1)]


def number_of(node: Node) -> Number | None:
    """The value of a finite scalar constant, else None."""
    if node.op is not CONSTANT or node.type.shape or node.type.dtype[0] not in "iuf":
        return None
    value = value_of(node).item()
    return value if math.isfinite(value) else None


def number(value: Number, dtype: str) -> Node:
    """A scalar constant; integers wrap around as the dtype does."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return constant(np.array([int(value) & (2 ** (8 * kind.itemsize) - 1)], np.uint64).astype(kind)[0])
    return constant(np.array(value, kind))


def is_whole(power: Number) -> bool:
    return isinstance(power, int) or power.is_integer()


def content(parts: Weighted, shift: Number = 0) -> Number:
    """What can be taken out of a sum exactly: the sign of the first operand, a factor that leaves whole numbers."""
    numbers = [w for _, w in parts if w != 0]
    if not numbers:
        return 1
    sign = -1 if numbers[0] < 0 else 1
    smallest = min(abs(w) for w in (*numbers, *([shift] if shift else [])))
    if smallest == 1 or any(abs(w) % smallest for w in (*numbers, shift)):
        return sign
    return sign * smallest
