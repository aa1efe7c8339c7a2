"""Functions over further axes: a function of vectors or matrices applied to stacks of them, all at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ppl.graph import Attrs, Body, Node, TupleType, close
from ppl.tensor.ops import TensorOp, broadcast_shape, normal_axis
from ppl.tensor.shaping import moveaxis
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, function, placeholder


class _Vectorized(TensorOp):
    """A body mapped over the leading axes of its first `len(ranks)` inputs, which have `ranks` axes of their own."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        ranks = attrs["ranks"]
        stack = broadcast_shape("vectorize", tuple(_Leading(x, r) for x, r in zip(inputs, ranks, strict=False)))  # type: ignore[misc]
        types = [TensorType(out.type.dtype, stack + out.type.shape) for out in attrs["body"].outputs]
        return types[0] if len(types) == 1 else TupleType(tuple(types))


class _Leading:
    """A tensor without its last axes, for the broadcasting rule."""

    def __init__(self, node: Any, rank: int) -> None:
        shape = node.type.shape
        self.node, self.type = node, TensorType(node.type.dtype, shape[: len(shape) - rank])

    def __repr__(self) -> str:
        return repr(self.node)


def _map(*inputs: Any, body: Any, ranks: tuple[int, ...]) -> Any:
    arrays = [jnp.asarray(x) for x in inputs]
    mapped, rest = arrays[: len(ranks)], arrays[len(ranks) :]
    cores = [x.shape[x.ndim - r :] for x, r in zip(mapped, ranks, strict=True)]
    stack = jnp.broadcast_shapes(*[x.shape[: x.ndim - r] for x, r in zip(mapped, ranks, strict=True)])
    run = lambda *xs: body(*xs, *rest)
    for _ in stack:
        run = jax.vmap(run)
    results = run(*[jnp.broadcast_to(x, stack + core) for x, core in zip(mapped, cores, strict=True)])
    return results[0] if len(results) == 1 else tuple(results)


VECTORIZED = _Vectorized("vectorized", _map)
_SIGNATURE = re.compile(r"\(([^()]*)\)")


@function()
def vectorize(f: Callable[..., Any], signature: str | None = None) -> Callable[..., Any]:
    """`f`, a function of tensors, for stacks of them: "(n),(m,n)->(m)" says how many axes each has of its own.

    >>> import ppl.tensor as tt
    >>> first = vectorize(lambda v: v[0], "(n)->()")
    >>> first(tt.ones((5, 4, 3))).type.shape
    (5, 4)
    """

    def mapped(*inputs: Any) -> Any:
        given = [as_tensor(x) for x in inputs]
        ranks = (0,) * len(given) if signature is None else _ranks(signature, len(given))
        for x, rank in zip(given, ranks, strict=True):
            if x.ndim < rank:
                raise ValueError(f"vectorize: {x!r} has {x.ndim} axes, the signature {signature!r} asks for {rank}")
        points = [
            placeholder(TensorType(x.dtype, x.type.shape[x.ndim - r :])) for x, r in zip(given, ranks, strict=True)
        ]
        results = f(*points)
        several = isinstance(results, list | tuple)
        body, captured = close(points, [as_tensor(r) for r in (results if several else [results])])
        node = _built(body, [*given, *captured], ranks)
        return list(node) if several and len(body.outputs) > 1 else ([node] if several else node)

    return mapped


def _built(body: Body, inputs: list[Any], ranks: tuple[int, ...]) -> Any:
    return Node(VECTORIZED, tuple(inputs), Attrs(body=body, ranks=ranks))


def _ranks(signature: str, count: int) -> tuple[int, ...]:
    left = signature.split("->")[0]
    ranks = tuple(len([d for d in group.split(",") if d.strip()]) for group in _SIGNATURE.findall(left))
    if "->" not in signature or len(ranks) != count:
        raise ValueError(f'vectorize: a signature for {count} inputs reads "(n),(m,n)->(m)", got {signature!r}')
    return ranks


@function()
def apply_along_axis(f: Callable[[Tensor], Any], axis: int, x: Any) -> Tensor:
    """`f` of each vector along an axis; what it returns takes the place of that axis."""
    x = as_tensor(x)
    where = normal_axis("apply_along_axis", x, axis)
    mapped: Tensor = vectorize(f, "(n)->()")(moveaxis(x, where, -1))
    added = mapped.ndim - (x.ndim - 1)
    return moveaxis(mapped, tuple(range(-added, 0)), tuple(range(where, where + added))) if added else mapped
