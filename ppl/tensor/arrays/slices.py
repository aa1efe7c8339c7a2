"""Slices that start at places computed by the program, as JAX and SymJAX name them; their sizes are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppl.tensor.arrays.indexing import take
from ppl.tensor.arrays.shaping import expand_dims
from ppl.tensor.core.ops import JaxOp, cast_to, normal_axis, unify
from ppl.tensor.tensor import Tensor, as_tensor, function
from ppl.xla.later import jax

_slice = JaxOp("dynamic_slice_op", lambda x, *starts, sizes: jax.lax.dynamic_slice(x, starts, sizes))
_update = JaxOp("dynamic_update_slice_op", lambda x, y, *starts: jax.lax.dynamic_update_slice(x, y, starts))


def _starts(what: str, x: Tensor, starts: Any) -> list[Tensor]:
    """One place for each axis."""
    whole = starts if isinstance(starts, list | tuple) else as_tensor(starts)
    places = [as_tensor(start) for start in whole]
    if len(places) != x.ndim or any(p.ndim or p.dtype[0] not in "ui" for p in places):
        raise ValueError(f"{what}: {x!r} needs {x.ndim} whole numbers to start at, got {starts!r}")
    return [cast_to(place, "int64") for place in places]


@function()
def dynamic_slice(x: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Tensor:
    """The block of fixed sizes that starts at computed places; a start that leaves too little room is moved back.

    >>> import ppl.tensor as tt
    >>> i = tt.lscalar("i")
    >>> dynamic_slice(np.arange(5.0), [i], [2]).eval({i: 1}), dynamic_slice(np.arange(5.0), [i], [2]).eval({i: 4})
    (array([1., 2.]), array([3., 4.]))
    """
    x, sizes = as_tensor(x), tuple(int(n) for n in slice_sizes)
    for axis, (size, known) in enumerate(zip(sizes, x.type.shape, strict=False)):
        if size < 0 or (known is not None and size > known):
            raise ValueError(f"dynamic_slice: axis {axis} of {x!r} has no block of {size} entries")
    if len(sizes) != x.ndim:
        raise ValueError(f"dynamic_slice: {x!r} needs {x.ndim} sizes, got {slice_sizes!r}")
    return _slice(x, *_starts("dynamic_slice", x, start_indices), sizes=sizes)


@function()
def dynamic_slice_in_dim(x: Any, start_index: Any, slice_size: int, axis: int = 0) -> Tensor:
    """`dynamic_slice` along one axis, the others whole."""
    x = as_tensor(x)
    at = normal_axis("dynamic_slice_in_dim", x, axis)
    sizes = [slice_size if a == at else n for a, n in enumerate(x.type.shape)]
    if any(n is None for n in sizes):
        raise ValueError(f"dynamic_slice_in_dim: the other sizes of {x!r} must be known")
    return dynamic_slice(x, [start_index if a == at else 0 for a in range(x.ndim)], sizes)


@function()
def dynamic_update_slice(x: Any, update: Any, start_indices: Any) -> Tensor:
    """`x` with a block replaced that starts at computed places; a start that leaves too little room is moved back."""
    x, update = unify((x, update))
    if update.ndim != x.ndim:
        raise ValueError(f"dynamic_update_slice: {update!r} must have {x.ndim} axes, as {x!r} has")
    return _update(x, update, *_starts("dynamic_update_slice", x, start_indices))


@function()
def dynamic_update_slice_in_dim(x: Any, update: Any, start_index: Any, axis: int) -> Tensor:
    """`dynamic_update_slice` along one axis, from the beginning of the others."""
    x = as_tensor(x)
    at = normal_axis("dynamic_update_slice_in_dim", x, axis)
    return dynamic_update_slice(x, update, [start_index if a == at else 0 for a in range(x.ndim)])


@function("dynamic_index_in_dim")
def index_in_dim(x: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Tensor:
    """The entry at one place along an axis, which stays as an axis of length 1 with `keepdims`."""
    x = as_tensor(x)
    at = normal_axis("index_in_dim", x, axis)
    entry = take(x, index, at)
    return expand_dims(entry, at) if keepdims else entry


@function()
def index_take(x: Any, idx: Any, axes: Any) -> Tensor:
    """The slices of `x` at places given for each of `axes`, stacked in front.

    >>> index_take(np.arange(6.0).reshape(2, 3), (np.array([0, 1]), np.array([2, 0])), (0, 1)).eval()
    array([2., 3.])
    """
    x = as_tensor(x)
    places = [as_tensor(i) for i in (idx if isinstance(idx, list | tuple) else [idx])]
    where = [normal_axis("index_take", x, a) for a in (axes if isinstance(axes, list | tuple) else [axes])]
    if len(places) != len(where):
        raise ValueError(f"index_take: {len(where)} axes need as many arrays of places, got {len(places)}")
    rest = [a for a in range(x.ndim) if a not in where]
    return x.transpose([*where, *rest])[tuple(places)]
