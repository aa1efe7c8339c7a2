"""Dimensions as users name them: the names along the axes of a variable, and the labels of a dimension."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np


def dims_of(who: str, dims: Any) -> tuple[Any, ...] | None:
    """The names of the dimensions of a variable, one or several; None for an axis without."""
    if dims is None or isinstance(dims, tuple):
        return dims
    if isinstance(dims, str):
        return (dims,)
    if not np.iterable(dims):
        raise TypeError(f"{who}: dims are the name of a dimension, or a list with a name for each axis; got {dims!r}")
    return tuple(dims)


def refuse_own_dimension(name: str, dim: Any) -> None:
    """Raise where a variable has a dimension of its own name."""
    if dim == name:
        raise ValueError(
            f"{name!r} is a variable, and one of its own dimensions: results could not tell its values from its "
            "labels. Rename one of them."
        )


def labels_of(name: str, values: Any) -> tuple[Any, ...]:
    """The labels of a dimension."""
    if isinstance(values, str) or not np.iterable(values):
        raise TypeError(f"the coordinates of {name!r} are a sequence of labels, got {values!r}")
    return tuple(values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind != "M" else values)


def warn_of_twins(name: str, labels: tuple[Any, ...]) -> None:
    """Warn of a label that a dimension has twice."""
    seen: set[Any] = set()
    for label in labels:
        if label in seen:
            text = f"dimension {name!r}: the label {label!r} occurs twice, so results cannot be selected by it"
            warnings.warn(text, UserWarning, stacklevel=5)
            return
        seen.add(label)


def same_labels(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two dimensions have the same labels in the same order."""
    return len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))
