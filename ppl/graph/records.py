"""Frozen dataclasses that cost nothing until there is an instance.

For a dataclass Python writes out and compiles six functions, which takes one and a half milliseconds. This package has
more than a hundred, and a small program meets a third of them: all of them made at once were a fifth of the time that
importing takes.
"""

from __future__ import annotations

import dataclasses
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_making = threading.RLock()


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
            if isinstance(vars(cls).get("__dataclass_fields__"), _Fields):
                del cls.__dataclass_fields__  # type: ignore[attr-defined]
                dataclasses.dataclass(frozen=True)(cls)
                made.append(True)

    def new(kind: type[Any], *_: Any, **__: Any) -> Any:
        """Whoever makes an instance, in whatever thread, finds the class whole before its `__init__` is looked up."""
        if not made:
            make()
        return object.__new__(kind)

    made: list[bool] = []
    added = {"__new__": new, "__signature__": _Signature(make), "__dataclass_fields__": _Fields(cls, make)}
    for name, value in added.items():
        if name in vars(cls) or "__init__" in vars(cls):
            raise TypeError(f"{cls.__qualname__} has __new__ or __init__ of its own: make it a dataclass")
        setattr(cls, name, value)
    return cls


class _Fields:
    """The fields of a class that is not made yet."""

    def __init__(self, cls: type, make: Callable[[], None]) -> None:
        self._cls, self._make = cls, make

    def __get__(self, instance: Any, owner: type) -> Any:
        self._make()
        return self._cls.__dataclass_fields__  # type: ignore[attr-defined]


class _Signature:
    """The signature of a class, whose `__new__` takes anything."""

    def __init__(self, make: Callable[[], None]) -> None:
        self._make = make

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is not None:
            raise AttributeError("__signature__")
        self._make()
        found = inspect.signature(owner.__init__)  # type: ignore[misc]
        return found.replace(parameters=list(found.parameters.values())[1:])
