"""Constants folded once, on the host by NumPy, so that XLA meets the result only."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.graph import GET, Attrs, Node, bodies, topological
from ppl.graph.node import Op
from ppl.rewrites.arithmetic.normal import PRODUCT, SUM
from ppl.rewrites.values.by_numpy import by_numpy, has_a_function
from ppl.tensor import linalg
from ppl.tensor.arrays import indexing, shaping
from ppl.tensor.arrays.reductions import log_softmax, softmax
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import CAST, Elementwise, Reduction
from ppl.tensor.core.sizes import DIM
from ppl.tensor.core.vectorizing import VECTORIZED
from ppl.tensor.linear_algebra.triangular import pack_triangular, unpack_triangular
from ppl.tensor.tensor import CONSTANT, constant, value_of
from ppl.xla import backend
from ppl.xla.later import jax, wide

_LARGEST = 100_000
_MOST_STEPS = 5_000  # operations, some microseconds each, that a map takes row by row
_PURE = frozenset([
    indexing.GETITEM, linalg.MATMUL, shaping.RESHAPE, shaping.TRANSPOSE, shaping.EXPAND_DIMS, shaping.SQUEEZE,
    shaping.CONCATENATE, CAST, DIM, segment_sum, pack_triangular, unpack_triangular,
    softmax, log_softmax, indexing.take_along_axis,
])  # fmt: skip


def folded(node: Node) -> Node | None:
    """The constant that a node of constants is; None where it is none, or would be much larger than its inputs."""
    if node.op is DIM:
        return _dim(node)
    if not node.inputs or any(x.op is not CONSTANT for x in node.inputs):
        return None
    if not (isinstance(node.op, Elementwise | Reduction) or node.op in _PURE) or bodies(node):
        return None
    if None in node.type.shape or not _worth_it(node):
        return None
    value = _computed(node, [value_of(x) for x in node.inputs])
    return None if value is None else constant(value)


def on_host(
    outputs: Sequence[Node], given: Mapping[Node, np.ndarray], *, programs: bool = True, maps: bool = False
) -> list[np.ndarray] | None:
    """The values of a few small expressions as they are written, operation by operation and without a program for them
    all, nor for any operation unless `programs`; with `maps` also those that take some milliseconds, row by row. None
    where an operation is not done so, or where a value is not finite, as another way to write it may be."""
    results = step_by_step(outputs, given, programs, maps)
    return results if results is not None and all(np.isfinite(x).all() for x in results) else None


def step_by_step(
    outputs: Sequence[Node], given: Mapping[Node, np.ndarray], programs: bool = False, maps: bool = False
) -> list[np.ndarray] | None:
    """`on_host` for expressions that are in their last form: as they are written, a value may not be finite."""
    values: dict[Node, Any] = dict(given)
    for node in topological(outputs, blockers=values):
        if node in values:
            continue
        found = _on_host(node, [values[x] for x in node.inputs], programs, maps)
        if found is None:
            return None
        values[node] = found
    return [np.asarray(values[node]) for node in outputs]


def _on_host(node: Node, inputs: list[Any], programs: bool, maps: bool) -> Any:
    if node.op is CONSTANT:
        return value_of(node)
    if node.op is NAMED:
        return inputs[0]
    if node.op is GET:
        return inputs[0][node.attrs["position"]]
    if node.op is VECTORIZED:
        return _row_by_row(node, inputs) if maps else None
    if bodies(node) or not has_a_function(node):
        return None
    return _computed(node, inputs, programs)


def in_steps(outputs: Sequence[Node], given: Mapping[Node, Any]) -> list[Any]:
    """The values of expressions, finite or not, operation by operation: by NumPy, by JAX what NumPy does not have."""
    values: dict[Node, Any] = {node: _of_numpy(value) for node, value in given.items()}
    for node in topological(outputs, blockers=values):
        if node not in values:
            found = _on_host(node, [values[x] for x in node.inputs], programs=False, maps=True)
            values[node] = _of_numpy(evaluate([node], values)[0] if found is None else found)
    return [values[node] for node in outputs]


def _of_numpy(value: Any) -> Any:
    """JAX's arrays as NumPy's, so that no function of NumPy meets one. Keys of random numbers stay what they are."""
    return np.asarray(value) if isinstance(getattr(value, "dtype", None), np.dtype) else value


def _row_by_row(node: Node, inputs: list[np.ndarray]) -> np.ndarray | None:
    """A map, as a loop over its rows; None where that takes too many steps."""
    body, ranks = node.attrs["body"], node.attrs["ranks"]
    if len(body.outputs) > 1 or None in node.type.shape:
        return None
    mapped, rest = inputs[: len(ranks)], inputs[len(ranks) :]
    stack = np.broadcast_shapes(*[x.shape[: x.ndim - r] for x, r in zip(mapped, ranks, strict=True)])
    if math.prod(stack) * len(topological(body.outputs)) > _MOST_STEPS:
        return None
    rows = [np.broadcast_to(x, stack + x.shape[x.ndim - r :]) for x, r in zip(mapped, ranks, strict=True)]
    result = np.empty(node.type.shape, node.type.dtype)
    for place in np.ndindex(stack):
        found = on_host(
            body.outputs, dict(zip(body.params, [*[x[place] for x in rows], *rest], strict=True)), programs=False
        )
        if found is None:
            return None
        result[place] = found[0]
    return result


def _dim(node: Node) -> Node | None:
    size = node.inputs[0].type.shape[node.attrs["axis"]]
    return None if size is None else constant(np.int64(size))


def _worth_it(node: Node) -> bool:
    result = int(np.prod(node.type.shape))
    given = max(value_of(x).size for x in node.inputs)
    return given <= _LARGEST and result <= max(given, 4096)


def _computed(node: Node, values: list[np.ndarray], programs: bool = True) -> np.ndarray | None:
    if node.op in (SUM, PRODUCT):
        return None
    found = by_numpy(node, values)
    return _by_jax(node, values) if found is None and programs else found


def _by_jax(node: Node, values: list[np.ndarray]) -> np.ndarray | None:
    """As one program: operation by operation, JAX compiles each of them, a twentieth of a second for every one."""
    backend.check()
    for call in (_program(node.op, node.attrs), functools.partial(_lower, node.op, node.attrs)):
        with contextlib.suppress(Exception), wide(), jax.ensure_compile_time_eval():
            return np.asarray(call(*values))  # some operations want to see their values
    return None


@functools.lru_cache(maxsize=256)
def _program(op: Op, attrs: Attrs) -> Callable[..., Any]:
    """Kept, since JAX keeps what it compiled by the function."""
    return jax.jit(functools.partial(_lower, op, attrs))


def _lower(op: Op, attrs: Attrs, *values: Any) -> Any:
    return op.lower(*values, **attrs)  # type: ignore[attr-defined]
