"""Expressions worked out by NumPy, operation by operation, again and again for other values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ppl.graph import GET, Node, topological
from ppl.rewrites.values.by_numpy import DECLINED, function_of, steps_of_loop
from ppl.tensor.core.names import NAMED
from ppl.tensor.loops.loop import SCAN
from ppl.tensor.tensor import CONSTANT, value_of


class _Step(NamedTuple):
    run: Callable[[list[Any]], Any]
    inputs: tuple[Node, ...]
    output: Node
    done: tuple[Node, ...]  # those whose values nothing needs after this step


class Steps:
    """The values of `outputs` for values of `places`, by a list of NumPy's functions.

    A value is let go of after its last use: memory that is used again is in the processor's cache, and to touch fresh
    memory takes several times as long as the arithmetic.
    """

    def __init__(self, outputs: Sequence[Node], places: Sequence[Node], steps: Sequence[_Step]) -> None:
        self._outputs, self._places, self._steps = outputs, places, steps
        self._constants = {x: value_of(x) for step in steps for x in (*step.inputs, *outputs) if x.op is CONSTANT}

    @np.errstate(all="ignore")
    def __call__(self, given: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """None where NumPy declines, as of an index that lies outside."""
        values = self._constants | dict(zip(self._places, given, strict=True))
        try:
            for run, inputs, output, done in self._steps:
                found = run([values[x] for x in inputs])
                if found is None:
                    return None
                values[output] = found
                for x in done:
                    del values[x]
        except DECLINED:
            return None
        return [np.asarray(values[x]) for x in self._outputs]


def steps_of(outputs: Sequence[Node], places: Sequence[Node]) -> Steps | None:
    """The steps; None where NumPy has no function for one of them."""
    given, used, steps = set(places), set(outputs), []
    for node in reversed(topological(outputs, blockers=given)):
        if node in given or node.op is CONSTANT:
            continue
        run = _function_of(node)
        if run is None:
            return None
        done = [x for x in dict.fromkeys(node.inputs) if not (x in used or x in given or x.op is CONSTANT)]
        used.update(node.inputs)
        steps.append(_Step(run, node.inputs, node, tuple(done)))
    return Steps(outputs, places, steps[::-1])


def _function_of(node: Node) -> Callable[[list[Any]], Any] | None:
    if node.op is NAMED:
        return lambda values: values[0]
    if node.op is GET:
        position = node.attrs["position"]
        return lambda values: values[0][position]
    return _loop(node) if node.op is SCAN else function_of(node)


def _loop(node: Node) -> Callable[[list[Any]], Any] | None:
    """A loop, step by step; None where its body has operations that NumPy has not, or the steps are not known."""
    body, states, sequences = node.attrs["body"], node.attrs["states"], node.attrs["sequences"]
    count = steps_of_loop(node)
    if node.attrs["counted"] or node.attrs.get("within") is not None or not 0 < count < inf:
        return None
    one = steps_of(body.outputs, body.params)
    order = range(int(count))[:: -1 if node.attrs["reverse"] else 1]

    def run(values: list[Any]) -> Any:
        state, series, rest = values[:states], values[states : states + sequences], values[states + sequences :]
        rows: list[Any] = [None] * len(order)
        for i in order:
            found = one([*state, *[x[i] for x in series], *rest])  # type: ignore[misc]
            if found is None:
                return None
            state, rows[i] = found[:states], found[states:]
        return (*state, *[np.stack(each) for each in zip(*rows, strict=True)])

    return None if one is None else run
