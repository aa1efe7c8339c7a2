"""Programs: closed graphs compiled once, however many functions are made of them.

A program's graph has no leaves but its numbered parameters and small constants. Nodes are hash-consed, so two graphs of
the same content become the same closed graph, and the table of programs is looked up by content. Large constants are
parameters too: other data of the same shapes run the program that is there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ppl.graph import BOUND, Attrs, Body, Node, bodies, close, rebuilt, topological
from ppl.tensor.evaluate import evaluate
from ppl.tensor.names import NAMED
from ppl.tensor.tensor import CONSTANT, value_of

LARGE = 10_000  # bytes above which a constant is an argument
_KEPT = 256  # programs; the least recently used is dropped


class Program:
    """A closed graph and its compiled forms, one for each combination of sizes that was met.

    Its last parameters are the large constants; `lifted` are their places inside bodies.
    """

    def __init__(self, body: Body, lifted: tuple[Node, ...]) -> None:
        self.body, self.lifted = body, lifted
        self.compilations = 0  # combinations of sizes that have been compiled
        self.run: Callable[..., Any] = jax.jit(self._evaluate)

    def _evaluate(self, *values: Any) -> Any:
        """All outputs in a list; the one there is, bare, since a list costs a call a tenth of its time."""
        self.compilations += 1  # JAX comes here once for each combination
        given = dict(zip(self.body.params, values, strict=True))
        first = len(values) - len(self.lifted)
        results = evaluate(self.body.outputs, given, ambient=dict(zip(self.lifted, values[first:], strict=True)))
        return results[0] if len(results) == 1 else results


@functools.lru_cache(maxsize=_KEPT)
def _kept(body: Body, lifted: tuple[Node, ...]) -> Program:
    return Program(body, lifted)


def program(inputs: Sequence[Node], outputs: Sequence[Node]) -> tuple[Program, list[Any]]:
    """The program from `inputs` to `outputs`, and the values of its further arguments: the large constants."""
    wanted, constants = lift_constants(outputs)
    body, captured = close([*inputs, *constants], wanted)
    assert not captured, f"{captured} are no inputs"
    return _kept(body, tuple(constants)), list(constants.values())


def lift_constants(outputs: Sequence[Node]) -> tuple[list[Node], dict[Node, Any]]:
    """The graph with numbered places in place of large constants, inside bodies too; and what belongs there.

    Names go as well, since they do not matter to the numbers: graphs that differ only in names share a program.
    """
    places: dict[Node, Node] = {}
    values: dict[Node, Any] = {}

    def lift(node: Node) -> Node:
        if node.op is NAMED:
            return node.inputs[0]
        if node.op is not CONSTANT or value_of(node).nbytes <= LARGE:
            return node
        if node not in places:
            place = Node(BOUND, (), Attrs(level=-1, position=len(places), type=node.type))
            places[node], values[place] = place, value_of(node)
        return places[node]

    return _rebuild_deep(outputs, lift), values


def _rebuild_deep(outputs: Sequence[Node], change: Callable[[Node], Node]) -> list[Node]:
    """Every node rebuilt and changed, those in bodies too."""
    seen: dict[Body, Body] = {}
    return _rebuilt(list(outputs), change, seen)


def _rebuilt(outputs: list[Node], change: Callable[[Node], Node], seen: dict[Body, Body]) -> list[Node]:
    done: dict[Node, Node] = {}
    for node in topological(outputs):
        new = rebuilt(node, tuple([done[parent] for parent in node.inputs]))
        for body in bodies(node) if node.attrs else []:
            if body not in seen:
                seen[body] = Body(body.params, tuple(_rebuilt(list(body.outputs), change, seen)))
        if node.attrs and any(isinstance(value, Body) and seen[value] != value for value in node.attrs.values()):
            new = Node(node.op, new.inputs, new.attrs.but(**_changed(node.attrs, seen)))
        done[node] = change(new)
    return [done[node] for node in outputs]


def _changed(attrs: Mapping[str, Any], seen: Mapping[Body, Body]) -> dict[str, Any]:
    return {key: seen[value] for key, value in attrs.items() if isinstance(value, Body)}
