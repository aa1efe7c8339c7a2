"""Values and slopes of expressions, operation by operation: none is compiled as a whole, so thousands take minutes.

Each operation is one small program for the types (and the numbers) it meets, kept for all expressions that have it. The
slopes are the chain rule, written out over the slopes that JAX gives the operations.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ppl.graph import GET, Attrs, Body, Node, Op, TupleType, topological
from ppl.tensor.evaluate import lowered
from ppl.tensor.tensor import CONSTANT, TensorType, value_of

Array = Any  # of a node with several results, a list of arrays
Fixed = tuple[tuple[int, float], ...]  # the operands that are numbers, by position: an exponent, say, or a length


def values(outputs: Sequence[Node], given: Mapping[Node, Array]) -> dict[Node, Array]:
    """The value of every node that the outputs need."""
    done = {node: np.asarray(value) for node, value in given.items()}
    with jax.enable_x64(True):
        for node in topological(outputs, blockers=done):
            if node in done:
                continue
            if node.op is CONSTANT:
                done[node] = value_of(node)
            elif node.op is GET:
                done[node] = done[node.inputs[0]][node.attrs["position"]]
            else:
                done[node] = jax.tree.map(np.asarray, _forward(*_key(node, done))(*[done[x] for x in _open(node)]))
    return done


def slopes(output: Node, done: Mapping[Node, Array], inputs: Sequence[Node], cotangent: Array) -> list[Array]:
    """The slopes of the sum of cotangent times output along the inputs, given the values of all nodes."""
    found: dict[tuple[Node, int], Array] = {(output, 0): cotangent}
    with jax.enable_x64(True), np.errstate(invalid="ignore"):  # inf - inf is nan, as in a compiled program
        ends = set(inputs)
        for node in reversed(topological([output], blockers=ends)):
            if node in ends or node.op is CONSTANT:
                continue
            if node.op is GET:
                _add(found, (node.inputs[0], node.attrs["position"]), found.get((node, 0)))
                continue
            results = done[node] if isinstance(node.type, TupleType) else [done[node]]
            along = [found.get((node, i), np.zeros_like(result)) for i, result in enumerate(results)]
            if not _floats(node) or not any((node, i) in found for i in range(len(results))):
                continue
            parts = _backward(*_key(node, done))([done[x] for x in _open(node)], along)
            for x, part in zip(_floats(node), parts, strict=True):
                _add(found, (x, 0), np.asarray(part))
    return [found.get((x, 0), np.zeros_like(done[x])) for x in inputs]


def _add(found: dict[tuple[Node, int], Array], place: tuple[Node, int], part: Array | None) -> None:
    if part is not None:
        found[place] = part + found[place] if place in found else part


def _number(x: Node) -> bool:
    return not x.type.shape and (x.op is CONSTANT or x.type.dtype[0] in "iu")


def _open(node: Node) -> list[Node]:
    return [x for x in node.inputs if not _number(x)]


def _floats(node: Node) -> list[Node]:
    return [x for x in _open(node) if x.type.dtype[0] == "f"]


def _key(node: Node, done: Mapping[Node, Array]) -> tuple[Op, Attrs, tuple[TensorType, ...], Fixed]:
    fixed = tuple((i, done[x].item()) for i, x in enumerate(node.inputs) if _number(x))
    return node.op, node.attrs, tuple(x.type for x in node.inputs), fixed


@functools.lru_cache(maxsize=20_000)
def _forward(op: Op, attrs: Attrs, types: tuple[TensorType, ...], fixed: Fixed) -> Any:
    numbers = {i: np.asarray(value, types[i].dtype) for i, value in fixed}
    given = {key: lowered(value) if isinstance(value, Body) else value for key, value in attrs.items()}

    def run(*operands: Any) -> Any:
        rest = iter(operands)
        return op.lower(*[numbers[i] if i in numbers else next(rest) for i in range(len(types))], **given)  # type: ignore[attr-defined]

    return jax.jit(run)


@functools.lru_cache(maxsize=20_000)
def _backward(op: Op, attrs: Attrs, types: tuple[TensorType, ...], fixed: Fixed) -> Any:
    forward = _forward(op, attrs, types, fixed)
    numbers = dict(fixed)
    kinds = [t.dtype[0] for i, t in enumerate(types) if i not in numbers]
    floats = [i for i, kind in enumerate(kinds) if kind == "f"]

    def pull(operands: list[Any], cotangents: list[Any]) -> Any:
        def of_floats(*xs: Any) -> Any:
            given = dict(zip(floats, xs, strict=True))
            results = forward(*[given.get(i, x) for i, x in enumerate(operands)])
            return _smooth(results if isinstance(results, tuple | list) else [results])

        return jax.vjp(of_floats, *[operands[i] for i in floats])[1](_smooth(cotangents))

    return jax.jit(pull)


def _smooth(results: Sequence[Any]) -> list[Any]:
    """The results that have slopes."""
    return [each for each in results if each.dtype.kind == "f"]
