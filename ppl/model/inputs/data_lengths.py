"""Dimensions whose length Data decide: a variable with such a dimension is as long as the data are at that moment."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.graph import ancestors
from ppl.model.errors import ShapeError, ShapeWarning
from ppl.model.registry.dimensions import labels_of, refuse_own_dimension
from ppl.model.registry.variable_registry import Books
from ppl.tensor.core.sizes import DIM
from ppl.tensor.variables import Variable


def bind_lengths(model: Books, variable: Variable, dims: Any, coords: Mapping[str, Any]) -> None:
    """Let new Data decide the lengths of their dimensions, also of those that so far had a length from labels alone."""
    shape, name = np.shape(variable.value), variable.name
    if len(dims) != len(shape):
        raise ValueError(f'Data "{name}" has {len(shape)} axes, but {len(dims)} dims: {dims}')
    for axis, dim in enumerate(dims):
        if dim is None:
            continue
        refuse_own_dimension(name or "", dim)
        if dim in model.dim_lengths and coords.get(dim) is not None:
            model.add_coord(dim, coords[dim])  # raises where its labels are others
        known = model.present_length(dim)
        if known is not None and known != shape[axis]:
            raise ValueError(
                f"conflicting sizes for dimension {dim!r}: length {shape[axis]} on the data {name!r}, "
                f"length {known} in coords"
            )
        if known is None:
            model.add_coord(dim, coords.get(dim), length=DIM(variable, axis=axis))
        elif isinstance(model._dim_lengths[dim], int) and not _users(model, dim):
            model._dim_lengths[dim] = DIM(variable, axis=axis)


def _users(model: Books, dim: str) -> list[str]:
    """The variables whose shape holds a dimension already."""
    return [name for name, dims in model.root.named_vars_to_dims.items() if dim in dims]


def check_lengths(model: Books, new: Mapping[Variable, np.ndarray], coords: Mapping[str, Any]) -> None:
    """Refuse new values of Data whose lengths do not fit their dimensions; warn of Data that have yet to follow."""
    lengths: dict[str, dict[str, int]] = {dim: {} for dim in coords}
    for variable, array in new.items():
        for dim, length in zip(model.named_vars_to_dims.get(variable.name or "", ()), array.shape, strict=False):
            if dim is not None:
                lengths.setdefault(dim, {})[variable.name or ""] = length
    for dim, found in lengths.items():
        if not found:
            known = model.present_length(dim)
            if known is None:
                raise KeyError(
                    f"coords: the model has no dimension {dim!r}; it has {', '.join(model.dim_lengths) or 'none'}"
                )
            found[f"dimension {dim}"] = known
        if len(set(found.values())) > 1:
            shown = ", ".join(f"{n} in {name!r}" for name, n in found.items())
            raise ShapeError(f"the new data have different lengths along dimension {dim!r}: {shown}")
        name, length = next(iter(found.items()))
        _check_one(model, dim, name, length, coords.get(dim))
        _warn_of_others(model, dim, length, found)


def _check_one(model: Books, dim: str, name: str, length: int, labels: Any) -> None:
    old, known = model.coords.get(dim), model._dim_lengths[dim]
    if labels is not None and len(labels) != length:
        raise ShapeError(f"dimension {dim!r}: {len(labels)} new labels for length {length} of {name!r}")
    if isinstance(known, int) and known != length:
        users = [user for user in _users(model, dim) if user not in {v.name for v in model.root.data_vars}]
        raise ValueError(
            f"dimension {dim!r} has length {known}, fixed when {', '.join(users)} was made, and the new value of "
            f"{name!r} has length {length}. Make the Data before the variables, so that the data decide the length."
        )
    if labels is None and old is not None and len(old) != length:
        raise ValueError(
            f"dimension {dim!r} has length {len(old)} by its labels, the new value of {name!r} has length {length}: "
            f"pass coords={{{dim!r}: ...}}"
        )


def _warn_of_others(model: Books, dim: str, length: int, changed: Mapping[str, int]) -> None:
    """Where the data that decide the length are among the changed ones, others are expected to follow, as in PyMC."""
    known = model._dim_lengths[dim]
    behind = set() if isinstance(known, int) else ancestors([known])
    if any(variable in behind and variable.name in changed for variable in model.root.data_vars):
        return
    for variable in model.root.data_vars:
        dims = model.root.named_vars_to_dims.get(variable.name or "", ())
        if dim in dims and variable.name not in changed and np.shape(variable.value)[dims.index(dim)] != length:
            text = (
                f"dimension {dim!r} has length {length} in {', '.join(map(repr, changed))} now, and length "
                f"{np.shape(variable.value)[dims.index(dim)]} in {variable.name!r}: set that too before sampling."
            )
            warnings.warn(text, ShapeWarning, stacklevel=5)


def relabel(model: Books, coords: Mapping[str, Any]) -> None:
    """Other labels along dimensions."""
    for dim, labels in coords.items():
        model.coords[dim] = labels_of(dim, labels)
