"""Arguments of sampling functions, checked where they are given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ppl.tensor.tensor import Tensor


def count(name: str, value: Any, least: int) -> int:
    """A whole number; 3.0 is one."""
    try:
        whole = not isinstance(value, bool) and float(value).is_integer() and value >= least
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def check_truths(**given: Any) -> None:
    """Refuse what is neither true nor false: any text would count as true, "no" as well."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_) and not (isinstance(value, int) and value in (0, 1)):
            raise TypeError(f"{name} is True or False, got {value!r}.")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The text of an error for a name that is not known, with the nearest one that is."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    hint = f" Did you mean {close[0]!r}?" if close else f" Known are {', '.join(names) or 'none'}."
    return f"{what} {name!r}.{hint}"


def as_list(chosen: Any) -> list[Any]:
    """One variable or name, or several, as a list."""
    return [chosen] if isinstance(chosen, str | Tensor) else list(chosen)


def check_keys(what: str, given: Mapping[str, Any] | None, known: Iterable[str]) -> dict[str, Any]:
    """A dictionary of options, none of them unknown."""
    names = list(known)
    for name in given or {}:
        if name not in names:
            raise TypeError(unknown(f"{what} has no option", str(name), names))
    return dict(given or {})


def chosen_names(what: str, var_names: Any, known: Iterable[str]) -> list[str]:
    """Names that were asked for, each of them known; variables are taken by their names."""
    names = list(known)
    found = []
    for each in as_list(var_names):
        name = each.name or "" if isinstance(each, Tensor) else str(each)
        if name not in names:
            raise KeyError(unknown(f"{what}: the model has no variable", name, names))
        found.append(name)
    return found
