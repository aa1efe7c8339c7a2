"""Matrices whose rows and columns have names: PyTensor's `pytensor.xtensor.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ppl.tensor as tt
from ppl.xtensor.alignment import aligned, common_dims
from ppl.xtensor.type import XTensorVariable, as_xtensor


def _core(x: XTensorVariable, batch: Sequence[str], core: Sequence[str]) -> Any:
    """The plain tensor with its own axes last."""
    missing = [d for d in core if d not in x.dims]
    if missing:
        raise ValueError(f"At least one core dim={tuple(core)} missing from input {x!r} with dims={x.dims}")
    return aligned(x, [*batch, *core], keep=len(core))


def cholesky(x: Any, lower: bool = True, *, check_finite: bool = True, dims: Sequence[str]) -> XTensorVariable:
    """Cholesky's factor over two dims, rows and columns. `check_finite` is SciPy's: where there is no factor it is
    nan."""
    x = as_xtensor(x)
    if len(dims) != 2:
        raise ValueError(f"Cholesky needs two dims, got {len(dims)}")
    batch = [d for d in x.dims if d not in dims]
    return XTensorVariable(tt.cholesky(_core(x, batch, dims), lower=lower), [*batch, *dims])


def solve(
    a: Any, b: Any, dims: Sequence[str], assume_a: str = "gen", lower: bool = False, check_finite: bool = True
) -> XTensorVariable:
    """x with a x = b. With two dims `b` has one of them, with three also the one that `a` has not, of its columns; the
    dim that both have is gone in the result. `check_finite` is SciPy's."""
    a, b = as_xtensor(a), as_xtensor(b)
    if len(dims) not in (2, 3):
        raise ValueError(f"Solve dims must have length 2 or 3, got {tuple(dims)}")
    columns = [d for d in dims if d not in a.dims]
    square = [d for d in dims if d in a.dims]
    if len(square) != 2 or len(columns) != len(dims) - 2:
        raise ValueError(f"solve: two of {tuple(dims)} are dims of a, which has {a.dims}")
    shared = [d for d in square if d in b.dims]
    if len(shared) != 1:
        raise ValueError(f"solve: just one of {tuple(square)} is a dim of b, which has {b.dims}")
    rows = [d for d in square if d not in shared]
    batch = [d for d in common_dims((a, b)) if d not in dims]
    x = tt.solve(
        _core(a, batch, [*rows, *shared]),
        _core(b, batch, [*shared, *columns]),
        assume_a=assume_a,
        lower=lower,
        b_ndim=1 + len(columns),
    )
    return XTensorVariable(x, [*batch, *rows, *columns])
