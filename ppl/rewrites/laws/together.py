"""Laws of two operands that are arrays or share a draw: sums of vectors and matrices, steps of a walk, a choice that is
written as a weighted sum."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Bernoulli, RandomWalk
from ppl.distributions.declaration.sums import NotAlike
from ppl.distributions.draws.draw import RandomVariable, draw
from ppl.graph import Node, ancestors
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of


def sum_of_two(node: Any, counts: dict[Node, int]) -> Tensor | None:
    """The law of a sum or difference of two array draws of one family."""
    a, b = node.inputs
    if a is b or not all(_private(x, counts, 1) for x in (a, b)) or a.family is not b.family:
        return None
    related = a in ancestors(b) or b in ancestors(a)
    together = a.family.plus if node.op.name == "add" else a.family.minus
    if not together or related or a.type.shape != b.type.shape:
        return None
    try:
        return draw(a.family, tuple(map(as_tensor, together(a.parameters, b.parameters))), a.attrs["size"])
    except NotAlike:
        return None


def steps_of_walk(node: Any, counts: dict[Node, int]) -> Tensor | None:
    """The differences of neighbors in a random walk are its steps."""
    after, before = node.inputs
    walk = after.inputs[0] if after.op.name == "getitem" else after
    if before.op.name != "getitem" or before.inputs != after.inputs or not _private(walk, counts, 2):
        return None
    if not issubclass(walk.family, RandomWalk) or walk.ndim != 1:
        return None
    n = walk.type.shape[0]
    if any(counts.get(x) != 1 for x in (after, before)) or not (_is(after, 1, n) and _is(before, 0, n - 1)):
        return None
    step = walk.parameters[1]
    return draw(step.family, step.parameters, (n - 1,))


def _is(part: Any, start: int, stop: int) -> bool:
    """Whether a part of a vector is that slice."""
    (plan,) = part.attrs["plan"]
    n = part.inputs[0].type.shape[0]
    return plan[0] == "slice" and range(*slice(*plan[1:]).indices(n)) == range(start, stop)


def choice_as_sum(node: Any, counts: dict[Node, int]) -> Tensor | None:
    """z x + (1 - z) y = switch(z, x, y) for a label z that is 0 or 1."""
    if any(x.op.name != "multiply" or counts.get(x) != 1 for x in node.inputs):
        return None
    for z, x in _factors(node.inputs[0]):
        for w, y in _factors(node.inputs[1]):
            label = _label(z, counts)
            if label is not None and _rest_of(w, counts) is label:
                return tt.switch(label, x, y)
            label = _label(w, counts)
            if label is not None and _rest_of(z, counts) is label:
                return tt.switch(label, y, x)
    return None


def _factors(product: Any) -> list[tuple[Any, Any]]:
    a, b = product.inputs
    return [(a, b), (b, a)]


def _label(z: Any, counts: dict[Node, int]) -> Any:
    """The draw of a Bernoulli label that serves twice, here as it is."""
    inner = z.inputs[0] if z.op.name == "cast" else z
    return (
        inner
        if isinstance(inner, RandomVariable) and _private(inner, counts, 2) and inner.family is Bernoulli
        else None
    )


def _rest_of(w: Any, counts: dict[Node, int]) -> Any:
    """The label z of 1 - z."""
    inner = w.inputs[0] if w.op.name == "cast" else w
    if inner.op.name != "subtract" or not is_constant(inner.inputs[0]) or np.any(value_of(inner.inputs[0]) != 1):
        return None
    return _label(inner.inputs[1], counts)


def _private(x: Any, counts: dict[Node, int], uses: int) -> bool:
    """Whether something is a draw without a name, of known shape, that serves a number of times."""
    known = isinstance(x, RandomVariable) and x.name is None and None not in x.type.shape
    return known and counts.get(x) == uses
