"""Values that move with the calls of a function: averages, and rates that change at given steps.

Each keeps what it remembers in a variable and leaves that variable's update to be collected by `get_updates()`. It
returns the value and the variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ppl.nn.parameters import Layer, layer
from ppl.tensor.arrays.reductions import sum as sum_all
from ppl.tensor.arrays.shaping import concatenate
from ppl.tensor.core.elementwise import minimum, power, switch
from ppl.tensor.core.ops import cast_to
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import Variable, add_updates, make_variable


def ExponentialMovingAverage(
    value: Any, alpha: float, init: Any = 0.0, debias: bool = True, name: str | None = None
) -> tuple[Tensor, Variable]:
    """`alpha` times the old average plus `1 - alpha` times the new value, from `init` on.

    With `debias` the start counts for nothing: the average is divided by the weight of the values seen so far.
    """
    value = as_tensor(value)
    with layer("ExponentialMovingAverage", name, value) as here:
        _check_known(here, value)
        if not 0 <= alpha < 1:
            raise ValueError(f"{here}: alpha lies in [0, 1), got {alpha!r}")
        if debias and np.any(np.asarray(init) != 0):
            raise ValueError(f"{here}: an average that starts at {init!r} is biased on purpose: pass debias=False")
        average = make_variable(np.asarray(init), "average", False, value.type.shape, value.dtype)
        new = alpha * average + (1 - alpha) * value
        updates: dict[Variable, Any] = {average: new}
        if debias:
            count = make_variable(0, "count", trainable=False)
            updates[count] = count + 1
            new = new / cast_to(1 - power(alpha, cast_to(count + 1, "float64")), value.dtype)
    add_updates(updates)
    return new, average


def SimpleMovingAverage(value: Any, n: int, name: str | None = None) -> tuple[Tensor, Variable]:
    """The mean of the last `n` values, of fewer where there have not been so many."""
    value = as_tensor(value)
    with layer("SimpleMovingAverage", name, value) as here:
        _check_known(here, value)
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"{here}: n is a positive number of values, got {n!r}")
        last = make_variable(np.zeros((n, *value.type.shape)), "last", False, dtype=value.dtype)
        count = make_variable(0, "count", trainable=False)
    rows = concatenate([last[1:], value[None]])
    add_updates({last: rows, count: count + 1})
    return sum_all(rows, axis=0) / cast_to(minimum(count + 1, n), value.dtype), last


def PiecewiseConstant(
    init: float, steps_and_values: Mapping[int, float], name: str | None = None
) -> tuple[Tensor, Variable]:
    """`init`, and from each given step on its value: `PiecewiseConstant(0.1, {100: 0.01})`. Steps count from 0."""
    value = as_tensor(float(init))
    with layer("PiecewiseConstant", name, value) as here:
        if any(not isinstance(step, int) or step < 0 for step in steps_and_values):
            raise ValueError(f"{here}: steps are numbers from 0 on, got {list(steps_and_values)!r}")
        step = make_variable(0, "step", trainable=False)
    for start in sorted(steps_and_values):
        value = switch(step >= start, float(steps_and_values[start]), value)
    add_updates({step: step + 1})
    return value, step


def _check_known(here: Layer, value: Tensor) -> None:
    if value.dtype[0] != "f":
        raise TypeError(f"{here}: an average of floats, got {value!r} of dtype {value.dtype}")
    if None in value.type.shape:
        raise ValueError(f"{here}: {value!r} has a length that is not known, so no variable can hold its average")
