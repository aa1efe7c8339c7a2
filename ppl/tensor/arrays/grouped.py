"""Rows taken by group number, with a derivative that XLA can fold into a loop.

The derivative of x[groups] adds up, for each row of x, the slopes of the places that took it. XLA writes that as a
scatter, and a loop that holds a scatter is not folded into one kernel on CPU. Where the group numbers are known before
the program runs, so are the places of each group: taking rows and adding up rows are then two gathers, each the
transpose of the other. No sum is taken as a difference of running sums, so no digits are lost.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ppl.graph import Attrs, Node
from ppl.tensor.core.ops import TensorOp
from ppl.tensor.tensor import TensorType
from ppl.xla.later import jnp
from ppl.xla.private import transposes


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


@functools.cache
def _primitives() -> tuple[Any, Any]:
    """Taking rows and adding them up, made when they are first met: what makes them takes its time to load."""
    return transposes(["take_rows", "add_up_rows"], _take, _add_up, 2)


def taken(x: Any, groups: Any, places: Any) -> Any:
    """x[groups] of arrays, given the places where each row of x is taken."""
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


TAKE_ROWS = _TakeRows("take_rows", taken)
ADD_UP_ROWS = _AddUpRows("add_up_rows", _added_up)
