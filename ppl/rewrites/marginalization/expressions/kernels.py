r"""A covariance matrix as it was written: a sum of products of kernels of inputs, and noise on the diagonal.

.. math:: K_{ij} = \sum_t a_t\,\prod_k ρ_{tk}\big(d_{tk}(x_i, x_j)\big) + δ_{ij}\, v_i

A kernel is a correlation (an operation of `ppl.tensor.kernels.correlations`) of a distance (one of
`ppl.tensor.kernels.distances`); numbers, sums, products, whole powers and diagonals around it are ordinary operations,
and are read here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import data_value, is_read
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import CAST
from ppl.tensor.kernels.correlations import CORRELATIONS
from ppl.tensor.kernels.distances import DISTANCES
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


@record
class Kernel:
    """ρ(d(x, xs)): the names of the correlation and of the distance, the tables of inputs, which are the same node
    where the matrix is that of one set of points, and the parameters of both."""

    correlation: str  # exp_quad, matern12, matern32, matern52, rational_quadratic, cosine_wave
    x: Tensor
    xs: Tensor
    ls: Tensor  # a number or one for each column
    period: Tensor | None = None  # of a periodic distance
    parameters: tuple[Tensor, ...] = ()  # of the correlation: alpha of the rational quadratic


@record
class Summand:
    """A number times the product of kernels, of ones where there is none."""

    scale: Tensor
    kernels: tuple[Kernel, ...] = ()


@record
class Structure:
    """A covariance: summands, and the variance that stands on the diagonal alone, a number or one for each point."""

    summands: tuple[Summand, ...]
    noise: Tensor


class Unstructured(Exception):  # noqa: N818  an answer, not an error
    """A matrix is no sum of products of kernels; the message says where."""


def structure_of(cov: Any) -> Structure:
    """How a covariance matrix is made of kernels; raises `Unstructured` with the reason where it is not."""
    return _structure(cov)


def _structure(node: Any) -> Structure:
    node = _bare(node)
    if node.op in CORRELATIONS:
        return Structure((Summand(as_tensor(1.0), (_kernel(node),)),), as_tensor(0.0))
    rule = _RULES.get(node.op.name)
    if rule is not None:
        return rule(node)
    noise = _known_diagonal(node)
    if noise is None:
        raise Unstructured(f"{node.op.name} is no kernel")
    return Structure((), noise)


def _bare(node: Any) -> Any:
    """A node without names and conversions between floats."""
    while node.op is NAMED or (node.op is CAST and node.inputs[0].dtype[0] == node.dtype[0]):
        node = node.inputs[0]
    return node


def _kernel(node: Any) -> Kernel:
    distance, *parameters = map(_bare, node.inputs)
    if distance.op not in DISTANCES:
        raise Unstructured(f"{node.op.name} is taken of {distance.op.name}, which is no distance between inputs")
    if any(p.ndim for p in parameters):
        raise Unstructured(f"{node.op.name} has parameters that differ from entry to entry")
    x, xs, ls, *periods = distance.inputs
    return Kernel(node.op.name, x, xs, ls, periods[0] if periods else None, tuple(parameters))


def _sum(a: Structure, b: Structure) -> Structure:
    if len(a.summands) + len(b.summands) > LIMITS.kernel_summands:
        raise Unstructured(f"it has more than {LIMITS.kernel_summands} summands")
    return Structure((*a.summands, *b.summands), _plus(a.noise, b.noise))


def _plus(a: Tensor, b: Tensor) -> Tensor:
    return b if _is_zero(a) else a if _is_zero(b) else a + b


def _is_zero(x: Any) -> bool:
    return is_constant(x) and not np.any(value_of(x))


def _times(a: Structure, number: Tensor) -> Structure:
    return Structure(
        tuple(replace(s, scale=s.scale * number) for s in a.summands),
        a.noise if _is_zero(a.noise) else a.noise * number,
    )


def _add(node: Any) -> Structure:
    a, b = node.inputs
    whole = [_filled(x, node) for x in (a, b)]
    return _sum(*whole)


def _subtract(node: Any) -> Structure:
    a, b = (_filled(x, node) for x in node.inputs)
    return _sum(a, _times(b, as_tensor(-1.0)))


def _filled(x: Any, node: Any) -> Structure:
    """A part of a sum; a number stands for a matrix full of it."""
    if _number(x) is not None:
        return Structure((Summand(_number(x)),), as_tensor(0.0))  # type: ignore[arg-type]
    if x.type.ndim != 2 or x.type.shape != node.type.shape:
        raise Unstructured("a vector is added to its rows or columns")
    return _structure(x)


def _number(x: Any) -> Tensor | None:
    """What an array that holds one number, however broadcast, holds."""
    x = _bare(x)
    while x.op.name in ("broadcast_to", "expand_dims", "reshape"):
        x = _bare(x.inputs[0])
    if not x.type.ndim:
        return as_tensor(x)
    return tt.reshape(x, ()) if x.type.shape and set(x.type.shape) == {1} else None


def _multiply(node: Any) -> Structure:
    a, b = node.inputs
    for x, other in ((a, b), (b, a)):
        number = _number(x)
        if number is not None:
            return _times(_structure(other), number)
    if a.type.shape != b.type.shape:
        raise Unstructured("its rows or columns are multiplied by a vector")
    return _product(_structure(a), _structure(b))


def _product(a: Structure, b: Structure) -> Structure:
    """Entry by entry; what stands on one diagonal alone meets the other's diagonal, which is not known to be constant
    unless all of its kernels are correlations of one set of points."""
    summands = tuple(Summand(x.scale * y.scale, (*x.kernels, *y.kernels)) for x in a.summands for y in b.summands)
    if len(summands) > LIMITS.kernel_summands:
        raise Unstructured(f"it has more than {LIMITS.kernel_summands} summands")
    noise = as_tensor(0.0)
    for x, y, both in ((a, b, True), (b, a, False)):
        if not _is_zero(x.noise):
            noise = _plus(noise, x.noise * _on_diagonal(y, both))
    return Structure(summands, noise)


def _on_diagonal(a: Structure, with_noise: bool) -> Tensor:
    """What stands on the diagonal: a correlation at distance zero is one."""
    if any(k.x is not k.xs for s in a.summands for k in s.kernels):
        raise Unstructured("noise is multiplied by kernels between two sets of points")
    total = a.noise if with_noise else as_tensor(0.0)
    for s in a.summands:
        total = total + s.scale
    return total


def _true_divide(node: Any) -> Structure:
    number = _number(node.inputs[1])
    if number is None:
        raise Unstructured("it is divided by what is no number")
    return _times(_structure(node.inputs[0]), 1.0 / number)


def _negative(node: Any) -> Structure:
    return _times(_structure(node.inputs[0]), as_tensor(-1.0))


def _power(node: Any) -> Structure:
    base, exponent = node.inputs
    p = value_of(exponent) if is_constant(exponent) and exponent.type.ndim == 0 else None
    if p is None or p != int(p) or not 1 <= p <= LIMITS.highest_power_of_a_kernel:
        raise Unstructured("it is a power of a kernel that is not written out")
    found = single = _structure(base)
    for _ in range(int(p) - 1):
        found = _product(found, single)
    return found


def _eye(node: Any) -> Structure:
    if node.attrs["k"] == 0 and node.type.shape[0] == node.type.shape[1]:
        return Structure((), as_tensor(1.0))
    noise = _known_diagonal(node)
    if noise is None:
        raise Unstructured("a part of it is an identity matrix of other shape")
    return Structure((), noise)


def _diagonal_matrix(node: Any) -> Structure:
    if node.attrs["k"] != 0:
        raise Unstructured("a part of it stands beside the diagonal")
    number = _number(node.inputs[0])
    return Structure((), node.inputs[0] if number is None else number)


def _broadcast(node: Any) -> Structure:
    number = _number(node)
    if number is None:
        raise Unstructured("a vector is spread over its rows or columns")
    return Structure((Summand(number),), as_tensor(0.0))


def _known_diagonal(node: Any) -> Tensor | None:
    """The diagonal of a matrix that is known to have nothing beside it, as one number where it is one."""
    if node.type.ndim != 2 or not is_read(node):
        return None
    value = data_value(node)
    diagonal = np.diagonal(value)
    if value.shape[0] != value.shape[1] or np.count_nonzero(value) != np.count_nonzero(diagonal):
        return None
    return as_tensor(diagonal[0] if len(diagonal) and np.all(diagonal == diagonal[0]) else diagonal)


_RULES: dict[str, Callable[[Any], Structure]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "true_divide": _true_divide,
    "negative": _negative,
    "power": _power,
    "eye": _eye,
    "matrix_of_diagonal": _diagonal_matrix,
    "broadcast_to": _broadcast,
}
