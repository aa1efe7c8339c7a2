"""The data that a run began with.

A run in the background, or one with a callback, leaves time for `set_data` before its result is made. The result
belongs to the data of the start: what is recovered, the deterministics, the certificate and the groups of data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ppl.graph import ancestors
from ppl.model.registry.variable_registry import Books
from ppl.tensor.variables import VARIABLE


class DataOfRun:
    """What the variables and the dimensions of a model held when this was made."""

    def __init__(self, model: Books) -> None:
        self._model = model
        nodes = ancestors([*model.named_vars.values(), *model.rvs_to_values.values()])
        self._cells = {node.attrs["cell"]: node.attrs["cell"].value for node in nodes if node.op is VARIABLE}
        self._coords = dict(model._coords)

    @contextmanager
    def again(self) -> Iterator[None]:
        """The model holds inside what it held at the start, and afterwards what it holds now."""
        values, coords = {cell: cell.value for cell in self._cells}, dict(self._model._coords)
        if _same(values, self._cells) and _same(coords, self._coords):
            yield
            return
        try:
            self._put(self._cells, self._coords)
            yield
        finally:
            self._put(values, coords)

    def _put(self, values: Mapping[Any, Any], coords: Mapping[str, Any]) -> None:
        for cell, value in values.items():
            cell.value = value
        self._model._coords.clear()
        self._model._coords.update(coords)


def _same(now: Mapping[Any, Any], before: Mapping[Any, Any]) -> bool:
    """Whether the very same objects stand under the same keys."""
    return now.keys() == before.keys() and all(now[key] is before[key] for key in now)
