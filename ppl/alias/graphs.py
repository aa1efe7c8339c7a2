"""PyTensor's walks over graphs, by its names and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ppl.compile import get_mode
from ppl.graph import Node, between, leaves, topological
from ppl.graph import depends_on as reaches
from ppl.tensor.tensor import is_constant


def ancestors(graphs: Iterable[Any], blockers: Iterable[Any] | None = None) -> Iterator[Node]:
    """The nodes that others are computed from, these included, up to the blockers."""
    return iter(topological(list(graphs), blockers=set(blockers or ())))


def graph_inputs(graphs: Iterable[Any], blockers: Iterable[Any] | None = None) -> Iterator[Node]:
    """The leaves that nodes are computed from."""
    return (node for node in ancestors(graphs, blockers) if not node.inputs)


def explicit_graph_inputs(graph: Any) -> Iterator[Node]:
    """The inputs that a caller has to give: neither constants nor shared variables."""
    found = leaves(list(graph) if isinstance(graph, list | tuple) else [graph])
    return (node for node in found if not is_constant(node) and node.op.name == "input")


def walk(
    nodes: Iterable[Any], expand: Callable[[Any], Sequence[Any] | None], bfs: bool = True, **_: Any
) -> Iterator[Any]:
    """Nodes and what `expand` finds from them, each once."""
    waiting, seen = list(nodes), set()
    while waiting:
        node = waiting.pop(0 if bfs else -1)
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(expand(node) or ())


def io_toposort(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Node]:
    """The operations between inputs and outputs, each after those that it uses."""
    stops = set(inputs)
    return [node for node in topological(list(outputs), blockers=stops) if node.inputs and node not in stops]


def variable_depends_on(variable: Any, depends_on: Any) -> bool:
    """Whether a node is computed from one of others."""
    others = list(depends_on) if isinstance(depends_on, list | tuple | set) else [depends_on]
    return any(reaches(variable, other) for other in others)


def vars_between(ins: Sequence[Any], outs: Sequence[Any]) -> Iterator[Node]:
    """The nodes between inputs and outputs, both included."""
    return iter(between(list(ins), list(outs)))


def constant_fold(xs: Sequence[Any], raise_not_constant: bool = True) -> tuple[Any, ...]:
    """The values of expressions of constants; an expression of others stays as it is, or is an error."""
    found = []
    for x in xs:
        known = isinstance(x, Node) and all(is_constant(leaf) for leaf in leaves(x))
        if isinstance(x, Node) and not known and raise_not_constant:
            raise NotConstantValueError(f"{x!r} has no value of its own: it depends on what is not constant")
        found.append(x.eval() if known else x)  # type: ignore[attr-defined]
    return tuple(found)


class NotConstantValueError(ValueError):
    """An expression that is no constant, where a constant was asked for."""


def resolve_shapes(xs: Sequence[Any]) -> tuple[Any, ...]:
    """Expressions of shapes, with what is known worked out."""
    return constant_fold(xs, raise_not_constant=False)


FAST_COMPILE, FAST_RUN = get_mode("FAST_COMPILE"), get_mode("FAST_RUN")
