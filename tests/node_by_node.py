"""Values and slopes of expressions, operation by operation: none is compiled as a whole, so thousands take minutes.

Each operation is one small program for the types (and the numbers) it meets, kept for all expressions that have it; an
elementwise one is run on entries in a row, so that all shapes share it; what only moves entries is done by NumPy. The
slopes are the chain rule, written out over the slopes that JAX gives the operations.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from ppl.graph import GET, Attrs, Body, Node, TupleType, topological
from ppl.graph.node import Op
from ppl.tensor.arrays.indexing import GETITEM, real_index
from ppl.tensor.arrays.shaping import BROADCAST_TO, CONCATENATE, EXPAND_DIMS, RESHAPE, SQUEEZE, TRANSPOSE
from ppl.tensor.core.elementwise import power
from ppl.tensor.core.evaluate import lowered
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import CONSTANT, TensorType, value_of

Array = Any  # of a node with several results, a list of arrays
Fixed = tuple[tuple[int, float], ...]  # the operands that are numbers, by position


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
            elif (moved := _moved(node, [done[x] for x in node.inputs])) is not None:
                done[node] = moved
            elif isinstance(node.op, Elementwise):
                done[node] = _Row(node, done).value()
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
            if (places := _places(node, done)) is not None:
                parts = _moved_back(node, done, places, along[0])
            elif isinstance(node.op, Elementwise):
                parts = _Row(node, done).slopes(along[0])
            else:
                parts = _backward(*_key(node, done))([done[x] for x in _open(node)], along)[1]
            for x, part in zip(_floats(node), parts, strict=True):
                _add(found, (x, 0), np.asarray(part))
    return [found.get((x, 0), np.zeros_like(done[x])) for x in inputs]


def _add(found: dict[tuple[Node, int], Array], place: tuple[Node, int], part: Array | None) -> None:
    if part is not None:
        found[place] = part + found[place] if place in found else part


def _moved(node: Node, arrays: list[Array]) -> Array | None:
    """What an operation that only moves entries makes of arrays; none for others, and where NumPy will not do."""
    op, shape = node.op, node.type.shape if isinstance(node.type, TensorType) else (None,)
    if op is GETITEM:
        try:
            return arrays[0][real_index(node.attrs["plan"], arrays[1:])]
        except IndexError:  # a place out of range
            return None
    if op is TRANSPOSE:
        return np.transpose(arrays[0], node.attrs["axes"])
    if op is CONCATENATE:
        return np.concatenate(arrays, node.attrs["axis"])
    if None in shape:
        return None
    if op in (RESHAPE, EXPAND_DIMS, SQUEEZE):
        return arrays[0].reshape(shape)
    return np.broadcast_to(arrays[0], shape) if op is BROADCAST_TO else None


def _sources(node: Node) -> tuple[Node, ...]:
    return node.inputs if node.op is CONCATENATE else node.inputs[:1]


def _places(node: Node, done: Mapping[Node, Array]) -> Array | None:
    """Where the entries of the result of an operation that only moves them came from, counted through its operands."""
    start, numbered = 0, []
    for x in _sources(node):
        numbered.append(np.arange(start, start + done[x].size).reshape(done[x].shape))
        start += done[x].size
    return _moved(node, [*numbered, *[done[x] for x in node.inputs[len(numbered) :]]])


def _moved_back(node: Node, done: Mapping[Node, Array], places: Array, along: Array) -> list[Array]:
    """The slopes along what entries were moved from."""
    sources = [done[x] for x in _sources(node)]
    slopes = np.zeros(sum(x.size for x in sources), along.dtype)
    np.add.at(slopes, places, along)
    ends = np.cumsum([x.size for x in sources])
    return [part.reshape(x.shape) for part, x in zip(np.split(slopes, ends[:-1]), sources, strict=True)]


class _Row:
    """An elementwise operation on the entries of its operands in one row, of one of few lengths."""

    def __init__(self, node: Node, done: Mapping[Node, Array]) -> None:
        operands = [done[x] for x in _open(node)]
        self.shape = np.broadcast_shapes(*[x.shape for x in operands])
        self.size = int(np.prod(self.shape))
        self.length = max(_SHORTEST, 1 << (self.size - 1).bit_length())
        self.floats = [x.shape for x in operands if x.dtype.kind == "f"]
        self.operands = [self.row(x) for x in operands]
        op, attrs, types, fixed = _key(node, done)
        numbers = dict(fixed)
        rows = tuple(t if i in numbers else TensorType(t.dtype, (self.length,)) for i, t in enumerate(types))
        self.key = op, attrs, rows, fixed
        self.smooth = bool(self.floats) and node.type.dtype[0] == "f"
        self.dtype = node.type.dtype

    def row(self, x: Array) -> Array:
        entries = np.broadcast_to(x, self.shape).ravel()
        return np.resize(entries, self.length) if self.size else np.ones(self.length, x.dtype)

    def value(self) -> Array:
        """By the program that gives slopes too, where there are some: one is made in place of two."""
        if self.smooth:
            row = _backward(*self.key)(self.operands, [np.zeros(self.length, self.dtype)])[0][0]
        else:
            row = _forward(*self.key)(*self.operands)
        return np.broadcast_to(row, self.length)[: self.size].reshape(self.shape)

    def slopes(self, along: Array) -> list[Array]:
        rows = _backward(*self.key)(self.operands, [self.row(along)])[1]
        parts = [np.asarray(row)[: self.size].reshape(self.shape) for row in rows]
        return [_gathered(part, shape) for part, shape in zip(parts, self.floats, strict=True)]


_SHORTEST = 16


def _gathered(part: Array, shape: tuple[int, ...]) -> Array:
    """The slopes along an operand that was repeated: those along its copies, added up."""
    missing = part.ndim - len(shape)
    repeated = [missing + axis for axis, n in enumerate(shape) if n == 1 != part.shape[missing + axis]]
    return part.sum(axis=(*range(missing), *repeated), keepdims=True).reshape(shape)


def _number(node: Node, x: Node) -> bool:
    """Whether an operand is a number that the program of an operation is made for: an exponent, say, or a length."""
    if x.type.shape:
        return False
    return x.type.dtype[0] in "iu" or (x.op is CONSTANT and (node.op is power or not isinstance(node.op, Elementwise)))


def _open(node: Node) -> list[Node]:
    return [x for x in node.inputs if not _number(node, x)]


def _floats(node: Node) -> list[Node]:
    return [x for x in _open(node) if x.type.dtype[0] == "f"]


def _key(node: Node, done: Mapping[Node, Array]) -> tuple[Op, Attrs, tuple[TensorType, ...], Fixed]:
    fixed = tuple((i, done[x].item()) for i, x in enumerate(node.inputs) if _number(node, x))
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
    """The results that have slopes, and the slopes along the operands."""
    forward = _forward(op, attrs, types, fixed)
    numbers = dict(fixed)
    kinds = [t.dtype[0] for i, t in enumerate(types) if i not in numbers]
    floats = [i for i, kind in enumerate(kinds) if kind == "f"]

    def pull(operands: list[Any], cotangents: list[Any]) -> Any:
        def of_floats(*xs: Any) -> Any:
            given = dict(zip(floats, xs, strict=True))
            results = forward(*[given.get(i, x) for i, x in enumerate(operands)])
            return _smooth(results if isinstance(results, tuple | list) else [results])

        results, pulled = jax.vjp(of_floats, *[operands[i] for i in floats])
        return results, pulled(_smooth(cotangents))

    return jax.jit(pull)


def _smooth(results: Sequence[Any]) -> list[Any]:
    """The results that have slopes."""
    return [each for each in results if each.dtype.kind == "f"]
