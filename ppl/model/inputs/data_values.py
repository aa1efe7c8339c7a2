"""The present values of data, and of what is computed from them."""

from __future__ import annotations

import numpy as np

from ppl.distributions import DRAW
from ppl.graph import Node, ancestors
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.values.folding import on_host
from ppl.rewrites.values.present_sizes import at_present_sizes
from ppl.tensor.core.evaluate import evaluate
from ppl.tensor.tensor import Tensor, is_constant, value_of
from ppl.tensor.variables import VARIABLE, Variable
from ppl.xla.later import wide


def value_now(x: Tensor, data: bool = True) -> np.ndarray | None:
    """The value now of an expression of constants and, if wanted, data; None where it depends on anything else."""
    if is_constant(x):
        return value_of(x)
    reached = ancestors([x])
    if any(node.op is DRAW or (not node.inputs and not _is_known(node, data)) for node in reached):
        return None
    now: dict[Node, Node] = {}
    (filled,) = at_present_sizes([x], now)  # a length is a number by now, whatever the entries are
    if is_constant(filled):
        return value_of(filled)
    held = {now[node]: np.asarray(node.value) for node in reached if isinstance(node, Variable)}
    found = on_host([filled], held)
    if found is not None:
        return found[0]
    with wide():
        return np.asarray(evaluate([filled], held)[0])


def _is_known(leaf: Node, data: bool) -> bool:
    return is_constant(leaf) or (data and leaf.op is VARIABLE)


def observed_data(model: Books) -> dict[str, np.ndarray]:
    """What was observed, by variable."""
    known: dict[str, np.ndarray] = {}
    for rv in model.observed_RVs:
        value = value_now(model.rvs_to_values[rv])
        if value is not None:
            known[rv.name or ""] = np.array(value)
    return known


def constant_data(model: Books) -> dict[str, np.ndarray]:
    """All Data but those that are the observed values of a variable and nothing else, as in PyMC. Whole numbers are
    always there: PyMC keeps Data in 32 bits, and what is observed is a node of its own in 64."""
    known = [*model.basic_RVs, *model.deterministics, *model.potentials]
    observed, behind = {v for v in model.rvs_to_values.values() if v.dtype[0] == "f"}, ancestors(known)
    found = {v.name or "": v.get_value() for v in model.data_vars if v not in observed or v in behind}
    others = {*known, *model.data_vars}
    frozen = {name: v for name, v in model.named_vars.items() if v not in others and is_constant(v)}
    return found | {name: np.array(value_of(v)) for name, v in frozen.items()}
