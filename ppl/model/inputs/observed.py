"""Observed data: from what users have (lists, arrays, frames, masked arrays) to values of random variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions.declaration.domains import Domain
from ppl.model.errors import DataError
from ppl.tensor.tensor import Tensor


def as_data(value: Any, name: str, family: str = "") -> np.ndarray | np.ma.MaskedArray | Tensor:
    """The data as an array of numbers, masked where values are missing; tensors pass. Errors name the variable, and its
    family where it has one."""
    who = f'{family} "{name}"'.lstrip()
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ma.MaskedArray):
        return value if value.mask.any() else np.asarray(value)
    missing = None
    if hasattr(value, "isna") and hasattr(value, "to_numpy"):  # pandas
        missing = np.asarray(value.isna())
        filled = {"dtype": np.float64, "na_value": np.nan} if missing.any() and hasattr(value, "name") else {}
        value = value.to_numpy(
            **filled
        )  # without a missing value no stand-in is given: pandas 2 refuses nan for integers
    elif hasattr(value, "to_numpy"):  # polars
        value = value.to_numpy()
    elif hasattr(value, "values") and hasattr(value, "dims"):  # xarray
        value = value.values
    elif hasattr(value, "todense"):
        value = np.asarray(value.todense())
    array = np.asarray(value)
    if array.dtype.kind == "O":
        array = _from_objects(array, who)
    if array.dtype.kind not in "buif":
        raise TypeError(
            f"{who}: observed data are numbers, got dtype {array.dtype} (first entry {array.ravel()[:1].tolist()}). "
            "Codes of categories come from pandas.Categorical(x).codes or numpy.unique(x, return_inverse=True)."
        )
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.size and array.max() > np.iinfo(np.int64).max:
        raise OverflowError(f"{who}: {array.max()} does not fit into 64-bit integers")
    if array.dtype.kind == "f" and np.isnan(array).any():
        return np.ma.MaskedArray(array, mask=np.isnan(array))
    return array


def _from_objects(array: np.ndarray, who: str) -> np.ndarray:
    """Python objects that are numbers (None for a missing one)."""
    try:
        whole = all(isinstance(x, int | np.integer) for x in array.ravel())
        return (
            array.astype(np.int64)
            if whole
            else np.array([np.nan if x is None else x for x in array.ravel()], float).reshape(array.shape)
        )
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{who}: observed data are numbers, got Python objects such as {array.ravel()[0]!r}. "
            "Codes of categories come from pandas.Categorical(x).codes or numpy.unique(x, return_inverse=True)."
        ) from error


def check_observed(array: np.ndarray, domain: Domain, family: str, name: str) -> np.ndarray:
    """The data in the dtype of the family; refused where they cannot come from it, before anything is compiled."""
    who = f'{family} "{name}"'
    if array.dtype.kind == "f" and np.isinf(array).any():
        at = tuple(int(i) for i in np.argwhere(np.isinf(array))[0])
        raise DataError(
            f"{who}: {int(np.isinf(array).sum())} observed values are infinite, the first at position {_at(at)}."
        )
    if domain.discrete and array.dtype.kind == "f":
        whole = array == np.floor(array)
        if not whole.all():
            at = tuple(int(i) for i in np.argwhere(~whole)[0])
            raise DataError(
                f"{who}: observed values are counts, got {array[at]:g} at position {_at(at)}. "
                "Round the data first if that is meant."
            )
        if array.size and np.abs(array).max() > 2**53:
            raise OverflowError(f"{who}: counts above 2**53 are not exact as floats: pass an integer array")
        array = array.astype(np.int64)
    return array


def check_support(array: np.ndarray, inside: np.ndarray, domain: Domain, family: str, name: str) -> None:
    """Refuse data outside the support."""
    if np.all(inside):
        return
    at = tuple(int(i) for i in np.argwhere(~np.broadcast_to(inside, np.shape(inside)))[0])
    shown = np.array2string(np.asarray(array)[at], threshold=8) if at or np.ndim(array) == 0 else str(array)
    raise DataError(
        f'{family} "{name}": observed value {shown} at position {_at(at)} is outside the support: {domain.at(at)}.'
    )


def _at(position: tuple[int, ...]) -> Any:
    return position[0] if len(position) == 1 else position
