"""What becomes of padding in each kind of operation that works entry by entry, sums up, or turns axes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.compile.padding import (
    AtLeast,
    Derived,
    Length,
    Padded,
    Padding,
    array_of,
    lengths_of,
    refused,
    resized,
    rule,
)
from ppl.graph import Body, Node
from ppl.tensor.arrays.reductions import argmax, argmin, cummax, cummin, cumprod, cumsum, log_softmax, softmax
from ppl.tensor.arrays.shaping import BROADCAST_TO, EXPAND_DIMS, SQUEEZE, TRANSPOSE
from ppl.tensor.core.derivatives import VALUE_AND_GRAD
from ppl.tensor.core.effects import print_value
from ppl.tensor.core.evaluate import apply_node
from ppl.tensor.core.names import NAMED
from ppl.tensor.core.ops import OPS, Elementwise, Reduction
from ppl.tensor.core.sizes import DIM
from ppl.tensor.linear_algebra.products import MATMUL
from ppl.xla.later import jax, jnp
from ppl.xla.private import is_traced


@rule(print_value)
def _shown(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    raise refused(node)


@rule(Elementwise)
def _elementwise(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Axes are lined up from the last."""
    arrays, lengths = [array_of(a) for a in arguments], {}
    rank = max(map(jnp.ndim, arrays))
    for axis in range(rank):
        places = [(i, axis - rank + jnp.ndim(a)) for i, a in enumerate(arrays) if axis - rank + jnp.ndim(a) >= 0]
        met = [(i, at, length) for i, at in places if (length := lengths_of(arguments[i]).get(at))]
        if met:
            fixed = [jnp.shape(arrays[i])[at] for i, at in places if at not in lengths_of(arguments[i])]
            lengths[axis] = padding.joined(node, [length for _, _, length in met], fixed)
            for i, at, length in met:
                if length.padded != 1:
                    arrays[i] = resized(arrays[i], at, lengths[axis].padded)
    array = apply_node(node, arrays)
    return Padded(array, lengths) if lengths else array


_BOUNDS: dict[Any, Callable[..., int]] = {
    OPS["add"]: operator.add, OPS["subtract"]: operator.sub, OPS["minimum"]: min, OPS["maximum"]: max,
}  # fmt: skip


@rule(*_BOUNDS)
def _arithmetic(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """A length and whole numbers give a length."""
    whole = [a if isinstance(a, Length) else _whole(a) for a in arguments]
    if any(a is None for a in whole):
        return _elementwise(padding, node, arguments)
    work, value = _BOUNDS[node.op], apply_node(node, [array_of(a) for a in arguments])
    grows = work is not operator.sub
    bound = work(*[(a.padded if grows or i == 0 else 0) if isinstance(a, Length) else a for i, a in enumerate(whole)])
    size = Derived(work, tuple(a.size if isinstance(a, Length) else a for a in whole))
    return Length(value, frozenset([size]), max(bound, 0))


def _whole(value: Any) -> int | None:
    """A whole number that is known while the program is compiled."""
    known = (
        not (isinstance(value, Padded) or is_traced(value))
        and np.ndim(value) == 0
        and np.asarray(value).dtype.kind in "iu"
    )
    return int(value) if known else None


_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "sum": lambda dtype: 0, "prod": lambda dtype: 1, "mean": lambda dtype: 0, "all": lambda dtype: True,
    "any": lambda dtype: False, "logsumexp": lambda dtype: -np.inf, "count_nonzero": lambda dtype: 0,
    **{name: lambda dtype: _extreme(dtype, "min", -np.inf) for name in ("max", "argmax", "cummax")},
    **{name: lambda dtype: _extreme(dtype, "max", np.inf) for name in ("min", "argmin", "cummin")},
    "cumsum": lambda dtype: 0, "cumprod": lambda dtype: 1,
}  # fmt: skip


def _extreme(dtype: Any, end: str, infinite: float) -> Any:
    if dtype.kind == "f":
        return infinite
    return end == "max" if dtype.kind == "b" else getattr(np.iinfo(dtype), end)


@rule(Reduction)
def _reduction(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Of the real entries: those of the padding do not change the result."""
    (x,), axes, keep = arguments, node.attrs["axis"], node.attrs["keepdims"]
    array = jnp.asarray(array_of(x))
    over = [axis for axis in axes if axis in lengths_of(x)]
    if over and len(axes) > 1 and node.op in (argmax, argmin):  # a position among all entries
        raise refused(node)
    if over:
        neutral = _NEUTRAL.get(node.op.name)
        if neutral is None or (node.op.name == "logsumexp" and array.dtype.kind == "c"):
            raise refused(node)
        if node.op.name in ("max", "min", "argmax", "argmin"):
            padding.needs.update(AtLeast(1, x.lengths[axis].size) for axis in over)
        array = Padded(array, lengths_of(x)).filled(over, neutral(np.dtype(array.dtype)))
    result = apply_node(node, [array])
    if over and node.op.name == "mean":
        for axis in over:
            result = result * (x.lengths[axis].padded / x.lengths[axis].value)
    left = [axis for axis in range(array.ndim) if keep or axis not in axes]
    lengths = {at: lengths_of(x)[axis] for at, axis in enumerate(left) if axis in lengths_of(x) and axis not in over}
    return Padded(result, lengths) if lengths else result


@rule(cumsum, cumprod, cummax, cummin)
def _cumulative(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Beyond the real entries nothing is added, so the last total is repeated."""
    (x,) = arguments
    array = jnp.asarray(x.array)
    filled = x.filled([node.attrs["axis"]], _NEUTRAL[node.op.name](np.dtype(array.dtype)))
    return Padded(apply_node(node, [filled]), x.lengths)


@rule(softmax, log_softmax)
def _normalized(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """By the total of the real entries."""
    (x,), axes = arguments, node.attrs["axis"]
    total = jax.scipy.special.logsumexp(x.filled(axes, -np.inf), axis=axes, keepdims=True)
    result = jnp.asarray(x.array) - total
    return Padded(jnp.exp(result) if node.op is softmax else result, x.lengths)


@rule(NAMED)
def _named(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    return arguments[0]


@rule(DIM)
def _dim(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    (x,), axis = arguments, node.attrs["axis"]
    return x.lengths.get(axis, np.int64(jnp.shape(x.array)[axis]))


@rule(TRANSPOSE)
def _transpose(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    (x,), axes = arguments, node.attrs["axes"]
    lengths = {at: x.lengths[axis] for at, axis in enumerate(axes) if axis in x.lengths}
    return Padded(jnp.transpose(x.array, axes), lengths)


@rule(EXPAND_DIMS, SQUEEZE)
def _changed_axes(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    (x,), axes = arguments, node.attrs["axis"]
    if node.op is SQUEEZE and any(axis in x.lengths for axis in axes):
        raise refused(node)
    array = apply_node(node, [x.array])
    kept = [a for a in range(jnp.ndim(x.array)) if node.op is EXPAND_DIMS or a not in axes]
    places = [a for a in range(jnp.ndim(array)) if node.op is SQUEEZE or a not in axes]
    return Padded(array, {at: x.lengths[a] for at, a in zip(places, kept, strict=True) if a in x.lengths})


@rule(BROADCAST_TO)
def _broadcast_to(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """A size that is a padded length stands for the padded one."""
    x, *sizes = arguments
    rest = iter(sizes)
    wanted = [next(rest) if n is None else n for n in node.attrs["shape"]]
    if any(map(is_traced, wanted)):
        raise refused(node)
    array, rank = array_of(x), len(wanted)
    lengths = {}
    for axis, n in enumerate(wanted):
        at = axis - rank + jnp.ndim(array)
        own = lengths_of(x).get(at)
        if own is not None and not isinstance(n, Length):
            raise refused(node)
        if isinstance(n, Length):
            fixed = [jnp.shape(array)[at]] if at >= 0 and own is None else []
            lengths[axis] = padding.joined(node, [n, *([own] if own else [])], fixed)
            padding.needs.add(AtLeast(0, n.size))
            if own is not None and own.padded != 1:
                array = resized(array, at, lengths[axis].padded)
            wanted[axis] = lengths[axis]
    shape = [n.padded if isinstance(n, Length) else int(n) for n in wanted]
    return Padded(jnp.broadcast_to(array, shape), lengths)


@rule(MATMUL)
def _matmul(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Padding of the summed axis counts as zeros on both sides."""
    a, b = (x if isinstance(x, Padded) else Padded(x) for x in arguments)
    i, j = jnp.ndim(a.array) - 1, jnp.ndim(b.array) - 2
    inner = [x.lengths[at] for x, at in ((a, i), (b, j)) if at in x.lengths]
    if len(inner) == 1:
        raise refused(node, " with an array whose length is not padded")
    if any(at < jnp.ndim(x.array) - 2 for x in (a, b) for at in x.lengths):
        raise refused(node)
    left, right = a.filled([i], 0), b.filled([j], 0)
    if inner:
        padded = padding.joined(node, inner, [], stretching=False).padded
        left, right = resized(left, i, padded), resized(right, j, padded)
    array = jnp.matmul(left, right)
    rank = jnp.ndim(array)
    lengths = {at: x.lengths[own] for at, x, own in ((rank - 2, a, i - 1), (rank - 1, b, j + 1)) if own in x.lengths}
    return Padded(array, lengths) if lengths else array


@rule(VALUE_AND_GRAD)
def _value_and_grad(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """The body by the same rules; the slopes of padded points are padded."""
    body: Body = node.attrs["body"]
    count = node.attrs["count"]

    def cost(*points: Any) -> Any:
        given = [Padded(p, lengths_of(a)) if lengths_of(a) else p for p, a in zip(points, arguments, strict=False)]
        (result,) = padding.run(body.outputs, dict(zip(body.params, [*given, *arguments[count:]], strict=True)))
        return array_of(result)

    points = [jnp.asarray(array_of(a)) for a in arguments[:count]]
    value, slopes = jax.value_and_grad(cost, argnums=tuple(range(count)))(*points)
    shaped = [
        Padded(s, lengths_of(a)).repeating() if lengths_of(a) else s for s, a in zip(slopes, arguments, strict=False)
    ]
    return (value, *shaped)
