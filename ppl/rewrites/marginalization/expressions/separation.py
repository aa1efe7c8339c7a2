r"""Row expressions as sums of products of data and of what rows of a cell share, so that only data are summed by rows.

The mean :math:`c_i θ_{g(i)}` of counts with known exposures c enters as :math:`\log c_i + \log θ_{g(i)}` and
:math:`c_i θ_{g(i)}`: sums of :math:`y_i`, :math:`c_i` and :math:`y_i \log c_i` by groups say all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import data_value, is_data
from ppl.rewrites.marginalization.program import NoMatch
from ppl.rewrites.sufficient_statistics.distinct_rows import Rows
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


class Product(NamedTuple):
    """Data, one number a row or one for all, times an expression that rows of a cell share."""

    data: Tensor
    shared: Tensor


ONE = as_tensor(1.0)


@dataclass(frozen=True)
class Separation:
    """Expressions of rows, taken apart. Cells are made by indices; data are no part of what they share."""

    rows: Rows

    def indices(self, e: Any, into: list[np.ndarray]) -> None:
        """Collect the indices by which an expression picks entries for each row."""
        if self.rows.same(e) or is_data(e):
            return
        if e.op.name == "getitem" or not e.inputs or e.op.name == "draw":
            self.rows.key(e, into)
            return
        for i in e.inputs:
            self.indices(i, into)

    def of(self, e: Any) -> list[Product]:
        """The products that an expression is the sum of; raises `NoMatch` where it is none."""
        if not self._has_data(e):
            return [Product(ONE, e)]
        if is_data(e):
            return [Product(e, ONE)]
        rule = RULES.get(e.op.name)
        if rule is None:
            raise NoMatch(f"{e.op.name} of data and parameters together")
        found = rule(self, e)
        if len(found) > LIMITS.products_of_a_row:
            raise NoMatch("a sum of too many products of data and parameters")
        return found

    def _has_data(self, e: Any) -> bool:
        """Whether data that differ by rows enter, other than as indices."""
        if self.rows.same(e):
            return False
        if is_data(e):
            return True
        return e.op.name != "getitem" and any(self._has_data(i) for i in e.inputs)

    def one(self, e: Any) -> Product:
        """An expression that is one product."""
        (*rest, last) = self.of(e)
        if rest:
            raise NoMatch(f"a sum of data and parameters inside {e.op.name}")
        return last


def _negative(x: Separation, e: Any) -> list[Product]:
    return [Product(p.data, -p.shared) for p in x.of(e.inputs[0])]


def _add(x: Separation, e: Any) -> list[Product]:
    return [*x.of(e.inputs[0]), *x.of(e.inputs[1])]


def _subtract(x: Separation, e: Any) -> list[Product]:
    return [*x.of(e.inputs[0]), *(Product(p.data, -p.shared) for p in x.of(e.inputs[1]))]


def _multiply(x: Separation, e: Any) -> list[Product]:
    a, b = map(x.of, e.inputs)
    return [Product(p.data * q.data, p.shared * q.shared) for p in a for q in b]


def _divide(x: Separation, e: Any) -> list[Product]:
    below = x.one(e.inputs[1])
    return [Product(p.data / below.data, p.shared / below.shared) for p in x.of(e.inputs[0])]


def _through(x: Separation, e: Any) -> list[Product]:
    return x.of(e.inputs[0])


def _of_factors(f: Callable[[Any], Tensor]) -> Callable[[Separation, Any], list[Product]]:
    """f(a·b) = f(a)·f(b) for positive a."""

    def rule(x: Separation, e: Any) -> list[Product]:
        p = _positive(x.one(e.inputs[0]))
        return [Product(f(p.data), f(p.shared))]

    return rule


def _log(x: Separation, e: Any) -> list[Product]:
    p = _positive(x.one(e.inputs[0]))
    return [Product(tt.log(p.data), ONE), Product(ONE, tt.log(p.shared))]


def _exp(x: Separation, e: Any) -> list[Product]:
    data, shared = ONE, ONE
    for p in x.of(e.inputs[0]):
        if p.shared is ONE:
            data = data * tt.exp(p.data)
        elif p.data is ONE:
            shared = shared * tt.exp(p.shared)
        else:
            raise NoMatch("an exponential of products of data and parameters")
    return [Product(data, shared)]


def _power(x: Separation, e: Any) -> list[Product]:
    exponent = e.inputs[1]
    if not is_constant(exponent) or exponent.ndim:
        raise NoMatch("a power that is not known")
    return _of_factors(lambda a: a ** float(value_of(exponent)))(x, e)


def _positive(p: Product) -> Product:
    if not np.all(data_value(p.data) > 0):
        raise NoMatch("data that are not positive beside parameters")
    return p


RULES: dict[str, Callable[[Separation, Any], list[Product]]] = {
    "add": _add,
    "subtract": _subtract,
    "negative": _negative,
    "multiply": _multiply,
    "true_divide": _divide,
    "log": _log,
    "exp": _exp,
    "power": _power,
    "square": _of_factors(tt.square),
    "sqrt": _of_factors(tt.sqrt),
    "reciprocal": _of_factors(tt.reciprocal),
    **dict.fromkeys(("named", "cast", "broadcast_to"), _through),
}
