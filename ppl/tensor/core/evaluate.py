"""From graph to JAX: run a graph on arrays, and hand it over as a pure JAX function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.graph import GET, Body, Node, topological
from ppl.tensor.core.ops import CAST, Elementwise
from ppl.tensor.tensor import CONSTANT, TensorType, value_of
from ppl.xla.later import jax
from ppl.xla.private import is_traced


def evaluate(
    outputs: Sequence[Node], values: Mapping[Node, Any], ambient: Mapping[Node, Any] | None = None
) -> list[Any]:
    """The values of `outputs`, given values of nodes they are computed from. Works on arrays and on JAX's tracers.

    What depends only on shapes and constants is computed at once, not left to the compiled program, so that sizes
    computed from shapes are plain numbers. `ambient` holds values of leaves that stand inside bodies, at any depth.
    """
    results: dict[Node, Any] = {**values, **ambient} if ambient else dict(values)
    for node in topological(outputs, blockers=results):
        if node in results:
            continue
        if node.op is CONSTANT:
            results[node] = value_of(node)
        elif node.op is GET:
            results[node] = results[node.inputs[0]][node.attrs["position"]]
        elif not hasattr(node.op, "lower"):
            raise ValueError(f"no value for {node!r}, which the outputs need")
        else:
            results[node] = apply_node(node, [results[parent] for parent in node.inputs], ambient)
    return [results[node] for node in outputs]


# What NumPy gives to the last bit as XLA does, and at once: for each such number XLA would compile a program.
_EXACT: dict[str, Any] = {"switch": np.where, "abs": np.absolute} | {
    name: getattr(np, name)
    for name in """add subtract multiply true_divide negative floor ceil rint sign square maximum minimum less
        less_equal greater greater_equal equal not_equal logical_and logical_or logical_not bitwise_and bitwise_or
        isnan isinf isfinite""".split()
}


def apply_node(node: Node, arguments: list[Any], ambient: Mapping[Node, Any] | None = None) -> Any:
    """The value of one node, given those of its inputs."""
    attrs = {key: lowered(value, ambient) if isinstance(value, Body) else value for key, value in node.attrs.items()}
    lower = node.op.lower  # type: ignore[attr-defined]
    if isinstance(node.type, TensorType) and not node.type.shape and not any(map(is_traced, arguments)):
        if isinstance(node.op, Elementwise) and not attrs and (known := _EXACT.get(node.op.name)) is not None:
            with np.errstate(all="ignore"):
                return np.asarray(known(*arguments), node.type.dtype)
        if node.op is CAST and np.can_cast(np.asarray(arguments[0]).dtype, node.type.dtype):
            return np.asarray(arguments[0], node.type.dtype)
        with jax.ensure_compile_time_eval():
            value = lower(*arguments, **attrs)
        return value if is_traced(value) else np.asarray(value)
    return lower(*arguments, **attrs)


def lowered(body: Body, ambient: Mapping[Node, Any] | None = None) -> Callable[..., list[Any]]:
    """A body as a JAX function of its parameters."""
    return lambda *arguments: evaluate(body.outputs, dict(zip(body.params, arguments, strict=True)), ambient)


def to_jax(inputs: Iterable[Node], outputs: Node | Sequence[Node]) -> Callable[..., Any]:
    """The graph from `inputs` to `outputs` as a pure JAX function, to which jit, grad, vmap and shard_map apply.

    It computes in the dtypes of its arguments' JAX arrays: for float64 call it inside `jax.enable_x64(True)`.

    >>> import jax
    >>> x = ppl.tensor.dscalar("x")
    >>> with jax.enable_x64(True):
    ...     print(jax.grad(ppl.to_jax([x], ppl.tensor.exp(2 * x)))(0.0))
    2.0
    """
    given = list(inputs)
    wanted = [outputs] if isinstance(outputs, Node) else list(outputs)

    def run(*arguments: Any) -> Any:
        if len(arguments) != len(given):
            raise TypeError(f"the graph has {len(given)} inputs, got {len(arguments)} values")
        results = evaluate(wanted, dict(zip(given, arguments, strict=True)))
        return results[0] if isinstance(outputs, Node) else results

    return run
