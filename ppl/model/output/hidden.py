"""Names that results leave out, as PyMC does: those that look like names of unconstrained values."""

from __future__ import annotations

from collections.abc import Iterable


def is_hidden(name: str) -> bool:
    """Whether a name could be that of an unconstrained value, such as `sigma_log__`."""
    return name.endswith("__") and name.count("_") >= 3


def shown(names: Iterable[str]) -> list[str]:
    """The names that results hold if the user does not say which."""
    return [name for name in names if not is_hidden(name)]
