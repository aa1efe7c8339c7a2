"""Books of a model, lists and dictionaries of its tensors: what a model within another enters, both have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, SupportsIndex, TypeVar

from ppl.tensor.core.labelled import bare
from ppl.tensor.tensor import Tensor

K, V = TypeVar("K"), TypeVar("V")


class Tensors(list[Tensor]):
    """A list in which a tensor is found as itself: == of two tensors compares their values, when the program runs.

    What is appended is appended to the `outer` list too, that of the model around.
    """

    def __init__(self, tensors: Iterable[Tensor] = (), outer: Tensors | None = None) -> None:
        super().__init__(tensors)
        self.outer = outer

    def append(self, item: Tensor, /) -> None:
        super().append(item)
        if self.outer is not None:
            self.outer.append(item)

    def __contains__(self, item: Any) -> bool:
        item = bare(item)
        return any(each is item for each in self)

    def index(self, item: Any, start: SupportsIndex = 0, stop: SupportsIndex = sys.maxsize, /) -> int:
        item = bare(item)
        for at in range(*slice(start, stop).indices(len(self))):
            if self[at] is item:
                return at
        raise ValueError(f"{item!r} is not in the list")

    def count(self, item: Any, /) -> int:
        return sum(each is item for each in self)

    def remove(self, item: Any, /) -> None:
        del self[self.index(item)]


class Book(dict[K, V]):
    """A dictionary; what is set by `book[key] = value` is set in the `outer` one too, that of the model around."""

    def __init__(self, outer: Book[K, V] | None = None) -> None:
        super().__init__()
        self.outer = outer

    def __setitem__(self, key: K, value: V, /) -> None:
        super().__setitem__(key, value)
        if self.outer is not None:
            self.outer[key] = value
