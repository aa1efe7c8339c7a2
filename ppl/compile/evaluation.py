"""Values at once: `x.eval({...})` compiled, `x.get({...})` operation by operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppl.compile.function import function
from ppl.compile.outputs import flatten
from ppl.distributions.draws.draw import is_draw
from ppl.distributions.draws.drawing import Expanded, expanded
from ppl.graph import Node, ancestors, leaves
from ppl.rewrites.books.simplify import optimize
from ppl.rewrites.values.by_numpy import work
from ppl.rewrites.values.folding import step_by_step
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.sampling.keys import Key
from ppl.tensor.tensor import INPUT, Tensor, enter, told
from ppl.tensor.variables import VARIABLE
from ppl.xla.later import wide

LITTLE = 1e6  # numbers, five nanoseconds each
_PROCESS = int(np.random.SeedSequence().generate_state(1)[0])  # another process, other draws


def evaluated(x: Tensor, givens: Mapping[Any, Any] | None = None, **options: Any) -> Any:
    """The value of `x`, given values for its inputs (keys are tensors or names). The program is kept, not the graph.

    Random variables are drawn: the same ones come out the same each time within a process, as PyMC has it.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> (x + 1).eval({x: 2.0})
    array(3.)
    """
    values = _by_node([x], givens or {})
    nodes = sorted(values, key=lambda node: node.serial)
    drawn = _drawn(x, nodes)
    more, options = bool(options), {"on_unused_input": "ignore", **options}

    def run(outputs: Sequence[Tensor]) -> list[Any]:
        found = None if nodes or more else _by_numpy(outputs)
        if found is not None:
            return found
        return function(nodes, list(outputs), no_default_updates=True, **options)(*[values[n] for n in nodes])

    return drawn.values(run)[0]


def _by_numpy(outputs: Sequence[Tensor]) -> list[np.ndarray] | None:
    """The values of what needs no input, where it is little work for NumPy; None where a program is needed."""
    outputs = optimize(outputs)  # type: ignore[assignment]
    if sum(map(work, ancestors(outputs))) > LITTLE:
        return None
    held = {v: np.asarray(v.attrs["cell"].value) for v in leaves(outputs) if v.op is VARIABLE}
    found = step_by_step(outputs, held)
    return None if found is None else [np.array(value) for value in found]


def _drawn(x: Tensor, given: Sequence[Node]) -> Expanded:
    """`x` with its random variables drawn, by a key that belongs to them."""
    draws = [node for node in ancestors([x], blockers=given) if is_draw(node)]
    if not draws:
        return Expanded([x], [])
    key = Key.from_seed(_PROCESS, *sorted(node.attrs["identity"].number for node in draws))
    return expanded([x], key, {node: node for node in given})


def _by_node(graphs: Sequence[Node], givens: Mapping[Any, Any]) -> dict[Tensor, Any]:
    values: dict[Tensor, Any] = {}
    for key, value in givens.items():
        if isinstance(key, str):
            named = [n for n in ancestors(graphs) if isinstance(n, Tensor) and n.name == key and n.op is INPUT]
            if len(named) != 1:
                who = ", ".join(map(told, graphs))
                raise KeyError(f"{len(named)} inputs of {who} are called {key!r}; give the tensor itself as the key")
            key = named[0]
        if not isinstance(key, Tensor):
            raise TypeError(f"values are given for tensors or their names, got {key!r}")
        values[key] = value
    return values


def get(outputs: Any, givens: Mapping[Any, Any] | None = None) -> Any:
    """Values of a tensor, or of a nested list, tuple or dict of tensors, worked out at once and without compiling.

    `givens` gives values of any tensors on the way, of inputs also by name; what lies behind them is not looked at.

    >>> import ppl.tensor as tt
    >>> x = tt.dscalar("x")
    >>> y = x * 2
    >>> (y + 1).get({y: 10.0})
    array(11.)
    """
    flat, rebuild = flatten(outputs)
    values = _by_node(flat, givens or {})
    with wide():
        known: dict[Node, Any] = {node: np.asarray(value, node.type.dtype) for node, value in values.items()}
        known.update({v: v.attrs["cell"].value for v in leaves(flat) if v.op is VARIABLE and v not in known})
        return rebuild([np.asarray(value) for value in evaluate(flat, known)])


enter("eval", evaluated)
enter("get", get)
