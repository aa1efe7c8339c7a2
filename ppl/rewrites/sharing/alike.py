"""Alike terms of a sum, computed together: f(a₁) + f(a₂) + … + f(aₙ) = Σ f([a₁, …, aₙ]).

A density written with a Python loop is a sum of hundreds of scalar terms that differ in their numbers and leaves. XLA
compiles each as a kernel of its own, some ten milliseconds each; as one vector they are one kernel. No rule of a book
does this, for a vector of unlike things says less to the rules than the things: it happens on the way down, in what is
compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ppl.graph import Attrs, Node, bodies, topological
from ppl.rewrites.arithmetic.normal import Weighted
from ppl.rewrites.limits import LIMITS
from ppl.tensor.arrays import reductions as red
from ppl.tensor.arrays.shaping import CONCATENATE, EXPAND_DIMS
from ppl.tensor.core.elementwise import multiply
from ppl.tensor.core.ops import Elementwise
from ppl.tensor.tensor import CONSTANT, TensorType, constant, value_of

_DEEPEST = 60  # levels of operations that terms are compared in; what lies below is a leaf


class Alike:
    """The terms of sums in lower terms, in groups that differ only in constants and leaves."""

    def __init__(self) -> None:
        self._kinds: dict[Node, int] = {}  # of scalars: nodes of one kind are the same operations on such leaves
        self._numbers: dict[Hashable, int] = {}
        self._depths: list[int] = []  # of each kind; 0 are leaves

    def together(self, operands: Weighted, apart: Callable[[Node], bool]) -> Weighted:
        """The terms, with many of one kind replaced by one; those that `apart` tells from the others stay so."""
        if len(operands) < LIMITS.fewest_alike or any(x.type.shape or x.type.dtype[0] != "f" for x, _ in operands):
            return operands
        groups: dict[tuple[int, bool], Weighted] = {}
        self.look_at([x for x, _ in operands])
        for x, weight in operands:
            groups.setdefault((self._kinds[x], apart(x)), []).append((x, weight))
        result: Weighted = []
        for (kind, _), group in groups.items():
            enough = len(group) >= LIMITS.fewest_of_one or (
                len(group) >= LIMITS.fewest_alike and self._of_several(group)
            )
            worth_it = enough and self._depths[kind] > 0
            result += [self._total(group)] if worth_it else group
        return result

    def _of_several(self, group: Weighted) -> bool:
        """Whether the terms depend on more than one variable; the first two tell."""
        leaves: set[Node] = set()
        stack = [x for x, _ in group[:2]]
        while stack and len(leaves) < 2:
            node = stack.pop()
            if self._depths[self._kinds[node]]:
                stack.extend(node.inputs)
            elif node.op is not CONSTANT:
                leaves.add(node)
        return len(leaves) > 1

    def _total(self, group: Weighted) -> tuple[Node, float]:
        column = self.column([x for x, _ in group])
        weights = [weight for _, weight in group]
        if len(set(weights)) > 1:
            column = Node(multiply, (constant(np.array(weights, column.type.dtype)), column))
        total = Node(red.sum, (column,), Attrs(axis=(0,), keepdims=False))
        return total, weights[0] if len(set(weights)) == 1 else 1

    def look_at(self, nodes: Sequence[Node]) -> None:
        """Number the kinds of nodes: scalars share one if they are the same operations on leaves of the same dtypes."""
        for each in topological(nodes, blockers=self._kinds):
            if each not in self._kinds:
                self._kinds[each] = self._kind(each)

    def _kind(self, node: Node) -> int:
        if node.op is CONSTANT or not _is_function(node):
            return self._number((node.op is CONSTANT, str(node.type)), 0)
        inputs = tuple([self._kinds[x] for x in node.inputs])
        depth = 1 + max(self._depths[kind] for kind in inputs)
        if depth > _DEEPEST:
            return self._number((False, str(node.type)), 0)
        return self._number((node.op, node.attrs, inputs), depth)

    def _number(self, key: Hashable, depth: int) -> int:
        number = self._numbers.setdefault(key, len(self._depths))
        if number == len(self._depths):
            self._depths.append(depth)
        return number

    def column(self, nodes: Sequence[Node]) -> Node:
        """The vector of scalars of one kind; a scalar where they are all the same."""
        return self._column(tuple(nodes), {})

    def _column(self, nodes: tuple[Node, ...], known: dict[tuple[Node, ...], Node]) -> Node:
        if all(x is nodes[0] for x in nodes):
            return nodes[0]
        if nodes not in known:
            known[nodes] = self._new_column(nodes, known)
        return known[nodes]

    def _new_column(self, nodes: tuple[Node, ...], known: dict[tuple[Node, ...], Node]) -> Node:
        first = nodes[0]
        if self._depths[self._kinds[first]]:
            inputs = zip(*[x.inputs for x in nodes], strict=True)
            return Node(first.op, tuple([self._column(each, known) for each in inputs]), first.attrs)
        if first.op is CONSTANT:
            return constant(np.array([value_of(x) for x in nodes]))
        entries = tuple([Node(EXPAND_DIMS, (x,), Attrs(axis=(0,))) for x in nodes])
        return Node(CONCATENATE, entries, Attrs(axis=0))


def _is_function(node: Node) -> bool:
    """Whether a node is an elementwise function of scalars."""
    return (
        isinstance(node.op, Elementwise)
        and not bodies(node)
        and all(isinstance(x.type, TensorType) and x.type.shape == () for x in node.inputs)
    )
