"""Sizes rounded up to powers of two, so that arrays of many lengths run few programs.

A program for padded arrays must not see the padding. `Padded` says of a value along which axes it is longer than the
real array, and how long that is; `run` goes through a graph with one rule for each kind of operation that says what
becomes of the padding: entry by entry it stays, a sum or a product over it is taken of the real entries only, a matrix
product counts it as zero. An operation without a rule is refused where it meets padding, by an error that names it: no
program with a wrong answer is made. (A mask alone would not do: 0 times infinity is nan.) The padding repeats the last
real entry, so that it is finite where the data are, and so are the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ppl.graph import GET, Body, Node, topological
from ppl.tensor.derivatives import VALUE_AND_GRAD
from ppl.tensor.effects import print_value
from ppl.tensor.evaluate import apply_node
from ppl.tensor.indexing import GETITEM
from ppl.tensor.names import NAMED
from ppl.tensor.ops import Elementwise, Reduction
from ppl.tensor.products import MATMUL
from ppl.tensor.reductions import argmax, argmin, cummax, cummin, cumprod, cumsum, log_softmax, softmax
from ppl.tensor.shaping import BROADCAST_TO, CONCATENATE, DIM, EXPAND_DIMS, SQUEEZE, TRANSPOSE
from ppl.tensor.tensor import CONSTANT, Tensor, value_of

Source = tuple[int, int]  # an axis of an input
_EXACTLY: Source = (-1, 0)  # among the sources of lengths that meet: a length of 1 does not stretch there


@dataclass(frozen=True)
class Length:
    """The real length of a padded axis: its value, the inputs' axes that decide it, and the length with padding."""

    value: Any
    sources: frozenset[Source]
    padded: int


@dataclass
class Padded:
    """An array, and the real lengths of its axes that are padded."""

    array: Any
    lengths: dict[int, Length] = field(default_factory=dict)

    def filled(self, axes: Sequence[int], neutral: Any) -> Any:
        """The array with `neutral` in the place of padding along some axes."""
        array = jnp.asarray(self.array)
        for axis in axes:
            if axis in self.lengths:
                places = jnp.arange(array.shape[axis]).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
                array = jnp.where(places < self.lengths[axis].value, array, jnp.asarray(neutral, array.dtype))
        return array


class Padding:
    """One run of a graph on padded arrays. `together` collects the axes of inputs that must be of one length, or 1."""

    def __init__(self) -> None:
        self.together: set[frozenset[Source]] = set()

    def run(self, outputs: Sequence[Node], values: Mapping[Node, Any]) -> list[Any]:
        """The values of `outputs`, as `evaluate` gives them; those of inputs may be `Padded`."""
        results: dict[Node, Any] = dict(values)
        for node in topological(outputs, blockers=results):
            if node in results:
                continue
            if node.op is CONSTANT:
                results[node] = value_of(node)
            elif node.op is GET:
                results[node] = results[node.inputs[0]][node.attrs["position"]]
            else:
                results[node] = self.value(node, [results[parent] for parent in node.inputs])
        return [results[node] for node in outputs]

    def value(self, node: Node, arguments: list[Any]) -> Any:
        if not any(isinstance(a, Padded | Length) for a in arguments):
            return apply_node(node, arguments)
        rule = _rule_of(node)
        if rule is None:
            raise _refused(node)
        return rule(self, node, arguments)

    def joined(self, node: Node, lengths: Sequence[Length], fixed: Sequence[int]) -> Length:
        """The length of an axis on which several meet, of which some may be 1 and all others are equal."""
        if any(n != 1 for n in fixed):
            raise _refused(node, " with an array whose length is not padded")
        sources = frozenset().union(*[each.sources for each in lengths])
        if len(sources) > 1:
            self.together.add(sources)
        value = lengths[0].value
        for each in lengths[1:]:
            value = jnp.maximum(value, each.value)
        return Length(value, sources, max(each.padded for each in lengths))


Rule = Callable[[Padding, Node, list[Any]], Any]
_RULES: dict[Any, Rule] = {}


def _refused(node: Node, why: str = "") -> ValueError:
    return ValueError(
        f"buckets=True: {node.op.name} meets a padded axis{why}, in {node!r}. Its result could depend on the padding: "
        "leave buckets out, and a program is compiled for each size."
    )


def _rule_of(node: Node) -> Rule | None:
    if node.op in _RULES:
        return _RULES[node.op]
    if isinstance(node.op, Elementwise):
        return _elementwise if node.op is not print_value else None
    return _reduction if isinstance(node.op, Reduction) else None


def _rule(*ops: Any) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        for op in ops:
            _RULES[op] = rule
        return rule

    return enter


def _array(value: Any) -> Any:
    return value.array if isinstance(value, Padded) else value.value if isinstance(value, Length) else value


def _lengths(value: Any) -> dict[int, Length]:
    return value.lengths if isinstance(value, Padded) else {}


def _elementwise(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Axes are lined up from the last."""
    rank, lengths = max(jnp.ndim(_array(a)) for a in arguments), {}
    for axis in range(rank):
        places = [(a, axis - rank + jnp.ndim(_array(a))) for a in arguments]
        met = [_lengths(a)[at] for a, at in places if at in _lengths(a)]
        if met:
            fixed = [jnp.shape(_array(a))[at] for a, at in places if at >= 0 and at not in _lengths(a)]
            lengths[axis] = padding.joined(node, met, fixed)
    array = apply_node(node, [_array(a) for a in arguments])
    return Padded(array, lengths) if lengths else array


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


def _reduction(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Of the real entries: those of the padding do not change the result."""
    (x,), axes, keep = arguments, node.attrs["axis"], node.attrs["keepdims"]
    array = jnp.asarray(_array(x))
    over = [axis for axis in axes if axis in _lengths(x)]
    if over and len(axes) > 1 and node.op in (argmax, argmin):  # a position among all entries
        raise _refused(node)
    if over:
        neutral = _NEUTRAL.get(node.op.name)
        if neutral is None or (node.op.name == "logsumexp" and array.dtype.kind == "c"):
            raise _refused(node)
        array = Padded(array, _lengths(x)).filled(over, neutral(np.dtype(array.dtype)))
    result = apply_node(node, [array])
    if over and node.op.name == "mean":
        for axis in over:
            result = result * (x.lengths[axis].padded / x.lengths[axis].value)
    left = [axis for axis in range(array.ndim) if keep or axis not in axes]
    lengths = {at: _lengths(x)[axis] for at, axis in enumerate(left) if axis in _lengths(x) and axis not in over}
    return Padded(result, lengths) if lengths else result


@_rule(cumsum, cumprod, cummax, cummin)
def _cumulative(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Beyond the real entries nothing is added, so the last total is repeated."""
    (x,) = arguments
    array = jnp.asarray(x.array)
    filled = x.filled([node.attrs["axis"]], _NEUTRAL[node.op.name](np.dtype(array.dtype)))
    return Padded(apply_node(node, [filled]), x.lengths)


@_rule(softmax, log_softmax)
def _normalised(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """By the total of the real entries."""
    (x,), axes = arguments, node.attrs["axis"]
    total = jax.scipy.special.logsumexp(x.filled(axes, -np.inf), axis=axes, keepdims=True)
    result = jnp.asarray(x.array) - total
    return Padded(jnp.exp(result) if node.op is softmax else result, x.lengths)


@_rule(CONCATENATE)
def _concatenate(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Along an axis that is not padded; the padded ones are of one length."""
    along, lengths = node.attrs["axis"], {}
    if any(along in _lengths(x) for x in arguments):
        raise _refused(node)
    for axis in {axis for x in arguments for axis in _lengths(x)}:
        if any(axis not in _lengths(x) for x in arguments):
            raise _refused(node, " with an array whose length is not padded")
        lengths[axis] = padding.joined(node, [x.lengths[axis] for x in arguments], [])
        padding.together.add(lengths[axis].sources | {_EXACTLY})
    return Padded(apply_node(node, [x.array for x in arguments]), lengths)


@_rule(NAMED)
def _named(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    return arguments[0]


@_rule(DIM)
def _dim(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    (x,), axis = arguments, node.attrs["axis"]
    return x.lengths.get(axis, np.int64(jnp.shape(x.array)[axis]))


@_rule(TRANSPOSE)
def _transpose(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    (x,), axes = arguments, node.attrs["axes"]
    lengths = {at: x.lengths[axis] for at, axis in enumerate(axes) if axis in x.lengths}
    return Padded(jnp.transpose(x.array, axes), lengths)


@_rule(EXPAND_DIMS, SQUEEZE)
def _changed_axes(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    (x,), axes = arguments, node.attrs["axis"]
    if node.op is SQUEEZE and any(axis in x.lengths for axis in axes):
        raise _refused(node)
    array = apply_node(node, [x.array])
    kept = [a for a in range(jnp.ndim(x.array)) if node.op is EXPAND_DIMS or a not in axes]
    places = [a for a in range(jnp.ndim(array)) if node.op is SQUEEZE or a not in axes]
    return Padded(array, {at: x.lengths[a] for at, a in zip(places, kept, strict=True) if a in x.lengths})


@_rule(GETITEM)
def _getitem(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Padded axes are taken whole, or rows of an array that is not padded are taken by a padded array of positions."""
    (x, *rest), plan = arguments, node.attrs["plan"]
    kinds = [part[0] for part in plan]
    lengths: dict[int, Length] = {}
    if (
        len(rest) == 1
        and isinstance(rest[0], Padded)
        and not _lengths(x)
        and sorted({*kinds} - {"new", "slice"}) == ["array"]
    ):
        place = kinds.index("array")
        lengths = {place + at: length for at, length in rest[0].lengths.items()}
        return Padded(apply_node(node, [_array(x), rest[0].array]), lengths)
    if "array" in kinds or any(isinstance(r, Padded | Length) for r in rest):
        raise _refused(node)
    axis = at = 0
    for part in plan:
        if part[0] == "new":
            at += 1
            continue
        if axis in x.lengths:
            if part != ("slice", None, None, None):
                raise _refused(node)
            lengths[at] = x.lengths[axis]
        axis, at = axis + 1, at + (part[0] == "slice")
    return Padded(apply_node(node, [x.array, *rest]), lengths)


@_rule(BROADCAST_TO)
def _broadcast_to(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """A size that is a padded length stands for the padded one."""
    x, *sizes = arguments
    rest = iter(sizes)
    wanted = [next(rest) if n is None else n for n in node.attrs["shape"]]
    if any(isinstance(n, jax.core.Tracer) for n in wanted):
        raise _refused(node)
    array, rank = _array(x), len(wanted)
    lengths = {}
    for axis, n in enumerate(wanted):
        at = axis - rank + jnp.ndim(array)
        own = _lengths(x).get(at)
        if own is not None and not isinstance(n, Length):
            raise _refused(node)
        if isinstance(n, Length):
            fixed = [jnp.shape(array)[at]] if at >= 0 and own is None else []
            lengths[axis] = padding.joined(node, [n, *([own] if own else [])], fixed)
    shape = [n.padded if isinstance(n, Length) else int(n) for n in wanted]
    return Padded(jnp.broadcast_to(array, shape), lengths)


@_rule(MATMUL)
def _matmul(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """Padding of the summed axis counts as zeros on both sides."""
    a, b = (x if isinstance(x, Padded) else Padded(x) for x in arguments)
    i, j = jnp.ndim(a.array) - 1, jnp.ndim(b.array) - 2
    inner = [x.lengths[at] for x, at in ((a, i), (b, j)) if at in x.lengths]
    if len(inner) == 1:
        raise _refused(node, " with an array whose length is not padded")
    if inner:
        joined = padding.joined(node, inner, [])
        padding.together.add(joined.sources | {_EXACTLY})
    if any(at < jnp.ndim(x.array) - 2 for x in (a, b) for at in x.lengths):
        raise _refused(node)
    array = jnp.matmul(a.filled([i], 0), b.filled([j], 0))
    rank = jnp.ndim(array)
    lengths = {at: x.lengths[own] for at, x, own in ((rank - 2, a, i - 1), (rank - 1, b, j + 1)) if own in x.lengths}
    return Padded(array, lengths) if lengths else array


@_rule(VALUE_AND_GRAD)
def _value_and_grad(padding: Padding, node: Node, arguments: list[Any]) -> Any:
    """The body by the same rules; the slopes of padded points are padded."""
    body: Body = node.attrs["body"]
    count = node.attrs["count"]

    def cost(*points: Any) -> Any:
        given = [Padded(p, _lengths(a)) if _lengths(a) else p for p, a in zip(points, arguments, strict=False)]
        (result,) = padding.run(body.outputs, dict(zip(body.params, [*given, *arguments[count:]], strict=True)))
        return _array(result)

    points = [jnp.asarray(_array(a)) for a in arguments[:count]]
    value, slopes = jax.value_and_grad(cost, argnums=tuple(range(count)))(*points)
    shaped = [Padded(s, _lengths(a)) if _lengths(a) else s for s, a in zip(slopes, arguments, strict=False)]
    return (value, *shaped)


# --- from arrays to padded arrays and back
class BucketedProgram:
    """A graph compiled for padded arrays: one program for each combination of sizes rounded up to powers of two."""

    def __init__(self, inputs: Sequence[Tensor], variables: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.inputs, self.variables, self.outputs = list(inputs), list(variables), list(outputs)
        self.open_axes = [[at for at, n in enumerate(x.type.shape) if n is None] for x in inputs]
        self.compilations = 0  # combinations of rounded sizes that have been compiled
        self._together: set[frozenset[Source]] = set()
        self._compiled = jax.jit(self._padded_run)

    def _padded_run(self, arrays: list[Any], lengths: list[list[Any]], held: Sequence[Any]) -> Any:
        self.compilations += 1  # JAX comes here once for each combination
        padding = Padding()
        values: dict[Node, Any] = dict(zip(self.variables, held, strict=True))
        for position, (x, array, own) in enumerate(zip(self.inputs, arrays, lengths, strict=True)):
            axes = zip(self.open_axes[position], own, strict=True)
            known = {at: Length(n, frozenset([(position, at)]), array.shape[at]) for at, n in axes}
            values[x] = Padded(array, known) if known else array
        results = padding.run(self.outputs, values)
        self._together |= padding.together
        return [(_array(r), {at: n.value for at, n in _lengths(r).items()}) for r in results]

    def run(self, *values: Any) -> Any:
        """The outputs without padding: all in a list, or the one there is."""
        given, held = values[: len(self.inputs)], values[len(self.inputs) :]
        arrays = [padded(np.asarray(v), axes) for v, axes in zip(given, self.open_axes, strict=True)]
        lengths = [[np.shape(v)[at] for at in axes] for v, axes in zip(given, self.open_axes, strict=True)]
        found = self._compiled(arrays, lengths, held)
        checked(self._together, [np.shape(v) for v in given])
        results = [_real(np.asarray(array), ends) for array, ends in found]
        return results[0] if len(results) == 1 else results


def _real(array: np.ndarray, ends: Mapping[int, Any]) -> np.ndarray:
    return array[tuple(slice(int(ends[at])) if at in ends else slice(None) for at in range(array.ndim))]


def bucket(n: int) -> int:
    """The next power of two; an empty axis stays as it is, for there is nothing to repeat."""
    return 1 << (n - 1).bit_length() if n else 0


def padded(array: Any, axes: Sequence[int]) -> Any:
    """The array with its last entries repeated along some axes, up to the next power of two."""
    widths = [(0, bucket(n) - n if axis in axes else 0) for axis, n in enumerate(array.shape)]
    return np.pad(array, widths, mode="edge") if any(after for _, after in widths) else np.asarray(array)


def checked(together: set[frozenset[Source]], shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise where axes that meet differ in their real length, though with padding they may be alike."""
    for sources in together:
        own = [source for source in sources if source[0] >= 0]
        found = {shapes[position][axis] for position, axis in own}
        if len(found - (set() if len(own) < len(sources) else {1})) > 1:
            where = ", ".join(f"input {position} has {shapes[position][axis]}" for position, axis in sorted(own))
            raise ValueError(f"buckets=True: lengths that meet differ: {where}")
