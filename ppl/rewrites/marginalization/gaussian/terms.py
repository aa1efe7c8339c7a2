"""Coefficients as sums of parameters times data, so that what is summed over rows is data alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.affine import HOST, is_data
from ppl.tensor.tensor import Tensor, as_tensor


class Scaled(NamedTuple):
    """A number that may depend on parameters, times an array that does not."""

    number: Tensor
    data: Tensor


def terms(coefficient: Any) -> list[Scaled]:
    """A coefficient as few scaled arrays; as itself, with the number 1, where that is not possible."""
    found = _terms(coefficient)
    return (
        [Scaled(as_tensor(1.0), coefficient)] if found is None or len(found) > LIMITS.terms_of_a_coefficient else found
    )


def _terms(t: Any) -> list[Scaled] | None:
    if is_data(t):
        return [Scaled(as_tensor(1.0), t)]
    if t.ndim == 0:
        return [Scaled(t, as_tensor(1.0))]
    name = t.op.name
    if name in ("multiply", "true_divide"):
        a, b = (_terms(i) for i in t.inputs)
        if a is None or b is None or (name == "true_divide" and len(b) > 1):
            return None
        if name == "multiply":
            return [Scaled(x.number * y.number, x.data * y.data) for x in a for y in b]
        return [Scaled(x.number / b[0].number, x.data / b[0].data) for x in a]
    if name in HOST and all(is_data(i) for i in t.inputs[1:]):
        return _picked(t)
    return None


def _picked(t: Any) -> list[Scaled] | None:
    """Entries of an array of parameters, picked by indices: each that occurs times the rows where it does."""
    chain = []
    base = t
    while base.op.name in HOST and not is_data(base):
        chain.append(base)
        base = base.inputs[0]
    if base.ndim == 0:
        return [Scaled(base, tt.ones(t.type.shape))]
    if None in base.type.shape:
        return None
    positions = np.arange(int(np.prod(base.type.shape))).reshape(base.type.shape)
    for node in reversed(chain):
        positions = HOST[node.op.name](node)(positions)
    used = np.unique(positions)
    if len(used) > LIMITS.terms_of_a_coefficient:
        return None
    flat = base.reshape((-1,))
    return [Scaled(flat[int(p)], as_tensor((positions == p).astype(float))) for p in used]


def total(parts: list[Scaled]) -> Tensor:
    """The sum of terms."""
    result = parts[0].number * parts[0].data
    for part in parts[1:]:
        result = result + part.number * part.data
    return result


def collected(parts: Iterable[Scaled]) -> list[Scaled]:
    """The same sum with one term for each number, and one for each array of data."""
    arrays: dict[Tensor, Tensor] = {}
    for number, data in parts:
        arrays[number] = arrays[number] + data if number in arrays else data
    numbers: dict[Tensor, Tensor] = {}
    for number, data in arrays.items():
        numbers[data] = numbers[data] + number if data in numbers else number
    return [Scaled(number, data) for data, number in numbers.items()]
