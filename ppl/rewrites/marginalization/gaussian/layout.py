"""Which variables of a block are groups, and where each of their entries lies.

A variable has an entry for each group along one of its axes; its other axes are columns. The variables go together
whose entries each row touches in one group, or in neighboring groups: then the groups form a chain. A chain in which
rows reach back p steps (an autoregression of order p) is one of p times fewer groups, each p times wider, that reach
back one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ppl.distributions import RandomVariable
from ppl.graph import Node
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.rewrites.marginalization.expressions.data import data_value, is_read, known_shape
from ppl.rewrites.marginalization.expressions.maps import Dense, Part
from ppl.rewrites.marginalization.gaussian.residuals import Residual


@record
class Places:
    """For each entry of a variable its group and its column."""

    group: np.ndarray
    column: np.ndarray
    width: int

    @staticmethod
    def along(shape: tuple[int, ...], axis: int) -> Places:
        """A group for each index along an axis, a column for each index along the others."""
        at = np.indices(shape)
        rest = [n for i, n in enumerate(shape) if i != axis]
        others = [a.ravel() for i, a in enumerate(at) if i != axis]
        column = np.ravel_multi_index(tuple(others), tuple(rest)) if rest else np.zeros(prod(shape), dtype=int)
        return Places(at[axis].ravel(), column, prod(rest))


@record
class Layout:
    """`count` groups of `width` columns; `linked` where rows touch neighboring groups too."""

    count: int
    width: int
    linked: bool
    places: dict[Node, Places]
    filled: np.ndarray  # (count, width), whether there is an entry

    @property
    def ndim(self) -> int:
        return int(self.filled.sum())


NO_GROUPS = Layout(0, 0, False, {}, np.zeros((0, 0), dtype=bool))


def touched(part: Part, places: Places) -> np.ndarray:
    """The group of the entry that each row picks, -1 where its coefficient is zero."""
    assert not isinstance(part, Dense)
    group = places.group[part.positions.ravel()]
    if part.coefficient.ndim and is_read(part.coefficient):
        weight = np.broadcast_to(data_value(part.coefficient), part.positions.shape).ravel()
        return np.where(weight == 0, -1, group)
    return group


def choose_layout(chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> Layout:
    """The layout that takes in the most entries; without links where both are possible."""
    options = [
        (rv, known_shape(rv)[axis], Places.along(known_shape(rv), axis))
        for rv in chosen
        for axis in range(len(known_shape(rv)))
        if known_shape(rv)[axis] >= 2
        and prod(known_shape(rv)) // known_shape(rv)[axis] <= LIMITS.columns_of_a_group
        and not any(isinstance(p, Dense) and p.variable is rv for r in residuals for p in r.map.parts)
    ]
    best = NO_GROUPS
    for most in (0, LIMITS.steps_back):
        for count in sorted({n for _, n, _ in options}, reverse=True):
            found = _grown([(rv, places) for rv, n, places in options if n == count], count, most, residuals)
            if found.ndim > best.ndim:
                best = found
    return best


def _grown(
    options: Sequence[tuple[RandomVariable, Places]], count: int, most: int, residuals: Sequence[Residual]
) -> Layout:
    """Variables added one by one, as long as all rows touch groups near each other."""
    members: dict[Node, Places] = {}
    reach = 0
    for rv, places in options:
        trial = {**members, rv: places}
        width = sum(p.width for p in trial.values())
        found = _reach(trial, residuals)
        if (
            rv not in members
            and found <= most
            and max(1, found) * width <= LIMITS.columns_of_a_group
            and 2 * found < count
        ):
            members, reach = trial, found
    return _wider(members, count, reach) if members else NO_GROUPS


def _reach(members: dict[Node, Places], residuals: Sequence[Residual]) -> int:
    """How far apart the groups are that one row touches."""
    widest = 0
    for r in residuals:
        maps = [touched(p, members[p.variable]) for p in r.map.parts if p.variable in members]
        if len(maps) < 2:
            continue
        every = np.stack(maps)
        high = every.max(axis=0)
        low = np.where(every < 0, high, every).min(axis=0)
        widest = max(widest, int((high - low).max(initial=0)))
    return widest


def _wider(members: dict[Node, Places], count: int, reach: int) -> Layout:
    """The columns side by side, and as many steps in one group as a row reaches back."""
    step = max(1, reach)
    each = sum(p.width for p in members.values())
    places: dict[Node, Places] = {}
    start = 0
    groups = -(-count // step)
    filled = np.zeros((groups, step * each), dtype=bool)
    for rv, p in members.items():
        column = (p.group % step) * each + start + p.column
        places[rv] = Places(p.group // step, column, p.width)
        filled[p.group // step, column] = True
        start += p.width
    return Layout(groups, step * each, reach > 0, places, filled)
