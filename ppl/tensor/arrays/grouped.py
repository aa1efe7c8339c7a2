"""Rows taken by group number, with a derivative that XLA can fold into a loop.

The derivative of x[groups] adds up, for each row of x, the slopes of the places that took it. XLA writes that as a
scatter, and a loop that holds a scatter is not folded into one kernel on CPU. Where the group numbers are known before
the program runs, so are the places of each group: taking rows and adding up rows are then two gathers, each the
transpose of the other. No sum is taken as a difference of running sums, so no digits are lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching, mlir

from ppl.graph import Attrs, Node
from ppl.tensor.core.later import Later
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import TensorType


def places_of(groups: np.ndarray, count: int) -> np.ndarray:
    """For each of `count` groups the places where its number stands, filled up with `len(groups)` to one length."""
    sizes = np.bincount(groups, minlength=count)
    order = np.argsort(groups, kind="stable")
    rank = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.full((count, max(1, int(sizes.max(initial=0)))), len(groups))
    places[groups[order], rank] = order
    return places


def _take(x: Any, groups: Any, places: Any) -> Any:
    """Row groups[i] of x as row i."""
    return x.at[groups].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _add_up(y: Any, groups: Any, places: Any) -> Any:
    """The sum of the rows of y that belong to each group; places past the end hold a row of zeros."""
    rows = jnp.concatenate([y, jnp.zeros((1, *y.shape[1:]), y.dtype)])
    return rows.at[places].get(mode="promise_in_bounds", wrap_negative_indices=False).sum(axis=1, dtype=y.dtype)


def _linear(name: str, run: Callable[..., Any]) -> Any:
    """A primitive that is linear in its first argument; its other arguments are positions."""
    made = Later("jax.extend.core").Primitive(name)
    made.def_impl(jax.jit(run))
    made.def_abstract_eval(lambda *types: _like(jax.eval_shape(run, *types)))
    mlir.register_lowering(made, mlir.lower_fun(run, multiple_results=False))
    ad.defjvp(made, lambda slope, _, *positions: made.bind(slope, *positions), None, None)

    def batched(arguments: Any, axes: Any) -> Any:
        if all(axis is None for axis in axes[1:]):  # rows may have any shape: the new axis goes last
            return made.bind(jnp.moveaxis(arguments[0], axes[0], -1), *arguments[1:]), arguments[0].ndim - 1
        return jax.vmap(run, axes)(*arguments), 0

    batching.primitive_batchers[made] = batched
    return made


def _like(result: jax.ShapeDtypeStruct) -> Any:
    return jax.core.ShapedArray(result.shape, result.dtype)


def _transposed_by(made: Any, other: Any) -> None:
    def transpose(slope: Any, x: Any, groups: Any, places: Any) -> Any:
        result = ad.Zero(x.aval) if type(slope) is ad.Zero else other.bind(slope, groups, places)
        return result, None, None

    ad.primitive_transposes[made] = transpose


@functools.cache
def _primitives() -> tuple[Any, Any]:
    """Taking rows and adding them up, made when they are first met: jax.extend takes its time to load."""
    take, add_up = _linear("take_rows", _take), _linear("add_up_rows", _add_up)
    _transposed_by(take, add_up)
    _transposed_by(add_up, take)
    return take, add_up


def _taken(x: Any, groups: Any, places: Any) -> Any:
    return _primitives()[0].bind(*map(jnp.asarray, (x, groups, places)))


def _added_up(y: Any, groups: Any, places: Any) -> Any:
    return _primitives()[1].bind(*map(jnp.asarray, (y, groups, places)))


class _TakeRows(TensorOp):
    """x[groups], given for each row of x the places where it is taken."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        x, groups, _ = (node.type for node in inputs)
        return TensorType(x.dtype, (*groups.shape, *x.shape[1:]))


class _AddUpRows(TensorOp):
    """The sums of the rows of y by group, given the places of each group."""

    def infer(self, inputs: tuple[Node, ...], attrs: Attrs) -> TensorType:
        y, _, places = (node.type for node in inputs)
        return TensorType(y.dtype, (places.shape[0], *y.shape[1:]))


TAKE_ROWS = _TakeRows("take_rows", _taken)
ADD_UP_ROWS = _AddUpRows("add_up_rows", _added_up)
