"""Inputs of Gaussian processes: tables with a row for each point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.model.inputs.observed import as_data
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, told, value_of


def table(who: str, X: Any) -> Tensor:
    """Inputs as a tensor with two axes; refuses other shapes, and what is nan."""
    x = X if isinstance(X, Tensor) else as_tensor(as_data(X, who) if hasattr(X, "columns") else X)
    if x.ndim != 2:
        hint = " Write X[:, None] for points of one coordinate." if x.ndim == 1 else ""
        raise ValueError(
            f"{who}: inputs are a table with a row for each point, got {told(x)} with {x.ndim} axes.{hint}"
        )
    if is_constant(x) and x.dtype[0] == "f" and np.isnan(value_of(x)).any():
        row = int(np.argwhere(np.isnan(value_of(x)))[0, 0])
        raise ValueError(f"{who}: the inputs are nan in row {row}. Leave such rows out, or give them a value.")
    return x


def rows(X: Any) -> Any:
    """How many points a table has."""
    return (X if isinstance(X, Tensor) else as_tensor(X)).shape[0]


def positive_numbers(who: str, name: str, value: Any) -> Tensor:
    """A parameter that is positive; refuses numbers that are not."""
    given = as_tensor(value)
    if is_constant(given) and not np.all(value_of(given) > 0):
        raise ValueError(f"{who}: {name} must be positive, got {value_of(given)}")
    return given
