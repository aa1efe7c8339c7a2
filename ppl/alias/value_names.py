"""Names of values that samplers move, as PyMC builds them: `sigma_log__` is that of `sigma` under its transform."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

RandomState = int | np.random.RandomState | np.random.Generator | None
RandomSeed = int | list[int] | tuple[int, ...] | np.ndarray | None


def is_transformed_name(name: str) -> bool:
    """Whether a name is that of a transformed value."""
    return name.endswith("__") and name.count("_") >= 3


def get_untransformed_name(name: str) -> str:
    """The name of the variable whose transformed value has this one.

    >>> get_untransformed_name("sigma_log__")
    'sigma'
    """
    if not is_transformed_name(name):
        raise ValueError(f"{name} is not the name of a transformed value: those end in _TRANSFORM__")
    return name[:-2].rpartition("_")[0]


def get_transformed_name(name: str, transform: Any) -> str:
    """The name of the value of a variable under a transform."""
    return f"{name}_{transform.name}__"


def get_default_varnames(var_iterator: Iterable[Any], include_transformed: bool) -> list[Any]:
    """The variables, with or without transformed values."""
    variables = list(var_iterator)
    return variables if include_transformed else [v for v in variables if not is_transformed_name(get_var_name(v))]


def get_var_name(var: Any) -> str:
    """The name of a variable, or the name itself."""
    return var if isinstance(var, str) else str(var.name)
