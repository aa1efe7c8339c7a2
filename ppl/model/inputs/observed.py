"""Observed data: from what users have (lists, arrays, frames, masked arrays) to values of random variables."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from ppl.distributions.declaration.domains import Domain
from ppl.tensor.tensor import Tensor


def is_masked(value: Any) -> bool:
    """Whether a value is a masked array; `np.ma` is not imported to know that there is none."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def as_data(value: Any, name: str, family: str = "") -> np.ndarray | np.ma.MaskedArray | Tensor:
    """The data as an array of numbers, masked where values are missing; tensors pass. Errors name the variable, and its
    family where it has one."""
    who = f'{family} "{name}"'.lstrip()
    if isinstance(value, Tensor):
        return value
    if is_masked(value):
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
    """The data in the dtype of the family: of counts that are no whole numbers the whole part, as in PyMC, with a
    warning."""
    who = f'{family} "{name}"'
    if not domain.discrete or array.dtype.kind != "f" or not np.isfinite(array).all():
        return array
    if array.size and np.abs(array).max() > 2**53:
        raise OverflowError(f"{who}: counts above 2**53 are not exact as floats: pass an integer array")
    cut = np.trunc(array)
    if (cut != array).any():
        at = tuple(int(i) for i in np.argwhere(cut != array)[0])
        warnings.warn(
            f"{who}: observed values are counts, got {array[at].item()!r} at position {_at(at)}, which is taken for "
            f"{int(cut[at])}: fractions are cut off, as in PyMC, in {int((cut != array).sum())} of {array.size} "
            "values. Round the data first if something else is meant.",
            UserWarning,
            stacklevel=6,
        )
    return cut.astype(np.int64)


def outside_support(array: np.ndarray, inside: np.ndarray, domain: Domain, family: str, name: str) -> str | None:
    """What to say of data outside the support, where the density is 0; None where all are inside."""
    if np.all(inside):
        return None
    at = tuple(int(i) for i in np.argwhere(~np.broadcast_to(inside, np.shape(inside)))[0])
    shown = np.array2string(np.asarray(array)[at], threshold=8) if at or np.ndim(array) == 0 else str(array)
    return f'{family} "{name}": observed value {shown} at position {_at(at)} is outside the support: {domain.at(at)}.'


def infinite(array: np.ndarray, family: str, name: str) -> str | None:
    """What to say of data that are infinite, which no support holds."""
    if array.dtype.kind != "f" or not np.isinf(array).any():
        return None
    at = tuple(int(i) for i in np.argwhere(np.isinf(array))[0])
    count = int(np.isinf(array).sum())
    return f'{family} "{name}": {count} observed values are infinite, the first at position {_at(at)}.'


def _at(position: tuple[int, ...]) -> Any:
    return position[0] if len(position) == 1 else position
