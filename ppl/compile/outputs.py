"""Nested outputs: the tensors in a structure of lists, tuples and dicts, and how to put values in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ppl.compile.inputs import Out
from ppl.tensor.tensor import Tensor, as_tensor

Rebuild = Callable[[list[Any]], Any]


def flatten(outputs: Any) -> tuple[list[Tensor], Rebuild]:
    """The tensors of a nested structure in order, and a function that puts as many values in their places."""
    if outputs is None:
        return [], lambda values: []
    if isinstance(outputs, Out):
        return flatten(outputs.variable)
    if isinstance(outputs, Mapping):
        keys = list(outputs)
        if not all(isinstance(key, str) for key in keys):
            raise TypeError(f"a dict of outputs has strings as keys, got {keys!r}")
        flat, rebuild = _sequence(list(outputs.values()))
        return flat, lambda values: dict(zip(keys, rebuild(values), strict=True))
    if isinstance(outputs, list | tuple):
        flat, rebuild = _sequence(list(outputs))
        if hasattr(outputs, "_fields"):  # a named tuple
            return flat, lambda values: type(outputs)(*rebuild(values))
        kind = tuple if isinstance(outputs, tuple) else list
        return flat, lambda values: kind(rebuild(values))
    return [as_tensor(outputs)], lambda values: values[0]


def _sequence(parts: list[Any]) -> tuple[list[Tensor], Rebuild]:
    """The same for the parts of a list; a plain list of tensors needs no putting together at every call."""
    each = [flatten(part) for part in parts]
    if all(isinstance(part, Tensor) for part in parts):
        return [tensor for (tensor,), _ in each], lambda values: values

    def rebuild(values: list[Any]) -> list[Any]:
        results, start = [], 0
        for flat, put in each:
            results.append(put(values[start : start + len(flat)]))
            start += len(flat)
        return results

    return [tensor for flat, _ in each for tensor in flat], rebuild
