"""Further axes: a function of vectors or matrices applied to stacks of them (`vectorize`), a graph with stacks in the
place of some of its tensors (`vectorize_graph`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ppl.graph import Attrs, Body, Node, TupleType, ancestors, close, substitute
from ppl.tensor.arrays.shaping import moveaxis
from ppl.tensor.core.labelled import takes_labelled
from ppl.tensor.core.ops import TensorOp, broadcast_shape, normal_axis
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, function, placeholder
from ppl.xla.later import jax, jnp


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
def vectorize(func: Callable[..., Any], signature: str | None = None) -> Callable[..., Any]:
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
        results = func(*points)
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
@takes_labelled
def vectorize_graph(outputs: Any, replace: Mapping[Tensor, Any]) -> Any:
    """`outputs` with tensors replaced by others that have further axes in front; the results have these axes too.

    The leading axes of several replacements broadcast together. What is not replaced is the same for all entries.

    >>> import ppl.tensor as tt
    >>> x, xs = tt.dvector("x"), tt.dmatrix("xs")
    >>> vectorize_graph(x.sum(), {x: xs}).eval({xs: [[1.0, 2.0], [3.0, 4.0]]})
    array([3., 7.])
    """
    several = isinstance(outputs, list | tuple)
    wanted = [as_tensor(out) for out in (outputs if several else [outputs])]
    olds = list(replace)
    news = [_extending(old, as_tensor(new)) for old, new in replace.items()]
    if all(new.ndim == old.ndim for old, new in zip(olds, news, strict=True)):
        raise ValueError("vectorize_graph: no replacement has more axes than what it replaces; use clone_replace")
    reached = ancestors(wanted)
    lost = [old for old in olds if old not in reached]
    if lost:
        raise ValueError(f"vectorize_graph: {lost[0]!r} is not in the graph")
    entries = [placeholder(old.type) for old in olds]
    body, captured = close(entries, substitute(wanted, dict(zip(olds, entries, strict=True))))
    node = _built(body, [*news, *captured], tuple(old.ndim for old in olds))
    results = [node] if isinstance(node.type, TensorType) else list(node)
    return results if several else results[0]


def _extending(old: Tensor, new: Tensor) -> Tensor:
    """The new tensor, checked to be the old one's type with axes in front."""
    count = new.ndim - old.ndim
    pairs = zip(old.type.shape, new.type.shape[max(count, 0) :], strict=False)
    if count < 0 or new.dtype != old.dtype or any(n != m for n, m in pairs if n is not None and m is not None):
        raise TypeError(f"vectorize_graph: {old!r} is {old.type!r}, which {new!r} does not extend: it is {new.type!r}")
    return new


@function()
def apply_along_axis(f: Callable[[Tensor], Any], axis: int, x: Any) -> Tensor:
    """`f` of each vector along an axis; what it returns takes the place of that axis."""
    x = as_tensor(x)
    where = normal_axis("apply_along_axis", x, axis)
    mapped: Tensor = vectorize(f, "(n)->()")(moveaxis(x, where, -1))
    added = mapped.ndim - (x.ndim - 1)
    return moveaxis(mapped, tuple(range(-added, 0)), tuple(range(where, where + added))) if added else mapped
