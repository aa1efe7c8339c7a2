"""An estimate of the work of a graph, for rules that trade one shape of computation for a cheaper one."""

from __future__ import annotations

import math
from collections.abc import Callable

from ppl.graph import Node, TupleType, topological

_UNKNOWN = 1000
_CALL = 20.0  # starting a library routine costs what this many multiplications do


def entries(node: Node) -> float:
    """How many entries a result has; unknown dimensions count as long."""
    if isinstance(node.type, TupleType):
        return 1.0
    return float(math.prod(_UNKNOWN if dim is None else dim for dim in node.type.shape))


def _columns(node: Node) -> float:
    dim = node.type.shape[-1]
    return float(_UNKNOWN if dim is None else dim)


def _cubed(factor: float) -> Callable[[Node], float]:
    return lambda node: factor * entries(node.inputs[0]) * _columns(node.inputs[0]) + _CALL


def _product(node: Node) -> float:
    """One operation an entry for each factor beyond the first, and for each power."""
    weights = node.attrs["weights"]
    return entries(node) * max(1, len(weights) - 1 + sum(w != 1 for w in weights))


_WORK: dict[str, Callable[[Node], float]] = {
    "matmul": lambda node: entries(node) * _columns(node.inputs[0]),
    "inv": _cubed(2.0),
    "det": lambda node: _cubed(0.7)(node) + _CALL,  # pivoting
    "slogdet": lambda node: _cubed(0.7)(node) + _CALL,
    "cholesky": _cubed(0.3),
    "normal_log_density": lambda node: 0.3 * entries(node.inputs[1]) * _columns(node.inputs[1]) + _CALL,
    "log_det_definite": entries,  # by a factor that is there
    "solve_general": lambda node: _cubed(0.7)(node) + entries(node) * _columns(node.inputs[0]),
    "solve_triangular_op": lambda node: 0.5 * entries(node) * _columns(node.inputs[0]),
    "product_of": _product,
    "constant": lambda node: 0.0,
    "getitem": entries,
    "transpose": lambda node: 1.0,
    "reshape": lambda node: 0.0,
    "expand_dims": lambda node: 0.0,
    "squeeze": lambda node: 0.0,
    "get": lambda node: 0.0,
}


def work(node: Node) -> float:
    """Multiplications and the like that a graph takes, shared nodes counted once."""
    return sum(_own(each) for each in topological(node))


def _own(node: Node) -> float:
    if not node.inputs:
        return 0.0
    known = _WORK.get(node.op.name)
    return known(node) if known is not None else max([entries(node), *map(entries, node.inputs)])
