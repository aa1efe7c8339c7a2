"""Entries of labelled tensors, by xarray's rules: PyTensor's `pytensor.xtensor.indexing`.

An index is a number, a slice, or an array with dims of its own, which take the place of the dim that it indexes. Arrays
that share a dim are taken together, point by point; others all with all. Each group of arrays is one gather of the
plain tensor, so that `effect.isel(city=city_of_row)` is `effect[city_of_row]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of
from ppl.xtensor.alignment import aligned, common_dims
from ppl.xtensor.shape import _missing
from ppl.xtensor.type import XTensorVariable, as_xtensor, function, is_labelled_array


@function
def isel(
    x: Any, indexers: dict[str, Any] | None = None, drop: bool = False, missing_dims: str = "raise", **by_name: Any
) -> XTensorVariable:
    """Entries by the names of dims: `x.isel(city=0)`, `x.isel({"city": rows})`. `drop` is xarray's, of labels."""
    x = as_xtensor(x)
    if by_name and indexers is not None:
        raise ValueError("Cannot pass both indexers and indexers_kwargs to isel")
    index: list[Any] = [slice(None)] * x.ndim
    for dim, part in (by_name or indexers or {}).items():
        if part is Ellipsis:
            raise TypeError("Ellipsis (...) is an invalid labeled index")
        if dim in x.dims:
            index[x.dims.index(dim)] = part
        else:
            _missing(missing_dims, f"Dimension {dim} does not exist. Expected one of {x.dims}")
    return getitem(x, tuple(index))


@function
def getitem(x: Any, index: Any) -> XTensorVariable:
    """Entries by place, or by a dict of the names of dims."""
    x = as_xtensor(x)
    if isinstance(index, dict):
        return isel(x, index)
    parts = _filled(x, index if isinstance(index, tuple) else (index,))
    parts = [_part(part, dim) for part, dim in zip(parts, x.dims, strict=True)]
    dims = _dims_after(x, parts)
    return XTensorVariable(_taken(x, parts, dims), dims, made_by=(x, parts, dims))


def _filled(x: XTensorVariable, parts: tuple[Any, ...]) -> list[Any]:
    """A part for each axis."""
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if len(parts) - len(dots) > x.ndim:
        raise IndexError(f"Too many indices: {len(parts)} for the dims {x.dims}")
    whole = [slice(None)] * (x.ndim - len(parts) + len(dots))
    at = dots[0] if dots else len(parts)
    return [*parts[:at], *whole, *parts[at + len(dots) :]]


def _part(part: Any, dim: str) -> Any:
    """One part of an index: a slice of plain tensors, a number, or a labelled array of whole numbers."""
    if part is None:
        raise TypeError("labelled tensors are not indexed with None (np.newaxis): use expand_dims")
    if isinstance(part, slice):
        return slice(*(p.node if isinstance(p, XTensorVariable) else p for p in (part.start, part.stop, part.step)))
    found = _labelled(part, dim)
    if found.dtype == "bool":
        if found.ndim != 1:
            raise NotImplementedError(f"a boolean index has one axis, got {found!r}")
        if found.dims != (dim,):
            raise IndexError(
                f"Boolean indexer should be unlabeled or on the same dimension to the indexed array. Indexer is on "
                f"{found.dims} but the target dimension is {dim}."
            )
        chosen: Any = np.nonzero(value_of(found.node))[0] if is_constant(found.node) else tt.nonzero(found.node)[0]
        return XTensorVariable(as_tensor(chosen), (dim,))
    if found.dtype[0] not in "ui":
        raise TypeError(f"Numerical indices must be integers or boolean, got {found!r} for {dim!r}")
    return found


def _labelled(part: Any, dim: str) -> XTensorVariable:
    if isinstance(part, XTensorVariable) or is_labelled_array(part):
        return as_xtensor(part)
    if isinstance(part, tuple) and len(part) == 2 and _is_names(part[0]):
        if isinstance(part[1], XTensorVariable):
            raise IndexError(f"{part[1]!r} has names already, so {part[0]!r} is not given to it: use rename")
        return as_xtensor(as_tensor(part[1]), part[0])
    node = part if isinstance(part, Tensor) else as_tensor(part)
    if node.ndim > 1:
        raise IndexError("Unlabeled multi-dimensional array cannot be used for indexing")
    return XTensorVariable(node, (dim,)[: node.ndim])


def _is_names(x: Any) -> bool:
    return isinstance(x, str) or (isinstance(x, tuple | list) and all(isinstance(d, str) for d in x))


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part.start is None and part.stop is None and part.step is None


def _is_array(part: Any) -> bool:
    return isinstance(part, XTensorVariable) and part.ndim > 0


def _dims_after(x: XTensorVariable, parts: list[Any]) -> tuple[str, ...]:
    """The dims of the result, in the order in which the parts of the index bring them."""
    try:
        common_dims([part for part in parts if _is_array(part)])
    except ValueError as error:
        raise IndexError(f"Dimension of indexers mismatch: {error}") from None
    used = max((i + 1 for i, part in enumerate(parts) if not _is_whole(part)), default=0)
    named = [(dim,) if isinstance(part, slice) else part.dims for part, dim in zip(parts, x.dims, strict=True)]
    first = [d for dims in named[:used] for d in dims]
    return tuple(dict.fromkeys([*first, *x.dims[used:]]))


def _taken(x: XTensorVariable, parts: list[Any], dims: tuple[str, ...]) -> Tensor:
    """The entries: slices and numbers first, then one gather for each group of arrays that share dims."""
    node, axes, arrays = _basic(x, _with_ranges(x, parts))
    while arrays:
        group = _group(arrays)
        named = tuple(common_dims(list(group.values())))
        places = [axes.index(axis) for axis in group]
        index = [aligned(part, named) for part in group.values()]
        if len(group) == 1:
            node = node[(slice(None),) * places[0] + (index[0],)]
            axes[places[0] : places[0] + 1] = named
        else:
            rest = [i for i in range(node.ndim) if i not in places]
            node = tt.transpose(node, (*places, *rest))[tuple(index)]
            axes = [*named, *(axes[i] for i in rest)]
        arrays = {axis: part for axis, part in arrays.items() if axis not in group}
    order = tuple(axes.index(d) for d in dims)
    return node if order == tuple(range(node.ndim)) else tt.transpose(node, order)


def _with_ranges(x: XTensorVariable, parts: list[Any]) -> list[Any]:
    """Slices along a dim that arrays bring too, as arrays: they are taken point by point with these."""
    brought = {d for part in parts if _is_array(part) for d in part.dims}
    return [
        XTensorVariable(tt.arange(n)[part], (dim,)) if isinstance(part, slice) and dim in brought else part
        for part, dim, n in zip(parts, x.dims, x.shape, strict=True)
    ]


Axes = list[Any]  # a dim, or the number of an axis that an array is still to index


def _basic(x: XTensorVariable, parts: list[Any]) -> tuple[Tensor, Axes, dict[int, XTensorVariable]]:
    """The tensor after slices and numbers, what its axes are, and the arrays that are left by their axes."""
    index = [slice(None) if _is_array(part) else part for part in parts]
    index = [_number(part.node) if isinstance(part, XTensorVariable) else part for part in index]
    node = x.node if all(map(_is_whole, index)) else x.node[tuple(index)]
    axes: Axes = [
        i if _is_array(part) else dim
        for i, (part, dim) in enumerate(zip(parts, x.dims, strict=True))
        if isinstance(part, slice) or part.ndim
    ]
    return node, axes, {i: part for i, part in enumerate(parts) if _is_array(part)}


def _number(node: Tensor) -> Any:
    return int(value_of(node)) if is_constant(node) else node


def _group(parts: dict[int, XTensorVariable]) -> dict[int, XTensorVariable]:
    """The first array with all that share dims with it, directly or through others."""
    chosen: dict[int, XTensorVariable] = {}
    dims = {*next(iter(parts.values())).dims}
    while True:
        found = {axis: part for axis, part in parts.items() if dims & {*part.dims}}
        if len(found) == len(chosen):
            return chosen
        chosen, dims = found, {d for part in found.values() for d in part.dims}


# --- entries replaced -------------------------------------------------------------------------------------------------
@function
def set(x: XTensorVariable, value: Any) -> XTensorVariable:
    """What the indexed tensor would be with other values at the entries taken: `x[index].set(value)`."""
    return _updated("set", x, value, tt.set_subtensor)


@function
def inc(x: XTensorVariable, value: Any) -> XTensorVariable:
    """What the indexed tensor would be with the values added to the entries taken: `x[index].inc(value)`."""
    return _updated("inc", x, value, tt.inc_subtensor)


def _updated(what: str, view: XTensorVariable, value: Any, update: Any) -> XTensorVariable:
    if view.made_by is None:
        raise ValueError(f"{what} can only be called on the output of an index (or isel) operation, not on {view!r}")
    x, parts, dims = view.made_by
    y = value if isinstance(value, XTensorVariable) or is_labelled_array(value) else as_tensor(value)
    y = as_xtensor(y, dims[len(dims) - y.ndim :] if isinstance(y, Tensor) else None)
    if not {*y.dims} <= {*dims}:
        raise ValueError(f"Value dimensions {y.dims} must be a subset of the indexed dimensions {dims}")
    if any(map(_is_array, parts)):
        places = [
            tt.arange(n)[part] if isinstance(part, slice) else part for part, n in zip(parts, x.shape, strict=True)
        ]
        arrays = [
            XTensorVariable(part, (dim,)) if isinstance(part, Tensor) else part
            for part, dim in zip(places, x.dims, strict=True)
        ]
        index = tuple(aligned(part, dims) for part in arrays)
    else:
        index = tuple(_number(part.node) if isinstance(part, XTensorVariable) else part for part in parts)
    return XTensorVariable(update(x.node[index], aligned(y, dims)), x.dims)


# --- some of the entries ----------------------------------------------------------------------------------------------
def _some(x: Any, what: str, indexers: Any, by_name: dict[str, Any], part: Any) -> XTensorVariable:
    x = as_xtensor(x)
    if by_name and indexers is not None:
        raise ValueError(f"Cannot pass both indexers and indexers_kwargs to {what}")
    chosen = by_name or indexers
    numbers = chosen if isinstance(chosen, dict) else dict.fromkeys(x.dims, 5 if chosen is None else chosen)
    return isel(x, {dim: part(x, dim, n) for dim, n in numbers.items()})


@function
def head(x: Any, indexers: Any = None, **by_name: Any) -> XTensorVariable:
    """The first entries along dims; five where no number is given."""
    return _some(x, "head", indexers, by_name, lambda x, dim, n: slice(None, n))


@function
def tail(x: Any, indexers: Any = None, **by_name: Any) -> XTensorVariable:
    """The last entries along dims; five where no number is given."""
    return _some(x, "tail", indexers, by_name, lambda x, dim, n: slice(_before(x.sizes[dim], n), None))


def _before(length: Any, n: Any) -> Any:
    return max(length - n, 0) if isinstance(length, int) and isinstance(n, int) else tt.maximum(length - n, 0)


@function
def thin(x: Any, indexers: Any = None, **by_name: Any) -> XTensorVariable:
    """Each n-th entry along dims."""
    if indexers is None and not by_name:
        raise TypeError("thin() indexers must be either dict-like or a single integer")
    return _some(x, "thin", indexers, by_name, lambda x, dim, n: slice(None, None, n))
