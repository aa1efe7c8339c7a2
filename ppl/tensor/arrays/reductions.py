"""Reductions and scans along axes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.shaping import broadcast_to, moveaxis
from ppl.tensor.core.elementwise import isnan, maximum, sqrt, square, switch
from ppl.tensor.core.later import jnf, jsp
from ppl.tensor.core.ops import Reduction, TensorOp, as_summed, cast_to, normal_axis
from ppl.tensor.core.sizes import common_shape, size_along
from ppl.tensor.tensor import Tensor, TensorType, as_tensor, dtype_name, function, told
from ppl.xla.later import jax, jnp


def _tupled(f: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's reduction `f` for axes in a tuple."""
    return lambda x, axis, keepdims: f(x, axis=tuple(axis), keepdims=keepdims)


def nan_of_empty(f: Callable[..., Any]) -> Callable[..., Any]:
    """A JAX function that takes axes away, where there may be nothing along them: nan, as in NumPy."""

    @functools.wraps(f)
    def run(x: Any, *q: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        if jnp.size(x):
            return f(x, *q, axis=axis, keepdims=keepdims and jnp.ndim(x) > 0, **options)  # a number has no axes
        rest = jax.eval_shape(functools.partial(jnp.sum, axis=axis, keepdims=keepdims), x).shape
        return jnp.full((*[n for each in q for n in jnp.shape(each)], *rest), jnp.nan, x.dtype)

    return run


class Accumulation(Reduction):
    """Adds or multiplies; with the arguments of NumPy and PyTensor, whose third one is the dtype of the result."""

    def __call__(  # type: ignore[override]
        self,
        input: Any,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        acc_dtype: Any = None,
        *,
        name: str | None = None,
    ) -> Tensor:
        if isinstance(dtype, bool):  # `keepdims` stands third where there is no dtype, as in `max`
            dtype, keepdims = None, dtype
        if acc_dtype is None:
            return super().__call__(input, axis, keepdims, dtype=dtype, name=name)
        kind = dtype or super().__call__(input, axis, keepdims).dtype
        result = cast_to(super().__call__(input, axis, keepdims, dtype=acc_dtype), dtype_name(kind))
        return result if name is None else result.copy(name)


sum = Accumulation("sum", _tupled(jnf.sum), "sum")
prod = Accumulation("prod", _tupled(jnf.prod), "sum", also=("product",))
mean = Accumulation("mean", _tupled(jnf.mean), "float")
max = Reduction("max", _tupled(jnf.max), also=("amax",))
min = Reduction("min", _tupled(jnf.min), also=("amin",))
all = Reduction("all", _tupled(jnf.all), "bool")
any = Reduction("any", _tupled(jnf.any), "bool")
logsumexp = Reduction("logsumexp", _tupled(jsp.logsumexp), "float")
nansum = Reduction("nansum", _tupled(jnf.nansum), "sum")
nanprod = Reduction("nanprod", _tupled(jnf.nanprod), "sum")
nanmean = Reduction("nanmean", _tupled(jnf.nanmean), "float")
nanmax = Reduction("nanmax", _tupled(jnf.nanmax))
nanmin = Reduction("nanmin", _tupled(jnf.nanmin))
median = Reduction("median", _tupled(nan_of_empty(jnf.median)), "float")
count_nonzero = Reduction("count_nonzero", _tupled(jnf.count_nonzero), "index")


class _ArgReduction(Reduction):
    """The position of an entry along one axis, or in the flattened array."""

    one_axis = True


def _arg(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis, keepdims: f(
        x, axis=axis[0] if len(axis) < jnp.ndim(x) or len(axis) == 1 else None, keepdims=keepdims
    )


argmax = _ArgReduction("argmax", _arg(jnf.argmax), "index")
argmin = _ArgReduction("argmin", _arg(jnf.argmin), "index")


class _Cumulative(TensorOp):
    """Running totals along an axis; the whole array in order where the axis is None."""

    def __init__(self, name: str, lower: Callable[..., Any], result: Literal["same", "float", "sum"] = "same") -> None:
        super().__init__(name, lower)
        self.result = result

    def __call__(self, x: Any, axis: Any = None, *, name: str | None = None) -> Tensor:
        x = as_tensor(x)
        if axis is None:
            x, axis = (x if x.ndim == 1 else x.reshape((-1,))), 0
        x = as_summed(x, self.result)
        return self.build((x,), {"axis": normal_axis(self.name, x, axis)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return inputs[0].type


cumsum = _Cumulative("cumsum", lambda x, axis: jnp.cumsum(x, axis=axis), "sum")
cumprod = _Cumulative("cumprod", lambda x, axis: jnp.cumprod(x, axis=axis), "sum")
cummax = _Cumulative("cummax", lambda x, axis: jnp.maximum.accumulate(x, axis=axis))
cummin = _Cumulative("cummin", lambda x, axis: jnp.minimum.accumulate(x, axis=axis))
cumlogsumexp = _Cumulative("cumlogsumexp", lambda x, axis: jnp.logaddexp.accumulate(x, axis=axis), "float")


@function()
def nancumsum(x: Any, axis: int | None = None) -> Tensor:
    """Running sums of the entries that are numbers."""
    return cumsum(switch(isnan(x), 0, x), axis)


@function()
def nancumprod(x: Any, axis: int | None = None) -> Tensor:
    """Running products of the entries that are numbers."""
    return cumprod(switch(isnan(x), 1, x), axis)


@function()
def cumulative_sum(x: Any, axis: int | None = None) -> Tensor:
    """`cumsum`, by the array API's name."""
    return cumsum(x, axis)


@function()
def cumulative_prod(x: Any, axis: int | None = None) -> Tensor:
    """`cumprod`, by the array API's name."""
    return cumprod(x, axis)


@function()
def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, *, name: str | None = None) -> Tensor:
    """The mean squared deviation from the mean; `ddof` is taken from the count."""
    input = as_tensor(input)
    squares = sum(square(input - mean(input, axis, keepdims=True)), axis, keepdims)
    count = size_along(input, axis) - ddof
    if isinstance(count, Tensor):
        count = cast_to(maximum(count, 0), np.finfo(squares.dtype).dtype.name)
    else:
        count = count if count > 0 else 0
    result = squares / count
    return result if name is None else result.copy(name)


@function()
def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, *, name: str | None = None) -> Tensor:
    """The square root of `var`."""
    return sqrt(var(input, axis, ddof, keepdims), name=name)


@function()
def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Largest minus smallest."""
    return max(a, axis, keepdims) - min(a, axis, keepdims)


class AlongAxes(TensorOp):
    """Keeps the shape; works along some axes, all where None."""

    def __call__(self, c: Any, axis: Any = None, *, name: str | None = None) -> Tensor:
        c = cast_to(as_tensor(c), np.result_type(as_tensor(c).dtype, np.float32).name)
        axes = axis if isinstance(axis, tuple) else (tuple(range(c.ndim)) if axis is None else (axis,))
        return self.build((c,), {"axis": tuple(normal_axis(self.name, c, a) for a in axes)}, name)

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        return inputs[0].type


def _softmax(x: Any, axis: tuple[int, ...]) -> Any:
    weights = jnp.exp(x - jnp.max(x, axis=axis, keepdims=True, initial=-jnp.inf))
    return weights / jnp.sum(weights, axis=axis, keepdims=True)


softmax = AlongAxes("softmax", _softmax)


def _log_softmax(x: Any, axis: tuple[int, ...]) -> Any:
    """Shifted by the largest first: that of an entry far above all others is next to 0, and keeps its digits."""
    largest = jnp.max(x, axis=axis, keepdims=True, initial=-jnp.inf)
    shifted = x - jax.lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0.0))
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=axis, keepdims=True))


log_softmax = AlongAxes("log_softmax", _log_softmax)


@function()
def average(x: Any, axis: Any = None, weights: Any = None) -> Tensor:
    """The mean, or the mean weighted by `weights`."""
    x = as_tensor(x)
    if weights is None:
        return mean(x, axis)
    weights = as_tensor(weights)
    if weights.ndim == 1 and x.ndim > 1:
        along = normal_axis("average", x, axis)
        if None not in (weights.type.shape[0], x.type.shape[along]) and weights.type.shape[0] != x.type.shape[along]:
            raise ValueError(f"average: {told(weights)} are not as many as axis {along} of {told(x)} is long")
        weights = moveaxis(weights.reshape((1,) * (x.ndim - 1) + (-1,)), -1, along)
    return sum(x * weights, axis) / sum(broadcast_to(weights, common_shape([x, weights])), axis)


@function()
def add_n(tensors: Sequence[Any]) -> Tensor:
    """The sum of several arrays, entry by entry.

    >>> add_n([1.0, np.arange(2.0), 3.0]).eval()
    array([4., 5.])
    """
    terms = [as_tensor(t) for t in tensors]
    if not terms:
        raise ValueError("add_n: there is nothing to add")
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
