"""Frozen dataclasses that cost nothing until there is an instance.

For a dataclass Python writes out and compiles six functions, which takes one and a half milliseconds. This package has
more than a hundred, and a small program meets a third of them: all of them made at once were a fifth of the time that
importing takes.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_making = threading.RLock()
_STAND_INS = ("__init__", "__setstate__", "__signature__", "__dataclass_fields__")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T]) -> type[T]:
    """`dataclass(frozen=True)`, done when the class is first called, unpickled or asked for its fields.

    >>> @record
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
    (Point(x=1.0, y=0.0), True)
    """

    def make() -> None:
        with _making:
            if isinstance(vars(cls).get("__dataclass_fields__"), _Later):
                for name in _STAND_INS:
                    delattr(cls, name)
                dataclasses.dataclass(frozen=True)(cls)

    def first(self: Any, *args: Any, **named: Any) -> None:
        make()
        self.__init__(*args, **named)

    def restored(self: Any, state: dict[str, Any]) -> None:
        make()
        vars(self).update(state)

    added: dict[str, Any] = {
        "__init__": first, "__setstate__": restored, "__signature__": _Later(cls, "__signature__", make),
        "__dataclass_fields__": _Later(cls, "__dataclass_fields__", make),
    }  # fmt: skip
    for name, value in added.items():
        if name in vars(cls):
            raise TypeError(f"{cls.__qualname__} has {name} of its own: make it a dataclass")
        setattr(cls, name, value)
    return cls


class _Later:
    """An attribute of a class that is not made yet."""

    def __init__(self, cls: type, name: str, make: Callable[[], None]) -> None:
        self._cls, self._name, self._make = cls, name, make

    def __get__(self, instance: Any, owner: type) -> Any:
        self._make()
        return getattr(self._cls, self._name)
