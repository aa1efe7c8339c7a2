"""Running a graph on padded arrays, so that arrays of many lengths run few programs.

A program for padded arrays must not see the padding. `Padded` says of a value along which axes it is longer than the
real array, and how long that is; `run` goes through a graph with one rule for each kind of operation that says what
becomes of the padding: entry by entry it stays, a sum or a product over it is taken of the real entries only, a matrix
product counts it as zero, a slice is taken at the places of the real entries, a loop stops at the last of them. An
operation without a rule is refused where it meets padding, by an error that names it: no program with a wrong answer is
made. (A mask alone would not do: 0 times infinity is nan.) The padding repeats the last real entry, so that it is
finite where the data are, and so are the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ppl.graph import GET, Node, topological
from ppl.graph.records import record
from ppl.tensor.core.evaluate import apply_node
from ppl.tensor.core.sizes import UnknownSizeError
from ppl.tensor.tensor import CONSTANT, value_of
from ppl.xla.later import jnp

Shapes = Sequence[tuple[int, ...]]


class Axis(NamedTuple):
    """The length of an axis of an input."""

    input: int
    axis: int

    def real(self, shapes: Shapes) -> int:
        return shapes[self.input][self.axis]


class Derived(NamedTuple):
    """A length that follows from others, as that of x[1:] from that of x."""

    work: Callable[..., Any]
    parts: tuple[Any, ...]

    def real(self, shapes: Shapes) -> int:
        return int(self.work(*[part.real(shapes) if isinstance(part, Axis | Derived) else part for part in self.parts]))


Size = Axis | Derived


class Meeting(NamedTuple):
    """Sizes that must be equal; where `stretching`, some of them may also be 1."""

    sizes: frozenset[Size]
    stretching: bool


class AtLeast(NamedTuple):
    """How long an axis has to be for what is asked of it."""

    count: int
    size: Size


@record
class Length:
    """The real length of a padded axis: its value, what it follows from (all of one length), and that with padding."""

    value: Any
    sizes: frozenset[Size]
    padded: int

    @property
    def size(self) -> Size:
        (first, *others) = self.sizes
        return Derived(_stretched, tuple(self.sizes)) if others else first


def _stretched(*lengths: int) -> int:
    """The common length of axes of which some may be 1."""
    return next((n for n in lengths if n != 1), 1)


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

    def taken(self, axis: int, places: Any, length: Length | None) -> Padded:
        """The entries at some places of an axis, of which the first `length` are real; without one, all are."""
        lengths = {at: n for at, n in self.lengths.items() if at != axis} | ({axis: length} if length else {})
        return Padded(jnp.take(jnp.asarray(self.array), places, axis=axis, mode="clip"), lengths)

    def repeating(self) -> Padded:
        """The same with the last real entry in the place of padding."""
        result = self
        for axis, length in self.lengths.items():
            result = result.taken(axis, real_places(length), length)
        return result


def real_places(length: Length) -> Any:
    """0, 1, ..., and the last real place again and again."""
    return jnp.minimum(jnp.arange(length.padded), length.value - 1)


def resized(array: Any, axis: int, padded: int) -> Any:
    """The array with more padding along an axis, or less."""
    if jnp.shape(array)[axis] == padded:
        return array
    return jnp.take(jnp.asarray(array), jnp.arange(padded), axis=axis, mode="clip")


class Padding:
    """One run of a graph on padded arrays. `needs` collects what must hold of the inputs' real lengths."""

    def __init__(self) -> None:
        self.needs: set[Meeting | AtLeast] = set()

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
            try:
                return apply_node(node, arguments)
            except UnknownSizeError as error:
                raise refused(node, " by a size that is computed of its length") from error
        rule = _rule_of(node)
        if rule is None:
            raise refused(node)
        return rule(self, node, arguments)

    def joined(self, node: Node, lengths: Sequence[Length], fixed: Sequence[int], stretching: bool = True) -> Length:
        """The length of an axis on which several meet, of which some may be 1 and all others are equal."""
        if any(n != 1 for n in fixed):
            raise refused(node, " with an array whose length is not padded")
        sizes = frozenset().union(*[each.sizes for each in lengths])
        if len(sizes) > 1:
            self.needs.add(Meeting(sizes, stretching))
        value, padded = lengths[0].value, [each.padded for each in lengths]
        for each in lengths[1:]:
            value = jnp.where(value == 1, each.value, value)
        return Length(value, sizes, max(padded) if all(padded) else 0)


Rule = Callable[[Padding, Node, list[Any]], Any]
RULES: dict[Any, Rule] = {}  # by operation, or by the class of operations


def rule(*ops: Any) -> Callable[[Rule], Rule]:
    """Enter a rule for operations, or for whole classes of them."""

    def enter(f: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, f))
        return f

    return enter


def _rule_of(node: Node) -> Rule | None:
    kinds = [node.op, *type(node.op).__mro__]
    return next((RULES[kind] for kind in kinds if kind in RULES), None)


def refused(node: Node, why: str = "") -> ValueError:
    return ValueError(
        f"buckets=True: {node.op.name} meets a padded axis{why}, in {node!r}. Its result could depend on the padding: "
        "leave buckets out, and a program is compiled for each size."
    )


def array_of(value: Any) -> Any:
    return value.array if isinstance(value, Padded) else value.value if isinstance(value, Length) else value


def lengths_of(value: Any) -> dict[int, Length]:
    return value.lengths if isinstance(value, Padded) else {}
