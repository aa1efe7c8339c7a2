r"""Expressions as :math:`c\,x^k`, entry by entry: a rate, a precision or a scale as a power of a variable.

`x` is what is left once factors and powers are taken out: the variable itself, or entries of it. A sum inside an
exponential is a product, so :math:`\exp(βz + \log θ)` is :math:`e^{βz}\,θ`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node, ancestors
from ppl.rewrites.marginalization.expressions.affine import HOST, data_value, is_data, known_shape
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

POWERS = {"sqrt": 0.5, "rsqrt": -0.5, "square": 2.0, "reciprocal": -1.0}


@dataclass(frozen=True)
class Monomial:
    """coefficient * base ** power; no coefficient is 1."""

    coefficient: Tensor | None
    base: Tensor
    power: float = 1.0

    def times(self, factor: Tensor) -> Monomial:
        return Monomial(factor if self.coefficient is None else self.coefficient * factor, self.base, self.power)

    def to(self, power: float) -> Monomial:
        scaled = None if self.coefficient is None else self.coefficient**power
        return Monomial(scaled, self.base, self.power * power)

    def moved(self, move: Callable[[Tensor], Tensor]) -> Monomial:
        scaled = self.coefficient
        return Monomial(None if scaled is None else move(scaled), move(self.base), self.power)


def monomial(e: Any, variable: Node) -> Monomial:
    """An expression of a variable as a monomial of something that depends on it: of itself, where it is no monomial."""
    name = e.op.name
    depends = [variable in ancestors(i) for i in e.inputs]
    if sum(depends) != 1:
        return Monomial(None, e)
    at = depends.index(True)
    inner = e.inputs[at]
    if name in ("named", "positive"):
        return monomial(inner, variable)
    if name in HOST and at == 0 and all(map(is_data, e.inputs[1:])) and None not in inner.type.shape:
        return monomial(inner, variable).moved(lambda x: _again(e, x))
    if name in POWERS:
        return monomial(inner, variable).to(POWERS[name])
    if name == "power" and at == 0 and _is_number(e.inputs[1]):
        return monomial(inner, variable).to(float(data_value(e.inputs[1])))
    if name == "multiply":
        return monomial(inner, variable).times(e.inputs[1 - at])
    if name == "true_divide":
        return monomial(inner, variable).times(1.0 / e.inputs[1]) if at == 0 else _over(e, variable)
    if name == "exp":
        return _exponential(inner, variable) or Monomial(None, e)
    return Monomial(None, e)


def _over(e: Any, variable: Node) -> Monomial:
    return monomial(e.inputs[1], variable).to(-1.0).times(e.inputs[0])


def _exponential(e: Any, variable: Node) -> Monomial | None:
    """exp(e), where e is a sum with a multiple of a logarithm; None where it is not."""
    name = e.op.name
    depends = [variable in ancestors(i) for i in e.inputs]
    if sum(depends) != 1:
        return None
    at = depends.index(True)
    inner = e.inputs[at]
    if name == "log":
        return monomial(inner, variable)
    found = _exponential(inner, variable)
    if found is None or None in inner.type.shape:
        return None
    other: Any = e.inputs[1 - at] if len(e.inputs) == 2 else None
    if name == "named":
        return found
    if name in HOST and at == 0 and all(map(is_data, e.inputs[1:])):
        return found.moved(lambda x: _again(e, x))
    if name == "negative":
        return found.to(-1.0)
    if name == "add":
        return found.times(tt.exp(other))
    if name == "subtract":
        return found.times(tt.exp(-other)) if at == 0 else found.to(-1.0).times(tt.exp(other))
    if name == "multiply" and _is_number(other):
        return found.to(float(data_value(other)))
    return None


def _is_number(x: Tensor) -> bool:
    return x.ndim == 0 and is_data(x)


def _again(e: Any, x: Tensor) -> Tensor:
    """Indexing, reshaping or the like, of another expression that broadcasts to the shape of the first."""
    return Node(e.op, (tt.broadcast_to(x, known_shape(e.inputs[0])), *e.inputs[1:]), e.attrs)  # type: ignore[return-value]


def complement(e: Any, variable: Node) -> Tensor | None:
    """x for 1 - x; None where an expression is none."""
    if e.op.name == "named":
        return complement(e.inputs[0], variable)
    if e.op.name in HOST and all(map(is_data, e.inputs[1:])) and variable in ancestors(e.inputs[0]):
        inner = complement(e.inputs[0], variable)
        return None if inner is None else _again(e, inner)
    if e.op.name != "subtract" or not is_constant(e.inputs[0]) or not np.all(value_of(e.inputs[0]) == 1):
        return None
    return as_tensor(e.inputs[1])
