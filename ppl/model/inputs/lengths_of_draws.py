"""The lengths of a draw that are not known when its graph is built, as expressions of data."""

from __future__ import annotations

from typing import Any

from ppl.distributions.declaration.distribution import default_point
from ppl.graph import substitute
from ppl.tensor.core.sizes import shape
from ppl.tensor.tensor import Tensor, as_tensor


def shape_given(rv: Tensor, values: Any) -> tuple[Any, ...]:
    """The shape of a variable, with symbolic lengths in terms of data."""
    dims = []
    for i, dim in enumerate(shape(rv)):
        dims.append(dim if isinstance(dim, int) else _length_of(rv, i, values))
    return tuple(dims)


def _length_of(rv: Any, axis: int, values: Any) -> Tensor:
    """A length that is not known when the graph is built, from the sizes or the parameters of a draw."""
    static = rv.attrs["size"]
    symbolic = list(rv.inputs[len(rv.inputs) - rv.attrs["sizes"] :]) if rv.attrs["sizes"] else []
    if static is not None and axis < len(static):
        order = [i for i, n in enumerate(static) if n is None]
        return substitute(symbolic[order.index(axis)], values)
    start = as_tensor(
        default_point(rv.family, [substitute(p, values) for p in rv.parameters], rv.family.support_for(rv.parameters))
    )
    return shape(start)[axis - rv.ndim]
