"""Values and slopes of expressions, operation by operation: none is compiled as a whole, so thousands take minutes.

Each operation is one small program for the types (and the numbers) it meets, kept for all expressions that have it. The
slopes are the chain rule, written out over the slopes that JAX gives the operations.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from ppl.graph import Attrs, Node, Op, topological
from ppl.tensor.tensor import CONSTANT, TensorType, value_of

Array = np.ndarray
Fixed = tuple[tuple[int, float], ...]  # the operands that are numbers, by position: an exponent, say


def values(outputs: list[Node], given: Mapping[Node, Array]) -> dict[Node, Array]:
    """The value of every node that the outputs need."""
    done = dict(given)
    with jax.enable_x64(True):
        for node in topological(outputs, blockers=done):
            if node not in done:
                done[node] = (
                    value_of(node)
                    if node.op is CONSTANT
                    else np.asarray(_forward(*_key(node))(*[done[x] for x in _open(node)]))
                )
    return done


def slopes(output: Node, done: Mapping[Node, Array], inputs: list[Node], cotangent: Array) -> list[Array]:
    """The slopes of the sum of cotangent times output along the inputs, given the values of all nodes."""
    found: dict[Node, Array] = {output: cotangent}
    with jax.enable_x64(True), np.errstate(invalid="ignore"):  # inf - inf is nan, as in a compiled program
        for node in reversed(list(topological([output], blockers=inputs))):
            if node not in found or node.op is CONSTANT or not _floats(node):
                continue
            parts = _backward(*_key(node))([done[x] for x in _open(node)], found[node])
            for x, part in zip(_floats(node), parts, strict=True):
                found[x] = np.asarray(part) + found[x] if x in found else np.asarray(part)
    return [found.get(x, np.zeros_like(done[x])) for x in inputs]


def _number(x: Node) -> bool:
    return x.op is CONSTANT and not x.type.shape


def _open(node: Node) -> list[Node]:
    return [x for x in node.inputs if not _number(x)]


def _floats(node: Node) -> list[Node]:
    return [x for x in _open(node) if x.type.dtype[0] == "f"]


def _key(node: Node) -> tuple[Op, Attrs, tuple[TensorType, ...], Fixed]:
    fixed = tuple((i, value_of(x).item()) for i, x in enumerate(node.inputs) if _number(x))
    return node.op, node.attrs, tuple(x.type for x in node.inputs), fixed


@functools.lru_cache(maxsize=20_000)
def _forward(op: Op, attrs: Attrs, types: tuple[TensorType, ...], fixed: Fixed) -> Any:
    numbers = {i: np.asarray(value, types[i].dtype) for i, value in fixed}

    def run(*operands: Any) -> Any:
        rest = iter(operands)
        return op.lower(*[numbers[i] if i in numbers else next(rest) for i in range(len(types))], **attrs)  # type: ignore[attr-defined]

    return jax.jit(run)


@functools.lru_cache(maxsize=20_000)
def _backward(op: Op, attrs: Attrs, types: tuple[TensorType, ...], fixed: Fixed) -> Any:
    forward = _forward(op, attrs, types, fixed)
    numbers = dict(fixed)
    kinds = [t.dtype[0] for i, t in enumerate(types) if i not in numbers]
    floats = [i for i, kind in enumerate(kinds) if kind == "f"]

    def pull(operands: list[Any], cotangent: Any) -> Any:
        def of_floats(*xs: Any) -> Any:
            given = dict(zip(floats, xs, strict=True))
            return forward(*[given.get(i, x) for i, x in enumerate(operands)])

        return jax.vjp(of_floats, *[operands[i] for i in floats])[1](cotangent)

    return jax.jit(pull)
