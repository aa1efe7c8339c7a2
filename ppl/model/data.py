"""Data of a model that may change: `Data`, `set_data`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.model.books import Books
from ppl.model.context import modelcontext
from ppl.model.data_checks import check_indices
from ppl.model.observed import as_data
from ppl.tensor.shaping import DIM
from ppl.tensor.variables import Variable, shared


def Data(
    name: str,
    value: Any,
    *,
    dims: Any = None,
    coords: Mapping[str, Any] | None = None,
    infer_dims_and_coords: bool = False,
    model: Books | None = None,
    mutable: bool | None = None,
) -> Variable:
    """A named array of a model that `set_data` can replace (also with `mutable=False`, which older programs pass)."""
    model = modelcontext(model)
    full = model.check_name(name)
    if infer_dims_and_coords and dims is None and hasattr(value, "index"):
        dims, coords = _dims_of_frame(full, value)
    array = as_data(value, full)
    if isinstance(array, np.ma.MaskedArray):
        raise NotImplementedError(
            f'Data "{full}": {int(np.ma.getmaskarray(array).sum())} values are missing. Missing values are imputed '
            "where plain arrays are given to observed=; Data must be complete."
        )
    array = np.asarray(array)
    variable = shared(array.astype(np.int64) if array.dtype.kind in "ui" else array, full)
    if isinstance(dims, str):
        dims = (dims,)
    if dims is not None:
        if len(dims) != variable.ndim:
            raise ValueError(f'Data "{full}" has {variable.ndim} axes, but {len(dims)} dims: {dims}')
        for axis, dim in enumerate(dims):
            if dim is None:
                continue
            length = np.shape(array)[axis]
            labels = (coords or {}).get(dim)
            known = model.dim_lengths.get(dim)
            if isinstance(known, int) and known != length:
                raise ValueError(
                    f"conflicting sizes for dimension {dim!r}: length {length} on the data {full!r}, "
                    f"length {known} in coords"
                )
            if known is None:
                model.add_coord(dim, labels, length=DIM(variable, axis=axis))
            elif isinstance(known, int):
                model.tie_dim(dim, DIM(variable, axis=axis))
    model.add_named_variable(variable, dims)
    model.data_vars.append(variable)
    return variable


def MutableData(name: str, value: Any, **options: Any) -> Variable:
    """`Data`, by its older name."""
    return Data(name, value, **options)


def ConstantData(name: str, value: Any, **options: Any) -> Variable:
    """`Data`, by its older name."""
    return Data(name, value, **options)


def _dims_of_frame(name: str, value: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    axes = [value.index] + ([value.columns] if hasattr(value, "columns") else [])
    dims = tuple(str(axis.name or f"{name}_dim_{i}") for i, axis in enumerate(axes))
    return dims, {dim: list(axis) for dim, axis in zip(dims, axes, strict=True)}


def set_data(
    new_data: Mapping[str, Any], model: Books | None = None, *, coords: Mapping[str, Any] | None = None
) -> None:
    """Give Data of a model other values; lengths may change where no coordinates fix them, or with new `coords`."""
    model = modelcontext(model)
    for name, value in new_data.items():
        set_one(model, name, value, coords)


def set_one(model: Books, name: str, value: Any, coords: Mapping[str, Any] | None = None) -> None:
    """Another value for one Data variable."""
    known = {v.name: v for v in model.data_vars}
    full = model.name_for(name)
    if full not in known:
        raise KeyError(f"the model has no Data {name!r}; it has {', '.join(map(str, known)) or 'none'}")
    variable = known[full]
    array = as_data(value, full)
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError(f'Data "{full}": {int(np.ma.getmaskarray(array).sum())} of the new values are missing')
    array = np.asarray(array)
    if array.ndim != variable.ndim:
        raise ValueError(f'Data "{full}" has {variable.ndim} axes, the new value has {array.ndim}')
    if array.dtype.kind == "f" and variable.dtype[0] in "iu":
        if not np.all(array == np.floor(array)):
            raise TypeError(f'Data "{full}" holds integers; the new value is not whole')
        array = array.astype(variable.dtype)
    check_indices([i for v in model.named_vars.values() for i in v.inputs], {variable: array})
    for axis, dim in enumerate(model.named_vars_to_dims.get(full, ())):
        if dim is not None:
            _resize(model, full, dim, array.shape[axis], (coords or {}).get(dim), variable, axis)
    variable.set_value(array)


def _resize(model: Books, name: str, dim: str, length: int, labels: Any, variable: Variable, axis: int) -> None:
    """Keep a dimension in step with the data that decide its length."""
    old, known = model.coords.get(dim), model.dim_lengths[dim]
    if labels is not None:
        if len(labels) != length:
            raise ValueError(f"dimension {dim!r}: {len(labels)} new labels for length {length} of {name!r}")
        if isinstance(known, int) and known != length:
            raise ValueError(
                f"dimension {dim!r} was fixed at length {known} when the model was made; {name!r} has now {length}"
            )
        model.coords[dim] = tuple(labels)
    elif isinstance(known, int):
        if known != length:
            raise ValueError(
                f"dimension {dim!r} has length {known} from its coordinates, but the new value of {name!r} has length "
                f"{length}. Make the dimension from Data (no coords for it) to let its length change."
            )
    elif old is not None and len(old) != length:
        raise ValueError(
            f"dimension {dim!r} has length {len(old)} by its labels, the new value of {name!r} has length {length}: "
            f"give new labels too, coords={{{dim!r}: ...}}"
        )


def get_data(filename: str) -> Any:
    """PyMC's example data come over the network; here no program downloads anything at run time."""
    raise FileNotFoundError(
        f"get_data({filename!r}): data sets are not downloaded. Read the file from disk and pass its values."
    )
