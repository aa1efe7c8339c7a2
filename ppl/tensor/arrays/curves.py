"""Functions given by their values at points: interpolated, integrated, differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.tensor.arrays.creation import arange
from ppl.tensor.arrays.indexing import diff
from ppl.tensor.arrays.shaping import concatenate
from ppl.tensor.core.ops import JaxOp, cast_to, floats, normal_axis, unify
from ppl.tensor.core.sizes import shape as shape_of
from ppl.tensor.tensor import Tensor, as_tensor, function
from ppl.xla.later import jnp

interp = JaxOp(
    "interp",
    lambda x, xp, fp, *, left=None, right=None, period=None: jnp.interp(x, xp, fp, left, right, period),
    to_float=True,
)


_trapezoid = JaxOp("trapezoid_at", lambda y, x, *, axis=-1: jnp.trapezoid(y, x, axis=axis), to_float=True)


@function("trapz")
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral by the trapezoidal rule."""
    y = as_tensor(y)
    if x is None:
        where = normal_axis("trapezoid", y, axis)
        (y,) = unify(floats((y,)))
        return _trapezoid(y, dx * cast_to(arange(shape_of(y)[where]), y.dtype), axis=where)
    return _trapezoid(y, x, axis=axis)


@function()
def gradient(f: Any, *spacing: float, axis: Any = None) -> Any:
    """Central differences along each axis (the derivative of a graph is `grad`)."""
    f = as_tensor(f)
    axes = range(f.ndim) if axis is None else ([axis] if isinstance(axis, int) else axis)
    steps = spacing * len(list(axes)) if len(spacing) == 1 else (spacing or (1.0,) * len(list(axes)))
    results = [_slopes(f, normal_axis("gradient", f, a), h) for a, h in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else results


_slopes_op = JaxOp("central_differences", lambda f, *, axis, step: jnp.gradient(f, step, axis=axis), to_float=True)


def _slopes(f: Tensor, axis: int, step: float) -> Tensor:
    return _slopes_op(f, axis=axis, step=float(step))


@function()
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbors in the flattened array, with numbers before and after."""
    between = diff(as_tensor(x).reshape((-1,)))
    parts = [between if part is None else unify((part, between))[0].reshape((-1,)) for part in (to_begin, None, to_end)]
    return concatenate([part for part, given in zip(parts, (to_begin, x, to_end), strict=True) if given is not None])


unwrap = JaxOp("unwrap", lambda x, *, discont=None, axis=-1, period=2 * np.pi: jnp.unwrap(
    x, discont, axis, period), to_float=True)  # fmt: skip
