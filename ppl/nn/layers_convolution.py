"""Convolutions and pools over axes (batch, channels, length) or (batch, channels, height, width)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.nn.initializers import glorot_uniform
from ppl.nn.layers_dense import Activation, activated
from ppl.nn.parameters import Layer, axes, layer, length
from ppl.tensor.core.later import jax, jnp
from ppl.tensor.core.ops import JaxOp
from ppl.tensor.tensor import Tensor, as_tensor

_AXES = {1: "batch, channels, length", 2: "batch, channels, height, width"}
_LETTERS = {1: ("NCH", "OIH", "NCH"), 2: ("NCHW", "OIHW", "NCHW")}


def _convolved(x: Any, w: Any, *, strides: Any, padding: Any, dilations: Any) -> Any:
    return jax.lax.conv_general_dilated(
        x, w, strides, padding, rhs_dilation=dilations, dimension_numbers=_LETTERS[len(strides)]
    )


def _convolved_transposed(x: Any, w: Any, *, strides: Any, padding: Any) -> Any:
    return jax.lax.conv_transpose(x, w, strides, padding, dimension_numbers=_LETTERS[len(strides)])


def _pooled(x: Any, *, kind: str, window: Any, strides: Any, padding: Any) -> Any:
    full, steps = (1, 1, *window), (1, 1, *strides)
    around = padding if isinstance(padding, str) else ((0, 0), (0, 0), *padding)
    x = jnp.asarray(x)
    if kind == "MAX":
        low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return jax.lax.reduce_window(x, np.array(low, x.dtype), jax.lax.max, full, steps, around)
    zero = np.array(0, x.dtype)
    total = jax.lax.reduce_window(x, zero, jax.lax.add, full, steps, around)
    return total / jax.lax.reduce_window(jnp.ones_like(x), zero, jax.lax.add, full, steps, around)


CONVOLVE = JaxOp("convolve_channels", _convolved)
CONVOLVE_TRANSPOSED = JaxOp("convolve_channels_transposed", _convolved_transposed)
POOL = JaxOp("pool_channels", _pooled)


def _each(here: Layer, what: str, value: Any, count: int) -> tuple[int, ...]:
    """A positive number for each axis, from one for all or one for each."""
    numbers = (value,) * count if isinstance(value, int | np.integer) else tuple(value)
    if len(numbers) != count or any(not isinstance(n, int | np.integer) or n < 1 for n in numbers):
        raise ValueError(f"{here}: {what} is a positive number, or {count} of them, got {value!r}")
    return tuple(int(n) for n in numbers)


def _padding(here: Layer, padding: Any, count: int) -> Any:
    """ "VALID", "SAME", a number for both ends of all axes, or pairs."""
    if isinstance(padding, str) and padding.upper() in ("VALID", "SAME"):
        return padding.upper()
    if isinstance(padding, int | np.integer) and padding >= 0:
        return ((int(padding),) * 2,) * count
    pairs = () if isinstance(padding, str | int) else tuple(padding)
    if len(pairs) != count or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise ValueError(f"{here}: padding is 'VALID', 'SAME', a number, or {count} pairs of numbers, got {padding!r}")
    return pairs


def _convolution(
    kind: str, count: int, transposed: bool, x: Any, filters: int, size: Any, strides: Any, padding: Any,
    dilations: Any, activation: Activation, W: Any, b: Any, name: str | None,
) -> Tensor:  # fmt: skip
    x = as_tensor(x)
    with layer(kind, name, x) as here:
        axes(here, x, count + 2, _AXES[count])
        if x.dtype[0] != "f":
            raise TypeError(f"{here}: the input is of floats, got {x!r} of dtype {x.dtype}")
        channels = length(here, x, 1, "the number of channels")
        sizes, steps = _each(here, "size", size, count), _each(here, "strides", strides, count)
        w = here.parameter("W", glorot_uniform() if W is None else W, (filters, channels, *sizes))
        around = _padding(here, padding, count)
        if transposed:
            out = CONVOLVE_TRANSPOSED(x, w, strides=steps, padding=around)
        else:
            spread = _each(here, "dilations", dilations, count)
            reach = tuple((n - 1) * d + 1 for n, d in zip(sizes, spread, strict=True))
            if around == "VALID":
                _check_reach(here, x, reach)
            out = CONVOLVE(x, w, strides=steps, padding=around, dilations=spread)
        if b is not None:
            out = out + here.parameter("b", b, (filters,)).reshape((filters, *(1,) * count))
        return activated(out, activation)


def _check_reach(here: Layer, x: Tensor, reach: tuple[int, ...]) -> None:
    if any(n is not None and n < r for n, r in zip(x.type.shape[2:], reach, strict=True)):
        raise ValueError(f"{here}: windows of {reach} are larger than {x!r} of shape {x.type.shape}")


def Conv1D(
    x: Any, filters: int, size: Any, strides: Any = 1, padding: Any = "VALID", dilations: Any = 1,
    activation: Activation = None, W: Any = None, b: Any = 0.0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Correlation with `filters` windows along the last axis; W has axes (filters, channels, size)."""
    return _convolution("Conv1D", 1, False, x, filters, size, strides, padding, dilations, activation, W, b, name)


def Conv2D(
    x: Any, filters: int, size: Any, strides: Any = 1, padding: Any = "VALID", dilations: Any = 1,
    activation: Activation = None, W: Any = None, b: Any = 0.0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Correlation with `filters` windows over height and width; W has axes (filters, channels, height, width)."""
    return _convolution("Conv2D", 2, False, x, filters, size, strides, padding, dilations, activation, W, b, name)


def Conv1DTranspose(
    x: Any, filters: int, size: Any, strides: Any = 1, padding: Any = "VALID", activation: Activation = None,
    W: Any = None, b: Any = 0.0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The input spread out by `strides`, then correlated with the windows: longer by that factor."""
    return _convolution("Conv1DTranspose", 1, True, x, filters, size, strides, padding, 1, activation, W, b, name)


def Conv2DTranspose(
    x: Any, filters: int, size: Any, strides: Any = 1, padding: Any = "VALID", activation: Activation = None,
    W: Any = None, b: Any = 0.0, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The input spread out by `strides`, then correlated with the windows: larger by that factor."""
    return _convolution("Conv2DTranspose", 2, True, x, filters, size, strides, padding, 1, activation, W, b, name)


def _pool(kind: str, count: int, x: Any, size: Any, strides: Any, padding: Any, pool: str, name: str | None) -> Tensor:
    x = as_tensor(x)
    with layer(kind, name, x) as here:
        axes(here, x, count + 2, _AXES[count])
        if pool not in ("MAX", "AVG"):
            raise ValueError(f"{here}: pool is 'MAX' or 'AVG', got {pool!r}")
        window = _each(here, "size", size, count)
        steps = window if strides is None else _each(here, "strides", strides, count)
        around = _padding(here, padding, count)
        if around == "VALID":
            _check_reach(here, x, window)
        return POOL(x, kind=pool, window=window, strides=steps, padding=around)


def Pool1D(
    x: Any, size: Any, strides: Any = None, padding: Any = "VALID", pool: str = "MAX", name: str | None = None
) -> Tensor:
    """The largest entry of each window, or with pool="AVG" its mean; windows lie side by side unless `strides`."""
    return _pool("Pool1D", 1, x, size, strides, padding, pool, name)


def Pool2D(
    x: Any, size: Any, strides: Any = None, padding: Any = "VALID", pool: str = "MAX", name: str | None = None
) -> Tensor:
    """The largest entry of each window, or with pool="AVG" its mean; windows lie side by side unless `strides`."""
    return _pool("Pool2D", 2, x, size, strides, padding, pool, name)
