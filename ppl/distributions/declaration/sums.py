"""Independent draws of one family along axes, as a family that says what their sum or product is sees them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.tensor.tensor import Tensor, is_constant, value_of


class NotAlike(Exception):  # noqa: N818  an answer, not an error
    """A parameter that has to be the same for all draws differs."""


@record
class Along:
    """The axes of a sum, and what becomes of parameters along them."""

    shape: tuple[int, ...]  # without the axes of one draw
    axes: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many draws make up one sum."""
        return prod(self.shape[a] for a in self.axes)

    @property
    def left(self) -> tuple[int, ...]:
        """The shape of all sums."""
        return tuple(n for a, n in enumerate(self.shape) if a not in self.axes)

    def added(self, p: Tensor) -> Tensor:
        """The sum of a parameter."""
        return tt.sum(tt.broadcast_to(p, self.shape), axis=self.axes)

    def multiplied(self, p: Tensor) -> Tensor:
        """The product of a parameter."""
        return tt.prod(tt.broadcast_to(p, self.shape), axis=self.axes)

    def alike(self, p: Tensor, own: int = 0) -> Tensor:
        """A parameter that is the same along the axes; it has `own` last axes within each draw."""
        full = (1,) * (len(self.shape) + own - p.ndim) + p.type.shape
        if any(full[a] != 1 for a in self.axes):
            raise NotAlike
        return tt.squeeze(p.reshape(full), self.axes)


def same(p: Any, q: Any) -> Any:
    """A parameter that two draws share; raises `NotAlike` where that is not known."""
    if not (p is q or (is_constant(p) and is_constant(q) and np.array_equal(value_of(p), value_of(q)))):
        raise NotAlike
    return p


def known_to_be(p: Tensor, value: float) -> None:
    """Raise `NotAlike` where a parameter is not a constant of this value."""
    if not is_constant(p) or np.any(value_of(p) != value):
        raise NotAlike
