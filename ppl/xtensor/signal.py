"""Convolution along a named axis: PyTensor's `pytensor.xtensor.signal`."""

from __future__ import annotations

from typing import Any

import ppl.tensor as tt
from ppl.xtensor.alignment import aligned, common_dims
from ppl.xtensor.shape import concat
from ppl.xtensor.type import XTensorVariable, as_xtensor


def convolve1d(in1: Any, in2: Any, mode: str = "full", *, dims: tuple[str, str]) -> XTensorVariable:
    """The sums Σⱼ aₖ₋ⱼ bⱼ of products along one dim of each, of which the first stays; "full", "valid" or "same" says
    which of them."""
    a, b = as_xtensor(in1), as_xtensor(in2)
    if len(dims) != 2:
        raise ValueError(f"Two dims required, got {dims}")
    if dims[0] == dims[1]:
        raise ValueError(f"The two dims must be unique, got {dims}")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', or 'same', got {mode}")
    for x, dim, other in ((a, dims[0], dims[1]), (b, dims[1], dims[0])):
        if dim not in x.dims or other in x.dims:
            raise ValueError(f"convolve1d: {x!r} has the dim {dim} and not {other}, its dims are {x.dims}")
    if mode == "same":
        before, after = b.sizes[dims[1]] // 2, (b.sizes[dims[1]] - 1) // 2
        pads = [XTensorVariable(tt.zeros((n,), dtype=a.dtype), (dims[0],)) for n in (before, after)]
        a = concat([pads[0], a, pads[1]], dims[0])
    batch = [d for d in common_dims((a, b)) if d not in dims]
    how = "valid" if mode == "same" else mode
    if not batch:
        return XTensorVariable(tt.convolve(a.node, b.node, mode=how), dims[:1])
    rows = tt.vectorize(lambda x, y: tt.convolve(x, y, mode=how), "(n),(m)->(k)")
    parts = [aligned(x, [*batch, dim], keep=1) for x, dim in ((a, dims[0]), (b, dims[1]))]
    return XTensorVariable(rows(*parts), [*batch, dims[0]])
