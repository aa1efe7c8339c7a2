"""Which axes belong together: those of one name.

Operands are brought to common dims by moving axes and adding axes of length one; axes on the left that an operand has
not are left out, as by position they would be: so `alpha[city] + beta` is the graph that it is without names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.tensor as tt
from ppl.tensor.tensor import Tensor
from ppl.xtensor.type import XTensorVariable


def common_dims(xs: Sequence[XTensorVariable], exclude: Sequence[str] = ()) -> dict[str, int | None]:
    """The dims of several tensors in the order in which they come, with their lengths where these are known."""
    found: dict[str, int | None] = {}
    for x in xs:
        for dim, n in zip(x.dims, x.node.type.shape, strict=True):
            if dim in exclude:
                continue
            known = found.setdefault(dim, n)
            if known is None:
                found[dim] = n
            elif n is not None and n != known:
                shown = "; ".join(map(repr, xs))
                raise ValueError(f"Dimension {dim!r} has conflicting lengths, {known} and {n}, in {shown}")
    return found


def moved(x: XTensorVariable, dims: Sequence[str]) -> Tensor:
    """The plain tensor with its axes in this order."""
    order = tuple(x.dims.index(dim) for dim in dims)
    return x.node if order == tuple(range(x.ndim)) else tt.transpose(x.node, order)


def aligned(x: XTensorVariable, dims: Sequence[str], keep: int = 0) -> Tensor:
    """The plain tensor with an axis for each of these dims, of length one where it has none of this name; such axes on
    the left are left out, but among the last `keep`."""
    node = moved(x, [dim for dim in dims if dim in x.dims])
    first = next((i for i, dim in enumerate(dims) if dim in x.dims), len(dims))
    wanted = dims[min(first, len(dims) - keep) :]
    missing = tuple(i for i, dim in enumerate(wanted) if dim not in x.dims)
    return tt.expand_dims(node, missing) if missing else node


def lengths(xs: Sequence[XTensorVariable], exclude: Sequence[str] = ()) -> dict[str, Any]:
    """The common dims with their lengths, symbols where these are only known when the program runs."""
    known = common_dims(xs, exclude)
    return {dim: next(x.sizes[dim] for x in xs if dim in x.dims) if n is None else n for dim, n in known.items()}


def spread(x: XTensorVariable, sizes: dict[str, Any]) -> XTensorVariable:
    """A tensor repeated along the dims that it has not, all in this order."""
    node = aligned(x, list(sizes))
    if node.ndim == len(sizes) and all(dim in x.dims for dim in sizes):
        return XTensorVariable(node, sizes)
    return XTensorVariable(tt.broadcast_to(node, tuple(sizes.values())), sizes)
