r"""Expressions as sums of products of data and of what is no data, so that what is summed over rows is data alone.

The mean :math:`c_i θ_{g(i)}` of counts with known exposures c enters as :math:`\log c_i + \log θ_{g(i)}` and
:math:`c_i θ_{g(i)}`: sums of :math:`y_i`, :math:`c_i` and :math:`y_i \log c_i` by groups say all. A reader says what it
takes for a product as it stands (data, a number, what rows of a group share); all else is taken apart here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.graph import Node
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import HOST, NotAffine, data_value, is_data, is_read, known_shape
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


class Product(NamedTuple):
    """A number that may depend on parameters, or what else is no data, times data."""

    number: Tensor
    data: Tensor


class NoProducts(NotAffine):
    """An expression is no sum of products of data and what is no data; the message says where."""


ONE = as_tensor(1.0)


@record
class Products:
    """Reads expressions: `plain` are those that are products already, `most` of which one may be the sum; if not
    `sums`, each entry is one product."""

    plain: Callable[[Any], list[Product] | None]
    most: int
    sums: bool = True

    def of(self, e: Any) -> list[Product]:
        """The products that an expression is the sum of; raises `NoProducts` where it is none."""
        found = self.plain(e)
        if found is None:
            rule = RULES.get(e.op.name)
            if rule is None:
                raise NoProducts(f"{e.op.name} of data and parameters together")
            found = rule(self, e)
        if len(found) > self.most:
            raise NoProducts("a sum of too many products of data and parameters")
        return found

    def one(self, e: Any) -> Product:
        """An expression that is one product."""
        (*rest, last) = self.of(e)
        if rest:
            raise NoProducts(f"a sum of data and parameters inside {e.op.name}")
        return last

    def added(self, *parts: list[Product]) -> list[Product]:
        """A sum of expressions."""
        if not self.sums:
            raise NoProducts("a sum")
        return [p for each in parts for p in each]


# --- numbers times arrays of data
def terms(e: Any, sums: bool = False) -> list[Product]:
    """An expression as few numbers times arrays of data; as itself, with the number 1, where that is not possible. If
    not `sums`, each entry of it is an entry of one of these."""
    try:
        return Products(_number_or_data, LIMITS.terms_of_a_coefficient, sums).of(e)
    except NoProducts:
        return [Product(ONE, e)]


def number_and_data(e: Any) -> tuple[Tensor, np.ndarray] | None:
    """An expression as a number, which may depend on parameters, times data; None where it is neither."""
    found = terms(e)
    return (found[0].number, data_value(found[0].data)) if len(found) == 1 and is_read(found[0].data) else None


def _number_or_data(e: Any) -> list[Product] | None:
    if is_data(e):
        return [Product(ONE, e)]
    if e.ndim == 0:
        return [Product(e, ONE)]
    return None


def total(parts: list[Product]) -> Tensor:
    """The sum of products."""
    result = parts[0].number * parts[0].data
    for part in parts[1:]:
        result = result + part.number * part.data
    return result


def collected(parts: Iterable[Product]) -> list[Product]:
    """The same sum with one product for each number, and one for each array of data."""
    arrays: dict[Tensor, Tensor] = {}
    for number, data in parts:
        arrays[number] = arrays[number] + data if number in arrays else data
    numbers: dict[Tensor, Tensor] = {}
    for number, data in arrays.items():
        numbers[data] = numbers[data] + number if data in numbers else number
    return [Product(number, data) for data, number in numbers.items()]


# --- one rule for each operation
def _times(a: Tensor, b: Tensor) -> Tensor:
    return b if _is_one(a) else a if _is_one(b) else a * b


def _is_one(t: Tensor) -> bool:
    return t is ONE or (t.ndim == 0 and is_constant(t) and value_of(t) == 1)


def _each(f: Callable[[Tensor], Tensor]) -> Callable[[Products, Any], list[Product]]:
    """Something linear, done to what is no data."""
    return lambda x, e: [Product(f(p.number), p.data) for p in x.of(e.inputs[0])]


def _add(x: Products, e: Any) -> list[Product]:
    return x.added(*map(x.of, e.inputs))


def _subtract(x: Products, e: Any) -> list[Product]:
    a, b = map(x.of, e.inputs)
    return x.added(a, [Product(-p.number, p.data) for p in b])


def _multiply(x: Products, e: Any) -> list[Product]:
    a, b = map(x.of, e.inputs)
    return [Product(_times(p.number, q.number), _times(p.data, q.data)) for p in a for q in b]


def _divide(x: Products, e: Any) -> list[Product]:
    below = x.one(e.inputs[1])
    by = lambda a, b: a if _is_one(b) else a / b
    return [Product(by(p.number, below.number), by(p.data, below.data)) for p in x.of(e.inputs[0])]


def _of_factors(f: Callable[[Any], Tensor]) -> Callable[[Products, Any], list[Product]]:
    """f(a·b) = f(a)·f(b) for positive a."""

    def rule(x: Products, e: Any) -> list[Product]:
        p = _positive(x.one(e.inputs[0]))
        return [Product(*(ONE if part is ONE else f(part) for part in p))]

    return rule


def _log(x: Products, e: Any) -> list[Product]:
    p = _positive(x.one(e.inputs[0]))
    of_data, of_number = Product(ONE, tt.log(p.data)), Product(tt.log(p.number), ONE)
    return [of_data] if p.number is ONE else [of_number] if p.data is ONE else x.added([of_data], [of_number])


def _exp(x: Products, e: Any) -> list[Product]:
    number, data = ONE, ONE
    for p in Products(x.plain, x.most).of(e.inputs[0]):
        if p.number is ONE:
            data = _times(data, tt.exp(p.data))
        elif p.data is ONE:
            number = _times(number, tt.exp(p.number))
        else:
            raise NoProducts("an exponential of products of data and parameters")
    return [Product(number, data)]


def _power(x: Products, e: Any) -> list[Product]:
    exponent = e.inputs[1]
    if not is_constant(exponent) or exponent.ndim:
        raise NoProducts("a power that is not known")
    return _of_factors(lambda a: a ** float(value_of(exponent)))(x, e)


def _positive(p: Product) -> Product:
    if not np.all(data_value(p.data) > 0):
        raise NoProducts("data that are not positive beside parameters")
    return p


def _moved(x: Products, e: Any) -> list[Product]:
    """Entries moved by data: numbers stay what they are, and of an array of parameters few may be picked."""
    inner = e.inputs[0]
    if not all(map(is_data, e.inputs[1:])) or None in inner.type.shape:
        raise NoProducts(f"{e.op.name} at places that are not data")
    try:
        found = x.of(inner)
    except NoProducts:
        return _picked(x, e)
    if any(p.number.ndim for p in found):
        return _picked(x, e)
    again = lambda t: Node(e.op, (tt.broadcast_to(t, known_shape(inner)), *e.inputs[1:]), e.attrs)
    return [Product(p.number, again(p.data)) for p in found]  # type: ignore[arg-type]


def _picked(x: Products, e: Any) -> list[Product]:
    """Entries of an array of parameters, picked by indices: each that occurs times the rows where it does."""
    chain: list[Any] = []
    while e.op.name in HOST and all(map(is_data, e.inputs[1:])):
        chain.append(e)
        e = e.inputs[0]
    if None in e.type.shape:
        raise NoProducts("an array the length of which is not known")
    positions = np.arange(prod(known_shape(e))).reshape(known_shape(e))
    for node in reversed(chain):
        positions = HOST[node.op.name](node)(positions)
    used = np.unique(positions)
    if len(used) > x.most:
        raise NoProducts("entries of too many parameters")
    flat = e.reshape((-1,))
    return [Product(flat[int(p)], as_tensor((positions == p).astype(float))) for p in used]


RULES: dict[str, Callable[[Products, Any], list[Product]]] = {
    "add": _add,
    "subtract": _subtract,
    "negative": _each(lambda t: -t),
    "multiply": _multiply,
    "true_divide": _divide,
    "log": _log,
    "exp": _exp,
    "power": _power,
    "square": _of_factors(tt.square),
    "sqrt": _of_factors(tt.sqrt),
    "rsqrt": _of_factors(tt.rsqrt),
    "reciprocal": _of_factors(tt.reciprocal),
    **dict.fromkeys(HOST, _moved),
    **dict.fromkeys(("named", "positive", "cast"), _each(lambda t: t)),
}
