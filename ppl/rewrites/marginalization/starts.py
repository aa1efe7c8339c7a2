"""Where sampling starts: values of variables before anything is compiled, and some more around them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import RandomVariable
from ppl.distributions.declaration.distribution import default_point
from ppl.graph import Node, ancestors, substitute
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import data_value, is_data, known_shape
from ppl.rewrites.marginalization.program import Program
from ppl.tensor.arrays.shaping import broadcast_to
from ppl.tensor.tensor import Tensor, as_tensor


def start_of(program: Program, expression: Tensor) -> np.ndarray | None:
    """The value of an expression where sampling starts."""
    values: dict[Node, Node] = {}
    for rv in _above(program, expression):
        if None in rv.type.shape:
            return None
        inputs = [as_tensor(substitute(p, values)) for p in rv.parameters]
        point = as_tensor(default_point(rv.family, inputs, rv.family.support_for(inputs)))
        values[rv] = broadcast_to(point, known_shape(rv))
    start = as_tensor(substitute(expression, values))
    return data_value(start) if is_data(start) else None


def around_start(program: Program, expression: Tensor) -> Iterator[dict[Node, np.ndarray]]:
    """Values of the variables that an expression depends on, at points as far from the start as chains may begin: up to
    one from it on the line, and up to a factor e where they are positive. The points are the same in every run."""
    variables = _above(program, expression)
    starts = [start_of(program, rv) for rv in variables]
    rng = np.random.default_rng(0)
    for _ in range(LIMITS.points_around_the_start):
        values: dict[Node, np.ndarray] = {}
        for rv, start in zip(variables, starts, strict=True):
            if start is None:
                return
            support, step = rv.family.support_for(rv.parameters), rng.uniform(-1.0, 1.0, start.shape)
            open_ended = support.upper is None and support.ndim == 0 and not support.discrete
            if open_ended and support.lower is None:
                start = start + step
            elif open_ended and isinstance(support.lower, int | float) and support.lower == 0:
                start = start * np.exp(step)
            values[rv] = start
        yield values


def _above(program: Program, expression: Tensor) -> list[RandomVariable]:
    found = ancestors(expression) & set(program.free)
    return sorted((rv for rv in found if isinstance(rv, RandomVariable)), key=lambda rv: rv.serial)
