"""Exceptions of Python functions that a compiled program called: XLA gives a report of them as text, and this the
exception itself."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_raised: deque[Exception] = deque(maxlen=32)  # the latest, of all threads


def remembering(function: F) -> F:
    """The same function, whose exceptions are kept for `raise_original`."""

    @functools.wraps(function)
    def called(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            _raised.append(error)
            raise

    return called  # type: ignore[return-value]


def raise_original(report: Exception) -> NoReturn:
    """Raise the exception that XLA reports, or the report where it is of something else."""
    text = str(report)
    for error in reversed(_raised):
        if str(error) and f"{type(error).__name__}: {error}" in text:  # without words any of its kind would do
            _raised.remove(error)
            raise error from None
    raise report
