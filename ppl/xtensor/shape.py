"""Axes in another order, under other names, more of them or fewer: PyTensor's `pytensor.xtensor.shape`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.tensor.core.labelled import bare
from ppl.tensor.tensor import Tensor, is_constant, value_of
from ppl.xtensor.alignment import common_dims, lengths, moved, spread
from ppl.xtensor.type import FUNCTIONS, XTensorVariable, as_xtensor, dims_of, function


@function
def transpose(x: Any, *dim: Any, missing_dims: str = "raise") -> XTensorVariable:
    """Axes in another order; an ellipsis stands for those that are not named, no name at all for the opposite order."""
    x = as_xtensor(x)
    unknown = [d for d in dim if d is not Ellipsis and d not in x.dims]
    if unknown:
        _missing(missing_dims, f"Dimensions {unknown} do not exist in {x!r}. Expected one or more of: {x.dims}")
        dim = tuple(d for d in dim if d not in unknown)
    if dim.count(Ellipsis) > 1:
        raise ValueError(f"Ellipsis (...) can only appear once in the dimensions, got {dim}")
    if not dim:
        dim = (Ellipsis,) if unknown else x.dims[::-1]
    if Ellipsis in dim:
        at = dim.index(Ellipsis)
        dim = (*dim[:at], *(d for d in x.dims if d not in dim), *dim[at + 1 :])
    if sorted(dim) != sorted(x.dims):
        raise ValueError(f"{dim} must be a permuted list of {x.dims}, unless one of them is an ellipsis (...)")
    return (
        x if dim == x.dims else XTensorVariable(moved(x, dim), dim, None if isinstance(x.made_by, tuple) else x.made_by)
    )


def _missing(missing_dims: str, text: str) -> None:
    """Raise, warn or do nothing where a dim is not there."""
    if missing_dims not in ("raise", "warn", "ignore"):
        raise ValueError(f"missing_dims is 'raise', 'warn' or 'ignore', got {missing_dims!r}")
    if missing_dims == "raise":
        raise ValueError(text)
    if missing_dims == "warn":
        warnings.warn(text, UserWarning, stacklevel=4)


@function
def rename(x: Any, name_dict: Mapping[str, str] | None = None, **names: str) -> XTensorVariable:
    """Other names for axes, as `rename(x, {"old": "new"})` or `rename(x, old="new")`."""
    x = as_xtensor(x)
    if name_dict is not None and names:
        raise ValueError("Cannot use both positional and keyword names in rename")
    new = dict(names if name_dict is None else name_dict)
    for old in new:
        if old not in x.dims:
            raise ValueError(f"Cannot rename {old} to {new[old]}: {old} not in {x.dims}")
    return XTensorVariable(x.node, [new.get(d, d) for d in x.dims])


def _groups(what: str, dim: Any, dims: Mapping[str, Any]) -> dict[str, Any]:
    if dim is not None and dims:
        raise ValueError(f"Cannot use both positional dim and keyword dims in {what}")
    return dict(dims if dim is None else dim)


@function
def stack(x: Any, dim: Mapping[str, Sequence[str]] | None = None, **dims: Sequence[str]) -> XTensorVariable:
    """Several axes as one, which comes last: `stack(x, cell=("row", "column"))`."""
    x = as_xtensor(x)
    for new, old in _groups("stack", dim, dims).items():
        if isinstance(old, str):
            raise TypeError(f"Stacking dims must be a sequence of strings, got a single string: {old}")
        if not old:
            raise ValueError(f"Stacking dims must not be empty: got {old}")
        if not set(old) <= set(x.dims):
            raise ValueError(f"Stacking dims {tuple(old)} must be a subset of {x.dims}")
        if new in x.dims:
            raise ValueError(f"Stacking dim {new} must not be in {x.dims}")
        rest = [d for d in x.dims if d not in old]
        shape = tuple(x.sizes[d] for d in rest)
        x = XTensorVariable(moved(x, [*rest, *old]).reshape((*shape, _product(x, old))), [*rest, new])
    return x


def _product(x: XTensorVariable, dims: Sequence[str]) -> Any:
    size: Any = 1
    for d in dims:
        size = size * x.sizes[d]
    return size


@function
def unstack(x: Any, dim: Mapping[str, Mapping[str, Any]] | None = None, **dims: Mapping[str, Any]) -> XTensorVariable:
    """One axis as several, whose lengths are given: `unstack(x, cell={"row": 2, "column": 3})`. They come last."""
    x = as_xtensor(x)
    for old, new in _groups("unstack", dim, dims).items():
        if old not in x.dims:
            raise ValueError(f"Dim to unstack {old} must be in {x.dims}")
        if len(new) < 2:
            raise ValueError(f"unstack makes several dims of {old}, got {tuple(new)}: for one use rename")
        if set(new) & set(x.dims):
            raise ValueError(f"Dims to unstack into {tuple(new)} must not be in {x.dims}")
        rest = [d for d in x.dims if d != old]
        shape = (*(x.sizes[d] for d in rest), *map(_length, new.values()))
        x = XTensorVariable(moved(x, [*rest, old]).reshape(shape), [*rest, *new])
    return x


def _length(n: Any) -> Any:
    """A length as a number where it is known, else as the symbol it is."""
    n = bare(n)
    if isinstance(n, Tensor):
        if n.ndim or n.dtype[0] not in "ui":
            raise ValueError(f"a length is a whole number, got {n!r}")
        return int(value_of(n)) if is_constant(n) else n
    if isinstance(n, bool) or int(n) != n:
        raise ValueError(f"a length is a whole number, got {n!r}")
    if n < 0:
        raise ValueError(f"size must be 0 or positive, got: {n}")
    return int(n)


@function
def concat(xtensors: Sequence[Any], dim: str) -> XTensorVariable:
    """Tensors one after the other along a dim; those that do not have it count as one entry of it."""
    xs = [as_xtensor(x) for x in xtensors]
    if not xs:
        raise ValueError("concat needs at least one tensor")
    others = lengths(xs, (dim,))
    order = list(dict.fromkeys(d for x in xs for d in x.dims))
    if dim not in order:
        order = [dim, *order]
    parts = [x if dim in x.dims else expand_dims(x, dim) for x in xs]
    filled = [spread(x, {d: x.sizes[dim] if d == dim else others[d] for d in order}) for x in parts]
    return XTensorVariable(tt.concatenate([x.node for x in filled], axis=order.index(dim)), order)


@function
def squeeze(x: Any, dim: Any = None, drop: Any = None, axis: Any = None) -> XTensorVariable:
    """Without dims of length one: those named, or all that are known to be. `drop` is xarray's, of labels."""
    x = as_xtensor(x)
    if axis is not None:
        if dim is not None:
            raise ValueError("Cannot specify both `dim` and `axis`")
        dim = tuple(x.dims[i] for i in ((axis,) if isinstance(axis, int) else axis))
    known = dict(zip(x.dims, x.node.type.shape, strict=True))
    gone = [d for d, n in known.items() if n == 1] if dim is None else list(dims_of(dim))
    for d in gone:
        if d not in known:
            raise ValueError(f"Dimension {d} not found in {x.dims}")
        if known[d] not in (1, None):
            raise ValueError(f"Dimension {d} has static size {known[d]}, not 1")
    rest = [d for d in x.dims if d not in gone]
    return XTensorVariable(tt.squeeze(x.node, tuple(x.dims.index(d) for d in gone)), rest) if gone else x


@function
def expand_dims(
    x: Any, dim: Any = None, create_index_for_new_dim: Any = None, axis: Any = None, **dim_kwargs: Any
) -> XTensorVariable:
    """With further dims on the left, of length one or of the lengths given. `create_index_for_new_dim` is xarray's, of
    labels."""
    x = as_xtensor(x)
    if dim is not None and dim_kwargs:
        raise ValueError("Cannot specify both `dim` and `**dim_kwargs`")
    sizes = _new_sizes(dim_kwargs if dim is None else dim)
    for d in sizes:
        if d in x.dims:
            raise ValueError(f"Dimension {d} already exists in {x.dims}")
    made = spread(XTensorVariable(tt.expand_dims(x.node, tuple(range(len(sizes)))), [*sizes, *x.dims]), sizes | x.sizes)
    if any(n != 1 for n in sizes.values()):
        made = XTensorVariable(tt.broadcast_to(made.node, (*sizes.values(), *x.shape)), made.dims)
    if axis is None:
        return made
    places = [axis] if isinstance(axis, int) else list(axis)
    if len(places) != len(sizes):
        raise ValueError("lengths of dim and axis should be identical.")
    order = list(x.dims)
    for name, place in zip(sizes, places, strict=True):
        order.insert(place if place >= 0 else len(order) + place + 1, name)
    return transpose(made, *order)


def _new_sizes(dim: Any) -> dict[str, Any]:
    if isinstance(dim, str):
        return {dim: 1}
    if not isinstance(dim, Mapping):
        if not isinstance(dim, Sequence):
            raise TypeError(f"Invalid type for `dim`: {type(dim)}")
        return dict.fromkeys(dims_of(dim), 1)
    sizes = {}
    for name, n in dim.items():
        if isinstance(n, list | tuple | np.ndarray):
            text = f"expand_dims: of the labels of {name!r} only their number is used, {len(n)}"
            warnings.warn(text, UserWarning, stacklevel=4)
        sizes[name] = len(n) if isinstance(n, list | tuple | np.ndarray) else _length(n)
    return sizes


@function
def broadcast(*args: Any, exclude: Any = None) -> tuple[XTensorVariable, ...]:
    """All tensors along the dims of all, but for those excluded, which come last where a tensor has them."""
    if exclude is not None and not isinstance(exclude, str | Sequence):
        raise TypeError(f"exclude must be None, str, or Sequence, got {type(exclude)}")
    xs = [as_xtensor(x) for x in args]
    left_out = () if exclude is None else dims_of(exclude)
    common_dims(xs, left_out)
    sizes = lengths(xs, left_out)
    return tuple(spread(x, sizes | {d: x.sizes[d] for d in left_out if d in x.dims}) for x in xs)


@function
def broadcast_like(x: Any, other: Any, exclude: Any = None) -> XTensorVariable:
    """`x` along all dims of both, in the order of the other."""
    return broadcast(other, x, exclude=exclude)[1]


@function
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> XTensorVariable:
    """One number along all dims of a tensor."""
    x, number = as_xtensor(x), as_xtensor(fill_value)
    if number.ndim:
        raise ValueError(f"fill_value must be a scalar, got {number!r}")
    return FUNCTIONS["second"](x, number.astype(x.dtype if dtype is None else dtype))


@function
def ones_like(x: Any, dtype: Any = None) -> XTensorVariable:
    """Ones along all dims of a tensor."""
    return full_like(x, 1.0, dtype)


@function
def zeros_like(x: Any, dtype: Any = None) -> XTensorVariable:
    """Zeros along all dims of a tensor."""
    return full_like(x, 0.0, dtype)
