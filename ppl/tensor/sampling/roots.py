r"""Where an increasing function of one number first reaches zero, by halving.

Floats of 64 bits, read as integers, are in order. So the middle between two floats is that of their places in this
order, whatever their scale, and 64 halvings find the one float at which the function turns: next to an end, far out, or
at a jump. Whole numbers are halved as they are, after a search in steps that double, since the distribution function of
a count may be a sum up to it.

The derivative is that of the implicit function: with f(x, θ) = 0,

.. math:: dx = -\frac{\partial f/\partial θ}{\partial f/\partial x}\, dθ
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.arrays.creation import zeros_like
from ppl.tensor.core.bodies import hoisted
from ppl.tensor.core.derivatives import stop_gradient
from ppl.tensor.core.ops import TensorOp, cast_to
from ppl.tensor.tensor import Tensor, as_tensor, placeholder
from ppl.xla.later import custom_jvp, jax, jnp, lax

_MOST = np.int64(2**62)  # no count is searched beyond
_TINY = np.int64(2**52 - 1)  # floats under 2.2e-308, which XLA takes for zero


class _FirstRoot(TensorOp):
    """Inputs: the least and the largest number, and what the body captures. The body gives f at a number of their
    shape."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type


def _place(x: Any) -> Any:
    """The place of a float64 among all of them. Numbers too small for XLA, under 2.2e-308, are taken for zero."""
    size = jnp.maximum(lax.bitcast_convert_type(jnp.abs(x), jnp.int64) - _TINY, 0)
    return jnp.where(x < 0, -size, size)


def _at_place(place: Any) -> Any:
    size = jnp.abs(place)
    x = lax.bitcast_convert_type(jnp.where(size == 0, 0, size + _TINY), jnp.float64)
    return jnp.where(place < 0, -x, x)


def _halved(reached: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The first whole number above `low` that is reached; `high` if none below it is."""

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = state
        middle = _middle(low, high)
        there = reached(middle)
        return jnp.where(there, low, middle), jnp.where(there, middle, high)

    return lax.while_loop(lambda state: jnp.any(state[0] + 1 < state[1]), step, (low, high))[1]


def _middle(low: Any, high: Any) -> Any:
    """The mean, rounded down, also where the sum is too large."""
    return (low & high) + ((low ^ high) >> 1)


def _count(reached: Callable[[Any], Any], least: Any, most: Any) -> Any:
    """The first whole number from `least` to `most` that is reached: in steps that double from 0, then by halving."""

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        low, high, length = state
        passed, found = low >= least, high < most  # whether a number is known below, and above
        far = jnp.where(passed, low + length, jnp.where(found, high - length, 0))
        number = jnp.clip(jnp.where(passed & found, _middle(low, high), far), low + 1, high - 1)
        there = reached(number)
        active = low + 1 < high
        low, high = jnp.where(active & ~there, number, low), jnp.where(active & there, number, high)
        return low, high, jnp.minimum(2 * length, _MOST)

    start = (least - 1, most, jnp.ones_like(least))
    return lax.while_loop(lambda state: jnp.any(state[0] + 1 < state[1]), step, start)[1]


def _moving(find: Callable[..., Any], body: Callable[..., list[Any]], given: int) -> Callable[..., Any]:
    """`find(*arguments)` with the derivative of the body's root in the arguments after the first `given`."""
    moving = custom_jvp(find)

    @moving.defjvp
    def slope(primals: Any, tangents: Any) -> Any:
        x = moving(*primals)
        if jnp.issubdtype(x.dtype, jnp.integer):
            return x, np.zeros(x.shape, jax.dtypes.float0)
        held, moved = primals[given:], tangents[given:]
        f = lambda x, *captured: body(x, *captured)[0]
        slope_at = lambda x: jax.jvp(lambda x: f(x, *held), (x,), (jnp.ones_like(x),))
        height, rise = slope_at(x)
        jumps = ~(jnp.abs(height) <= 1e-9 + 4 * rise * jnp.finfo(x.dtype).eps * jnp.abs(x))
        still = lax.stop_gradient(jumps | ~jnp.isfinite(x))  # there x does not move; any other number does instead
        point = jnp.where(still, jnp.where(jnp.isfinite(x), x + 1, 1.0), x)
        change = jax.jvp(lambda *captured: f(point, *captured), held, moved)[1]
        return x, jnp.where(still, 0.0, -change / jnp.where(still, 1.0, slope_at(point)[1]))

    return moving


def _first_root(low: Any, high: Any, *captured: Any, body: Callable[..., list[Any]]) -> Any:
    low, high = jnp.asarray(low), jnp.asarray(high)

    def root(low: Any, high: Any, *captured: Any) -> Any:
        if jnp.issubdtype(low.dtype, jnp.integer):
            ends = jnp.maximum(low, -_MOST), jnp.minimum(high, _MOST)
            return _count(lambda x: body(x, *captured)[0] >= 0, *ends)
        wide = low.astype(jnp.float64), high.astype(jnp.float64)
        at = lambda place: _at_place(place).astype(low.dtype)
        found = _halved(lambda place: body(at(place), *captured)[0] >= 0, _place(wide[0]) - 1, _place(wide[1]))
        return at(found)

    return _moving(root, body, 2)(low, high, *captured)


FIRST_ROOT = _FirstRoot("first_root", _first_root)


def first_root(f: Callable[[Tensor], Any], low: Any, high: Any, dtype: str) -> Tensor:
    """The smallest x from `low` to `high` with f(x) ≥ 0, for a function that increases in x, entry by entry; `high`
    where it does not get so far. The shape is that of f's values."""
    ends = [cast_to(as_tensor(end), dtype) for end in (low, high)]
    form = cast_to(zeros_like(as_tensor(f(ends[0]))), dtype)
    x = placeholder(form.type)
    body, captured = hoisted([x], [as_tensor(f(x))])
    return Node(FIRST_ROOT, (*[end + form for end in ends], *captured), Attrs(body=body))  # type: ignore[return-value]


class _CarriedRoot(TensorOp):
    """Inputs: x, and what the body captures. The body gives f at a number of the shape of x."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> Any:
        return inputs[0].type


CARRIED_ROOT = _CarriedRoot(
    "carried_root", lambda x, *captured, body: _moving(lambda x, *_: x, body, 1)(jnp.asarray(x), *captured)
)


def carried_root(x: Tensor, f: Callable[[Tensor], Any]) -> Tensor:
    """x, found in some other way, with the derivative of the solution of f(x, θ) = f(x, θ₀). A draw, where f is its
    distribution function, moves as the quantile of one uniform number does."""
    at = placeholder(x.type)
    value = as_tensor(f(at))
    body, captured = hoisted([at], [value - stop_gradient(value)])
    return Node(CARRIED_ROOT, (x, *captured), Attrs(body=body))  # type: ignore[return-value]
