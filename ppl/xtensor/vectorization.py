"""Graphs with further named axes: PyTensor's `pytensor.xtensor.vectorization`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ppl.tensor as tt
from ppl.tensor.core.labelled import bare
from ppl.xtensor.alignment import aligned, common_dims
from ppl.xtensor.type import XTensorVariable, as_xtensor


def vectorize_graph(outputs: Any, replace: Mapping[Any, Any], *, new_tensor_dims: Sequence[str] = ()) -> Any:
    """`outputs` with tensors replaced by others that have further dims; the results have these on the left.

    Labelled tensors may have new dims anywhere. Plain ones have them in front, and `new_tensor_dims` names these.

    >>> x, rows = ppl.xtensor.xtensor("x", dims="k"), ppl.xtensor.xtensor("rows", dims=("k", "row"))
    >>> ppl.xtensor.vectorization.vectorize_graph(x.sum("k"), {x: rows}).dims
    ('row',)
    """
    several = isinstance(outputs, list | tuple)
    wanted = list(outputs) if several else [outputs]
    news = {old: _replacement(old, new) for old, new in replace.items()}
    added = [XTensorVariable(n.node, n.dims) for n in news.values() if isinstance(n, XTensorVariable)]
    held = {d for old in replace if isinstance(old, XTensorVariable) for d in old.dims}
    brought = [d for d in common_dims(added) if d not in held and d not in new_tensor_dims]
    dims = (*brought, *new_tensor_dims)
    plain = {bare(old): _in_front(old, new, dims, new_tensor_dims) for old, new in news.items()}
    found = tt.vectorize_graph([bare(out) for out in wanted], plain)
    results = [
        XTensorVariable(node, (*dims, *out.dims)) if isinstance(out, XTensorVariable) else node
        for node, out in zip(found, wanted, strict=True)
    ]
    return results if several else results[0]


def _replacement(old: Any, new: Any) -> Any:
    """What a tensor is replaced by, checked to have the dims that it has."""
    if not isinstance(old, XTensorVariable):
        return bare(new)
    new = as_xtensor(new)
    missing = sorted(set(old.dims) - set(new.dims))
    if missing:
        raise ValueError(f"Vectorized input {new!r} is missing pre-existing dims: {missing}")
    return new


def _in_front(old: Any, new: Any, dims: Sequence[str], of_tensors: Sequence[str]) -> Any:
    """The replacement with all new axes on the left."""
    if isinstance(old, XTensorVariable):
        return aligned(new, [*dims, *old.dims], keep=old.ndim)
    count = new.ndim - old.ndim
    if count > len(of_tensors):
        raise ValueError(
            f"{new!r} has {count} axes more than {old!r}: name them by new_tensor_dims=, which is {tuple(of_tensors)}"
        )
    return new
