"""Normal rows that each pick one entry of a variable: what theorems about a variable seen once read of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import ancestors
from ppl.graph.records import record
from ppl.rewrites.marginalization.expressions.data import NotAffine, known_shape
from ppl.rewrites.marginalization.expressions.picks import picks
from ppl.rewrites.marginalization.program import Factor, NoMatch, Observation, Program, children, in_the_way
from ppl.tensor.arrays.shaping import broadcast_to, reshape
from ppl.tensor.tensor import Tensor, as_tensor


def only_observation(program: Program, variable: RandomVariable) -> Observation:
    """The one factor that depends on a variable, where that is observed; raises `NoMatch` with the reason."""
    if None in variable.type.shape:
        raise NoMatch("its shape is only known when the program runs")
    used = children(program, variable)
    if len(used) != 1:
        names = " and ".join(f'"{_name(f)}"' for f in used) or "none"
        raise NoMatch(f"{names} depend on it, not one alone")
    (seen,) = used
    if not isinstance(seen, Observation):
        raise NoMatch(in_the_way(seen))
    return seen


def _name(factor: Factor) -> str:
    return (factor.variable.name if isinstance(factor, Observation) else factor.name) or "a draw"


@record
class Picked:
    """Rows of the mean c·f[positions] + b, one after the other; row `order[i]` as written is the i-th, so that the
    positions do not fall. c and b are numbers or have an entry for each row."""

    positions: np.ndarray
    order: np.ndarray
    shape: tuple[int, ...]  # as written
    c: Tensor
    b: Tensor

    @property
    def is_sorted(self) -> bool:
        """Whether the rows are written in this order."""
        return _counts_up(self.order)

    def sorted(self, x: Any) -> Tensor:
        """What rows have, in their order; a number that all have stays one."""
        if x.ndim == 0:
            return as_tensor(x)
        flat = reshape(broadcast_to(x, self.shape), (-1,))
        return flat if self.is_sorted else flat[self.order]

    def of(self, x: Tensor, axis: int) -> Tensor:
        """What rows pick along an axis that is as long as the variable."""
        if len(self.positions) == known_shape(x)[axis] and _counts_up(self.positions):
            return x
        return x[(..., self.positions, *[slice(None)] * (-1 - axis))]


def _counts_up(places: np.ndarray) -> bool:
    return np.array_equal(places, np.arange(len(places)))


def picked_by(seen: Observation, variable: RandomVariable) -> Picked:
    """What the rows of an observation pick of a variable, which nothing else of it may use; raises `NoMatch`."""
    child, label = seen.variable, f'"{seen.variable.name}"'
    mu, *others = child.parameters
    if variable in ancestors([*others, seen.value]):
        raise NoMatch(f"the scale or the value of {label} depends on it")
    if None in child.type.shape or seen.rows is not None:
        raise NoMatch(f"which rows of {label} there are is only known when the program runs")
    shape = known_shape(child)
    try:
        found = picks(mu, variable, shape)
    except NotAffine as why:
        raise NoMatch(f"the mean of {label} is not affine in it: {why}") from why
    if found.power != 1.0:
        raise NoMatch(f"the mean of {label} is not affine in it")
    positions = found.positions.ravel()
    order = np.argsort(positions, kind="stable")
    rows = Picked(positions[order], order, shape, found.coefficient, found.offset)
    return replace(rows, c=rows.sorted(rows.c), b=rows.sorted(rows.b))
