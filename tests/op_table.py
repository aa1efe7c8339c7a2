"""The table of operations and user functions, and how a row is built with symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_elementwise import ELEMENTWISE
from op_rows import Call, Row
from op_structured import STRUCTURED

from ppl.graph import Node
from ppl.tensor.tensor import FUNCTIONS, Tensor, TensorType, placeholder

TABLE: dict[str, Row] = {**ELEMENTWISE, **STRUCTURED}
Inputs = dict[Tensor, np.ndarray]


def symbolic(value: Any, known: bool, inputs: Inputs) -> Any:
    """The argument with a symbol in the place of every array; `inputs` collects them with their values."""
    if isinstance(value, np.ndarray):
        x = placeholder(
            TensorType(value.dtype, value.shape if known else tuple(n if n == 1 else None for n in value.shape))
        )
        inputs[x] = value
        return x
    if isinstance(value, list | tuple) and any(isinstance(part, np.ndarray | list | tuple) for part in value):
        return type(value)([symbolic(part, known, inputs) for part in value])
    return value


def parts_of(result: Any) -> list[Any]:
    """A flat list of results."""
    result = list(result) if isinstance(result, Node) and not isinstance(result, Tensor) else result
    return [part for each in result for part in parts_of(each)] if isinstance(result, list | tuple) else [result]


def built(name: str, each: Call, known: bool) -> tuple[list[Any], Inputs]:
    """The results of a call with symbols, and the values of the symbols."""
    inputs: Inputs = {}
    arguments = each.args if TABLE[name].constants else [symbolic(a, known, inputs) for a in each.args]
    return parts_of(FUNCTIONS[name](*arguments, **each.options)), inputs
