"""The names of a function's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """In their order. A plain function is not taken apart further than that: rules and laws are hundreds."""
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        code = function.__code__
        if not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return list(inspect.signature(function).parameters)
