"""Data of a model that may change: `Data`, `set_data`."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from ppl.model.context import modelcontext
from ppl.model.inputs.data_checks import check_indices
from ppl.model.inputs.data_lengths import bind_lengths, check_lengths, relabel
from ppl.model.inputs.observed import as_data, is_masked
from ppl.model.inputs.observing import check_observations
from ppl.model.registry.dimensions import dims_of
from ppl.model.registry.variable_registry import Books
from ppl.sources.source_rows import columns_of
from ppl.tensor.config import config
from ppl.tensor.core.names import named
from ppl.tensor.variables import Variable, shared

EXAMPLES = "https://raw.githubusercontent.com/pymc-devs/pymc-examples/main/examples/data/"
SECONDS = 30.0  # that a server may take to answer


def Data(
    name: str,
    value: Any,
    *,
    dims: Any = None,
    coords: Mapping[str, Any] | None = None,
    infer_dims_and_coords: bool = False,
    model: Books | None = None,
    mutable: bool | None = None,
    shape: Any = None,
    strict: bool = False,
    borrow: bool = False,
    allow_downcast: bool | None = None,
) -> Variable:
    """A named array of a model that `set_data` can replace.

    Parameters
    ----------
    name : str
        The name in the model and in `constant_data` of results.
    value : array, frame, list or number
        The values. Missing ones are allowed where the data are observed: there they become variables. Columns of
        `from_arrow`, or all of them together, get the name in plans alone, since the model does not keep them.
    dims : str or sequence of str, optional
        Names of the axes; these dimensions have from now on the lengths of the data, whatever these are later.
    coords : dict, optional
        Labels of dimensions.
    infer_dims_and_coords : bool, default False
        Whether dims and labels are those of a frame's index and columns.
    model : Model, optional
        The model; by default that of the `with` block.
    mutable : bool, optional
        PyMC's older argument: it has no effect, all Data can be replaced.
    shape : tuple, optional
        Which lengths stay as they are, with None for those that may change, as all may where it is left out.
    strict, borrow : bool, default False
        As in `ppl.shared`: no conversion of dtypes; the array itself is used, not a copy.
    allow_downcast : bool, optional
        As in `ppl.shared`.

    Returns
    -------
    Variable
        A tensor to write the model with.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Data("x", [1.0, 2.0, 3.0])
    ...     y = pm.Normal("y", 2 * x, 1)
    >>> pm.set_data({"x": [4.0, 5.0]}, model=model)
    >>> pm.draw(y).shape
    (2,)
    """
    model = modelcontext(model)
    full = model.check_name(name)
    if (columns := columns_of(value)) is not None:
        if dims is not None or coords or shape is not None:
            raise ValueError(f'Data "{full}": rows that are read once have no dims, coords or shape: leave them out')
        return named(columns, full)  # type: ignore[return-value]
    if infer_dims_and_coords:
        dims, coords = _own_dims(full, value, dims, coords or {})
    array = _numbers(value, full)
    variable = shared(array, full, strict=strict, borrow=borrow, allow_downcast=allow_downcast, shape=shape)
    dims = dims_of(f'Data "{full}"', dims)
    if dims is not None:
        bind_lengths(model, variable, dims, coords or {})
    model.add_named_variable(variable, dims)
    model.data_vars.append(variable)
    return variable


def MutableData(name: str, value: Any, **options: Any) -> Variable:
    """`Data`, by its older name."""
    return Data(name, value, **options)


def ConstantData(name: str, value: Any, **options: Any) -> Variable:
    """`Data`, by its older name."""
    return Data(name, value, **options)


def _numbers(value: Any, name: str) -> np.ndarray:
    """The data as an array, nan where they are missing; whole numbers have 64 bits, others those of floatX."""
    array = as_data(value, name)
    if is_masked(array):
        array = array.astype(np.float64).filled(np.nan)
    array = np.asarray(array)
    if array.dtype.kind == "f":
        return array.astype(config.floatX, copy=False)
    return array.astype(np.int64) if array.dtype.kind in "ui" else array


def _own_dims(name: str, value: Any, dims: Any, coords: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """The dimensions and labels that a frame or a labeled array has itself; those that are given come first."""
    if hasattr(value, "dims") and hasattr(value, "coords"):
        names = list(map(str, value.dims))
        labels = [
            value.coords[dim].values if dim in value.coords else np.arange(value.sizes[dim]) for dim in value.dims
        ]
    elif hasattr(value, "index") and not isinstance(value, list | tuple):
        axes = [value.index] + ([value.columns] if hasattr(value, "columns") else [])
        names = [str(axis.name or f"{name}_dim_{i}") for i, axis in enumerate(axes)]
        labels = list(map(list, axes))
    else:
        return dims, coords
    chosen = names if dims is None else list(dims_of(name, dims) or ())
    found = {dim: axis for dim, axis in zip(chosen, labels, strict=False) if dim is not None}
    return tuple(chosen), {**found, **coords}


def set_data(
    new_data: Mapping[str, Any], model: Books | None = None, *, coords: Mapping[str, Any] | None = None
) -> None:
    """Give Data of a model other values, in place.

    Parameters
    ----------
    new_data : dict
        New values by the names of Data. Lengths may differ along dimensions that are not fixed.
    model : Model, optional
        The model; by default that of the `with` block.
    coords : dict, optional
        New labels; needed where a dimension with labels gets another length.

    Examples
    --------
    >>> import ppl as pm
    >>> with pm.Model(coords={"row": [0, 1, 2]}) as model:
    ...     x = pm.Data("x", [1.0, 2.0, 3.0], dims="row")
    ...     y = pm.Normal("y", x, 1, dims="row")
    ...     pm.set_data({"x": [4.0, 5.0]}, coords={"row": [3, 4]})
    >>> pm.draw(y).shape
    (2,)
    """
    model = modelcontext(model)
    new = dict(_fitting(model, name, value) for name, value in new_data.items())
    check_lengths(model, new, coords or {})
    check_indices([i for v in model.root.named_vars.values() for i in v.inputs], new)
    before = {variable: variable.get_value() for variable in new}
    try:
        for variable, array in new.items():
            variable.set_value(array)
        check_observations(model.root, new)
    except Exception:
        for variable, array in before.items():
            variable.set_value(array)
        raise
    relabel(model, coords or {})


def _fitting(model: Books, name: str, value: Any) -> tuple[Variable, np.ndarray]:
    """The Data that a name means, and its new value."""
    known = {v.name: v for v in model.data_vars}
    full = model.name_for(name)
    if full not in known and (full in model.named_vars or name in model.named_vars):
        raise TypeError(
            f"{name!r} is no Data: only what pm.Data(...) made gets other values. pm.do sets a variable from outside."
        )
    if full not in known:
        raise KeyError(f"the model has no Data {name!r}; it has {', '.join(map(str, known)) or 'none'}")
    variable = known[full]
    array = _numbers(value, full)
    if array.ndim != variable.ndim:
        raise ValueError(f'Data "{full}" has {variable.ndim} axes, the new value has {array.ndim}')
    if array.dtype.kind == "f" and variable.dtype[0] in "iu":
        if not np.all(array == np.floor(array)):
            raise TypeError(f'Data "{full}" holds integers; the new value is not whole')
        array = array.astype(variable.dtype)
    _check_missing(full, np.asarray(variable.value), array)
    return variable, array


def _check_missing(name: str, old: np.ndarray, new: np.ndarray) -> None:
    """Values that are missing are variables of the model, so they can be neither more nor fewer than they were."""
    before, now = (np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool) for x in (old, new))
    if not before.any() and now.any():
        raise ValueError(f'Data "{name}": {int(now.sum())} of the new values are missing, and none were before')
    if before.any() and not np.array_equal(before, now):
        raise ValueError(
            f'Data "{name}": missing values are variables of the model, so they must stay where they were. '
            "Build the model anew for data with other missing values."
        )


def get_data(filename: str) -> BytesIO:
    """The content of one of the data files of PyMC's examples, which is downloaded from their repository."""
    import urllib.parse
    import urllib.request

    try:
        with urllib.request.urlopen(EXAMPLES + urllib.parse.quote(filename), timeout=SECONDS) as answer:
            return BytesIO(answer.read())
    except OSError as error:
        raise OSError(
            f"get_data({filename!r}): the file cannot be had from {EXAMPLES} ({error}). Read it from disk in its place."
        ) from error
