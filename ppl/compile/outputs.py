"""Nested outputs: the tensors in a structure of lists, tuples and dicts, and how to put values in their places.

What puts them there are functions of this module with arguments, so that compiled functions can be pickled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ppl.compile.inputs import Out
from ppl.tensor.tensor import Tensor, as_tensor

Rebuild = Callable[[list[Any]], Any]


def flatten(outputs: Any) -> tuple[list[Tensor], Rebuild]:
    """The tensors of a nested structure in order, and a function that puts as many values in their places."""
    if outputs is None:
        return [], _nothing
    if isinstance(outputs, Out):
        return flatten(outputs.variable)
    if isinstance(outputs, Mapping):
        keys = list(outputs)
        if not all(isinstance(key, str) for key in keys):
            raise TypeError(f"a dict of outputs has strings as keys, got {keys!r}")
        flat, rebuild = _sequence(list(outputs.values()))
        return flat, partial(_as_dict, keys, rebuild)
    if isinstance(outputs, list | tuple):
        flat, rebuild = _sequence(list(outputs))
        if hasattr(outputs, "_fields"):  # a named tuple
            return flat, partial(_as_named_tuple, type(outputs), rebuild)
        return flat, partial(_as_sequence, tuple if isinstance(outputs, tuple) else list, rebuild)
    return [as_tensor(outputs)], operator.itemgetter(0)


def _sequence(parts: list[Any]) -> tuple[list[Tensor], Rebuild]:
    """The same for the parts of a list; a plain list of tensors needs no putting together at every call."""
    each = [flatten(part) for part in parts]
    if all(isinstance(part, Tensor) for part in parts):
        return [tensor for (tensor,), _ in each], _as_they_are
    return [tensor for flat, _ in each for tensor in flat], partial(
        _one_by_one, [(len(flat), put) for flat, put in each]
    )


def _nothing(values: list[Any]) -> list[Any]:
    return []


def _as_they_are(values: list[Any]) -> list[Any]:
    return values


def _as_dict(keys: list[str], rebuild: Rebuild, values: list[Any]) -> dict[str, Any]:
    return dict(zip(keys, rebuild(values), strict=True))


def _as_named_tuple(kind: Callable[..., Any], rebuild: Rebuild, values: list[Any]) -> Any:
    return kind(*rebuild(values))


def _as_sequence(kind: Callable[[Any], Any], rebuild: Rebuild, values: list[Any]) -> Any:
    return kind(rebuild(values))


def _one_by_one(parts: list[tuple[int, Rebuild]], values: list[Any]) -> list[Any]:
    results, start = [], 0
    for length, put in parts:
        results.append(put(values[start : start + length]))
        start += length
    return results
