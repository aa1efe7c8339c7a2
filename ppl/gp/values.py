"""Expressions of a model's variables at given values of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.compile import function, graph_replace
from ppl.distributions import is_draw
from ppl.model.context import modelcontext
from ppl.tensor.tensor import TensorType, placeholder
from ppl.tensor.variables import VARIABLE


def replace_with_values(
    vars_needed: Sequence[Any], replacements: dict[str, Any] | None = None, model: Any = None
) -> tuple[np.ndarray, ...]:
    """The values of expressions where the variables of the model that they depend on have the values of
    `replacements`, by name; variables behind others that have values need none."""
    names = {v: name for name, v in modelcontext(model).named_vars.items()}
    given = replacements or {}
    held, missing = _frontier(vars_needed, names, given)
    if missing:
        raise ValueError(f"Values for {', '.join(missing)} must be included in `replacements`.")
    inputs = [placeholder(TensorType(v.dtype, np.shape(given[names[v]])), names[v]) for v in held]
    outputs = (
        graph_replace(list(vars_needed), dict(zip(held, inputs, strict=True)), strict=False) if held else vars_needed
    )
    values = [np.asarray(given[names[v]], dtype=v.dtype) for v in held]
    return tuple(np.asarray(found) for found in function(inputs, list(outputs), on_unused_input="ignore")(*values))


def _frontier(outputs: Sequence[Any], names: dict[Any, str], given: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """The named variables with given values that are met first on the way from `outputs`, and the names of random
    variables that have none."""
    held, missing, seen, stack = [], [], set(), list(outputs)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in names and node.op is not VARIABLE and names[node] in given:
            held.append(node)
        elif is_draw(node):
            missing.append(names.get(node, "a draw without a name"))
        else:
            stack += node.inputs
    return held, sorted(missing)
