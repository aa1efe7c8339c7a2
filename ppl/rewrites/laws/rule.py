"""Laws: equations between random expressions, `N(m₁, s₁) + N(m₂, s₂) = N(m₁ + m₂, √(s₁² + s₂²))`.

A law replaces draws, so it is no equality of values. The engine, never the law, makes sure of what every law needs:
each draw on the left is a different node without a name, used nowhere else, not computed from another draw of the
match, and of the full shape of the expression, so that no draw is counted twice by broadcasting; an operand that is no
draw is not random itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable, is_draw
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import draw
from ppl.graph import Node, ancestors, rebuilt, substitute, topological, uses
from ppl.graph.parameters import parameter_names
from ppl.rewrites.laws.axis_sums import axis_mean, axis_sum
from ppl.rewrites.laws.entries import entry
from ppl.rewrites.laws.images import image
from ppl.rewrites.laws.together import choice_as_sum, steps_of_walk, sum_of_two
from ppl.rewrites.laws.winners import shares, winner
from ppl.rewrites.values.sizes import Size, sizes
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.core.sizes import DIM
from ppl.tensor.tensor import Tensor, TensorType, is_constant, placeholder, value_of

Binding = dict[Node, Node]
BOOKS: list[Law] = []


class Law:
    """Two random expressions of the same law, over holes; `when` is a condition on what the holes stand for."""

    def __init__(self, state: Callable[..., tuple[Any, Any]], when: Callable[..., bool] | None, examples: Any) -> None:
        if not state.__doc__:
            raise ValueError(f"law {state.__name__!r} has no docstring: say the theorem in one sentence")
        self.name, self.doc, self.when, self.examples = state.__name__, " ".join(state.__doc__.split()), when, examples
        self.state = state
        self.names = parameter_names(state)
        self.holes = [placeholder(TensorType("float64"), name) for name in self.names]
        self.left, self.right = state(*self.holes)
        self.draws = [n for n in ancestors(self.left) if is_draw(n)]
        outside = ancestors(self.left, blockers=self.draws)
        self.loose = [h for h in self.holes if h in outside]  # holes that are operands, not parameters of a draw
        free = {n for n in ancestors(self.right) if any(n is h for h in self.holes)} - ancestors(self.left)
        if free:
            names = ", ".join(str(n.attrs["name"]) for n in free)
            raise ValueError(f"law {self.name!r}: {names} stand on the right side alone")
        if not self.draws:
            raise ValueError(f"law {self.name!r}: the left side has no draw; `equal` is for equations of values")

    def __repr__(self) -> str:
        return f"<law {self.name}>"


def equal_in_law(state: Any = None, *, when: Callable[..., bool] | None = None, examples: Any = None) -> Any:
    """State a law. `examples` are values of the holes at which it is tested, where the usual ones do not fit."""

    def enter(f: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        BOOKS.append(Law(f, when, examples))
        return f

    return enter(state) if state is not None else enter


# --- matching -----------------------------------------------------------------------------------------------------
def matches(pattern: Node, node: Node, bound: Binding, law: Law) -> Iterator[Binding]:
    """Every way in which a pattern is a node, given what its holes and draws stand for already."""
    if pattern in bound:
        if bound[pattern] is node or _equal_constants(bound[pattern], node):
            yield bound
        return
    if any(pattern is hole for hole in law.holes):
        yield {**bound, pattern: node}
        return
    if is_constant(pattern):
        if is_constant(node) and value_of(node).size and np.all(value_of(node) == value_of(pattern)):
            yield bound
        return
    if is_draw(pattern):
        same = isinstance(node, RandomVariable) and node.family is pattern.attrs["family"] and node.name is None
        if not same or any(node is other for other in bound.values()):
            return
        pairs = zip(pattern.parameters, node.parameters, strict=True)  # type: ignore[attr-defined]
        yield from _all(list(pairs), {**bound, pattern: node}, law)
        return
    if pattern.op is not node.op or pattern.attrs != node.attrs or len(pattern.inputs) != len(node.inputs):
        return
    orders: Sequence[Any] = [node.inputs]
    if isinstance(pattern.op, Elementwise) and pattern.op.facts.commutative:
        orders = list(permutations(node.inputs))
    for order in orders:
        yield from _all(list(zip(pattern.inputs, order, strict=True)), bound, law)


def _all(pairs: list[tuple[Node, Node]], bound: Binding, law: Law) -> Iterator[Binding]:
    if not pairs:
        yield bound
        return
    (pattern, node), *rest = pairs
    for found in matches(pattern, node, bound, law):
        yield from _all(rest, found, law)


def _equal_constants(a: Node, b: Node) -> bool:
    return is_constant(a) and is_constant(b) and bool(np.array_equal(value_of(a), value_of(b)))


# --- side conditions ----------------------------------------------------------------------------------------------
def allowed(law: Law, node: Tensor, bound: Binding, counts: dict[Node, int]) -> bool:
    """Whether the draws of a match may be consumed."""
    draws = [bound[d] for d in law.draws]
    consumed = [d for d in law.draws if d is not law.left]  # what a draw is replaced by serves all who use it
    if any(counts.get(bound[d], 0) != _uses_inside(law, d) for d in consumed):
        return False
    if any(
        bound[d] in ancestors(bound[other].inputs) and d not in ancestors(other.inputs)
        for d in law.draws
        for other in law.draws
    ):
        return False
    if any(d.type.shape != node.type.shape for d in draws):
        return False
    if any(not set(draws).isdisjoint(ancestors(bound[h])) for h in law.holes if h in bound):
        return False
    if any(is_draw(n) and n.attrs.get("name") is None for h in law.loose for n in ancestors(bound[h])):
        return False
    return law.when is None or bool(law.when(*[bound.get(h) for h in law.holes]))


def _uses_inside(law: Law, draw: Node) -> int:
    return len(uses(law.left)[draw])


class Named(NamedTuple):
    """What an engine step is called."""

    name: str


Step = tuple[Law | Named, Node, Node]
ARRAYS = {  # laws of whole arrays, by the operation; and how often the operand is used inside
    "sum": (Named("sum_along_axes"), axis_sum, 1),
    "prod": (Named("product_along_axes"), axis_sum, 1),
    "mean": (Named("mean_along_axes"), axis_mean, 1),
    "getitem": (Named("one_entry_of_a_vector"), entry, 1),
    "argmin": (Named("least_of_several"), winner, 1),
    "argmax": (Named("largest_of_several"), winner, 1),
    "true_divide": (Named("shares_of_a_sum"), shares, 2),
}
TOGETHER = {  # laws of two operands that look at their uses themselves
    "add": ((Named("sum_of_vectors"), sum_of_two), (Named("choice_as_a_sum"), choice_as_sum)),
    "subtract": ((Named("difference_of_vectors"), sum_of_two), (Named("steps_of_a_walk"), steps_of_walk)),
}
IMAGE = Named("map_of_a_vector")


def in_law(expression: Tensor, keep: Sequence[Node] = ()) -> tuple[Tensor, list[Step]]:
    """The expression with every law applied until none fits, and the steps. Draws in `keep` are not consumed."""
    steps: list[Step] = []
    while True:
        found = _first(expression, keep)
        if found is None:
            return expression, steps
        _, node, new = found
        steps.append(found)
        expression = substitute(expression, {node: new})  # type: ignore[assignment]


def _first(expression: Tensor, keep: Sequence[Node]) -> Step | None:
    counts = {node: len(users) for node, users in uses(expression).items()}
    for node in keep:
        counts[node] = counts.get(node, 0) + 1
    nodes = topological(expression)
    for node in nodes:
        if node.op.name in ARRAYS:
            name, of, uses_inside = ARRAYS[node.op.name]
            found = of(node) if counts.get(node.inputs[0]) == uses_inside else None
            if found is not None:
                return name, node, _of_shape(found, tt.as_tensor(node))
        for name, together in TOGETHER.get(node.op.name, ()):
            found = together(node, counts)
            if found is not None:
                return name, node, found
    left_alone = {*keep, *(law for node in nodes for law in laws_of(node))}  # a law may stand for many draws
    for several in (True, False):  # a law of two draws says more than one of one
        for node in nodes:
            if node in left_alone:
                continue
            found_law = _by_book(node, counts, several) if isinstance(node, Tensor) else None
            if found_law is not None:
                return found_law
    mapped = image(expression, keep)
    return None if mapped is None else (IMAGE, *mapped)


def _by_book(node: Tensor, counts: dict[Node, int], several: bool) -> Step | None:
    """A law of a node, of several draws or of one."""
    for law in BOOKS:
        if node.op is not law.left.op or (len(law.draws) > 1) is not several:
            continue
        for bound in matches(law.left, node, {}, law):
            if allowed(law, node, bound, counts):
                return law, node, _replacement(law, node, bound)
    return None


def _replacement(law: Law, node: Tensor, bound: Binding) -> Node:
    """The right side at what the holes stand for, of the shape of what it replaces."""
    values = [bound[h] for h in law.holes]
    return _of_shape(tt.as_tensor(law.state(*values)[1]), node)


def _of_shape(right: Tensor, node: Tensor) -> Tensor:
    """A random expression as independent draws of the shape of a node."""
    if right.type.shape == node.type.shape:
        return right
    if is_draw(right):
        return draw(right.attrs["family"], right.parameters, _lengths(node))
    return _spread(right, node)


def _spread(right: Tensor, node: Tensor) -> Tensor:
    """A deterministic map of one draw, with the draw of the full shape."""
    done: dict[Node, Node] = {}
    for n in topological(right):
        new = rebuilt(n, tuple(done[i] for i in n.inputs))
        if is_draw(new):
            new = draw(new.attrs["family"], new.parameters, _lengths(node))  # type: ignore[attr-defined]
        done[n] = new
    return tt.as_tensor(done[right])


def _lengths(node: Tensor) -> tuple[Any, ...]:
    """The lengths of the axes of an expression, by the sizes that its draws were asked for: they do not go with it."""
    return tuple(_length(size, dim) for size, dim in zip(sizes(node, {}), node.shape, strict=True))


def _length(size: Size, dim: Any) -> Any:
    if isinstance(size, int) or len(size) != 1:
        return dim
    source, axis = next(iter(size))
    asked = source.attrs["size"] if isinstance(source, RandomVariable) else None
    if asked is None or asked[axis] is not None:
        return DIM(source, axis=axis)
    return source.inputs[len(source.parameters) + asked[:axis].count(None)]  # type: ignore[attr-defined]
