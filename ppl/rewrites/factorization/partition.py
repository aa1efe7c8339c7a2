"""Things in sets that grow together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Partition(Generic[T]):
    """Sets of things, at first each in its own."""

    def __init__(self) -> None:
        self._above: dict[T, T] = {}

    def of(self, x: T) -> T:
        """The one that stands for the set that a thing is in."""
        while (above := self._above.setdefault(x, x)) is not x:
            self._above[x] = x = self._above[above]
        return x

    def join(self, things: Iterable[T]) -> None:
        """Make one set of those that these are in."""
        first, *others = map(self.of, things)
        for other in others:
            self._above[self.of(other)] = self.of(first)

    def sets(self, things: Iterable[T]) -> dict[T, list[T]]:
        """Things by set, in their order."""
        found: dict[T, list[T]] = {}
        for x in things:
            found.setdefault(self.of(x), []).append(x)
        return found
