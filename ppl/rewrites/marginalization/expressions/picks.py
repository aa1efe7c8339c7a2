r"""Expressions each entry of which is a power of one entry of a variable, times a number and plus another:
:math:`c\,x[p]^k + b`.

However it is written (x[p], a product with a matrix that has one entry in each row, a sum of masks, pieces put one
after the other), an affine map is this where no entry depends on two entries of the variable. Where the variable is
positive, so is a map of its powers or of its logarithm: each of these is a variable by itself, and products, powers and
exponentials of single entries lead from one to another, as :math:`\exp(βz + \log θ) = e^{βz}\,θ`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.affine import RULES, Extraction
from ppl.rewrites.marginalization.expressions.data import NotAffine, Shape, data_value, is_always, is_read, known_shape
from ppl.rewrites.marginalization.expressions.maps import Affine, Select, merged
from ppl.rewrites.marginalization.expressions.positive import known_positive
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, placeholder, value_of

POWERS = {"sqrt": 0.5, "rsqrt": -0.5, "square": 2.0, "reciprocal": -1.0}
LOGARITHM = 0.0  # stands for log x among powers of x


@record
class Picks:
    """coefficient * variable.ravel()[positions] ** power + offset."""

    positions: np.ndarray  # of the shape of the expression
    coefficient: Tensor
    offset: Tensor
    power: float = 1.0

    def are(self, coefficient: float, offset: float) -> bool:
        """Whether they are these numbers times entries, and plus these."""
        return is_always(self.coefficient, coefficient) and is_always(self.offset, offset)

    def in_order(self, variable: Tensor) -> bool:
        """Whether each entry of the variable is picked once, one after the other."""
        return np.array_equal(self.positions.ravel(), np.arange(prod(known_shape(variable))))


def picks(expression: Any, variable: Tensor, shape: Shape) -> Picks:
    """What an expression, broadcast to a shape, picks of a variable; raises `NotAffine` with the reason."""
    here = tt.broadcast_to(expression, shape)
    if not known_positive(variable):
        _, positions, coefficient, offset = _one(merged(Extraction({variable}).of(here)))
        return Picks(positions, coefficient, offset)
    powers = _Powers(variable)
    found, positions, coefficient, offset = _one(merged(powers.of(here)))
    if (power := powers.power[found]) == LOGARITHM:
        raise NotAffine("it is the logarithm that is affine")
    return Picks(positions, coefficient, offset, power)


def _one(form: Affine) -> tuple[Tensor, np.ndarray, Tensor, Tensor]:
    """The variable, the positions, the coefficient and the offset of a map that is one selection."""
    if len(form.parts) != 1 or not isinstance(part := form.parts[0], Select):
        raise NotAffine("an entry depends on several entries of it")
    return part.variable, np.broadcast_to(part.positions, form.shape), part.coefficient, form.offset


class _Powers(Extraction):
    """Maps of powers and of the logarithm of one positive variable, which stand-ins are for."""

    def __init__(self, variable: Tensor) -> None:
        super().__init__({variable})
        self.rules = {**RULES, **POWER_RULES}
        self.variable = variable
        self.power: dict[Tensor, float] = {variable: 1.0}

    def single(self, e: Any) -> tuple[float, np.ndarray, Tensor]:
        """The power, the positions and the coefficient of an expression to which nothing is added."""
        variable, positions, coefficient, offset = _one(merged(self.of(e)))
        if not is_always(offset, 0.0) or self.power[variable] == LOGARITHM:
            raise NotAffine("a power or a product of a sum with it")
        return self.power[variable], positions, coefficient

    def made(self, power: float, positions: np.ndarray, c: Tensor, offset: Any = 0.0) -> Affine:
        """The map of a power."""
        stand = next((s for s, known in self.power.items() if abs(known - power) < 1e-12), None)
        if stand is None:
            stand = placeholder(self.variable.type)
            self.power[stand] = power
        return Affine(positions.shape, (Select(stand, positions, c),), as_tensor(offset))


def _raised(by: float) -> Callable[[_Powers, Any], Affine]:
    return lambda x, e: _to(x, e.inputs[0], by, e.type.shape)


def _to(x: _Powers, e: Any, by: float, shape: Shape) -> Affine:
    if by == 1.0:
        return x.of(tt.broadcast_to(e, shape))
    power, positions, c = x.single(e)
    if power * by == 0.0:
        raise NotAffine("a power of zero")
    return x.made(power * by, np.broadcast_to(positions, shape), c if _is_one(c) else c**by)


def _power(x: _Powers, e: Any) -> Affine:
    base, by = e.inputs
    if x.depends(by) or not is_read(by) or np.ptp(known := data_value(by)) > 0:
        raise NotAffine("a power that is not one known number")
    return _to(x, base, float(np.ravel(known)[0]), e.type.shape)


def _product(sign: float) -> Callable[[_Powers, Any], Affine]:
    """Of two powers of the same entries, or of a map and a number."""

    def rule(x: _Powers, e: Any) -> Affine:
        a, b = e.inputs
        if not (x.depends(b) and (x.depends(a) or sign < 0)):
            return RULES[e.op.name](x, e)
        k, positions, c = x.single(b)
        positions = np.broadcast_to(positions, e.type.shape)
        if not x.depends(a):
            return x.made(-k, positions, a if _is_one(c) else a / c)
        l, others, d = x.single(a)
        if l + sign * k == 0.0 or not np.array_equal(np.broadcast_to(others, e.type.shape), positions):
            raise NotAffine("a product or a ratio of different entries of it")
        return x.made(l + sign * k, positions, d * c if sign > 0 else d / c)

    return rule


def _log(x: _Powers, e: Any) -> Affine:
    power, positions, c = x.single(e.inputs[0])
    return x.made(LOGARITHM, positions, as_tensor(power), 0.0 if _is_one(c) else tt.log(c))


def _exp(x: _Powers, e: Any) -> Affine:
    variable, positions, c, offset = _one(merged(x.of(e.inputs[0])))
    if x.power[variable] != LOGARITHM or not is_read(c) or np.ptp(known := data_value(c)) > 0:
        raise NotAffine("exp is not affine")
    plain = is_constant(offset) and not np.any(value_of(offset))
    return x.made(float(np.ravel(known)[0]), positions, as_tensor(1.0) if plain else tt.exp(offset))


def _abs(x: _Powers, e: Any) -> Affine:
    power, positions, c = x.single(e.inputs[0])
    return x.made(power, positions, c if known_positive(c) else abs(c))


def _is_one(c: Tensor) -> bool:
    return is_constant(c) and bool(np.all(value_of(c) == 1))


POWER_RULES: dict[str, Callable[[Any, Any], Affine]] = {
    "multiply": _product(1.0),
    "true_divide": _product(-1.0),
    "power": _power,
    "log": _log,
    "exp": _exp,
    "abs": _abs,
    **{name: _raised(by) for name, by in POWERS.items()},
}
