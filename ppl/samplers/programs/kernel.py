"""What the driver asks of a sampler, and what it gets back.

A kernel is a pair of pure functions over arrays; the driver compiles a loop over ``step`` and never looks into the
state. A step of another kind (a Gibbs sweep, a mixture of steps) becomes drivable by giving the same two functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from ppl.xla.later import Array

Data = tuple[Any, ...]
LogDensity = Callable[..., Array]


def on_host(value: Any, dtype: Any) -> Array:
    """An array made by NumPy: to a compiled program it is as good as one of JAX's, and making it compiles nothing."""
    return cast(Array, np.asarray(value, dtype))


class Outcome(NamedTuple):
    """What one call of ``step`` produced."""

    position: Array
    gradient: Array
    stats: Array  # one row of numbers, in the order of ``Kernel.stats``
    mark: Array  # a position worth keeping (where a trajectory diverged) ...
    marked: Array  # ... and whether there is one
    counts: Array  # is this a draw, or did the kernel only look around (to evaluate a start, to search a step size)?


class Window(NamedTuple):
    """The tuning draws made so far, for the host to learn from."""

    positions: np.ndarray
    gradients: np.ndarray
    stats: np.ndarray


class KernelState(Protocol):
    """The two facts that the driver reads from a state."""

    @property
    def attention(self) -> Array:
        """Should the loop return to the host now?"""


class Kernel(NamedTuple):
    """A sampler: ``init(position)`` makes a state, ``step(key, plan, data, state)`` moves it.

    ``key`` holds the two words of the chain's key, ``plan`` the numbers that may change without compiling again,
    ``data`` the arrays handed to the log-density. ``host(plan, state, window)`` runs between dispatches whenever a
    state asked for attention, with the draws made so far in warm-up.
    """

    init: Callable[[np.ndarray], Any]
    step: Callable[[Array, Any, Data, Any], tuple[Any, Outcome]]
    stats: dict[str, type]
    host: Callable[[Any, Any, Any], Any]
    begin: Callable[[Any], Any] = lambda state: state  # the state with working memory, for a loop of steps ...
    end: Callable[[Any], Any] = lambda state: state  # ... and without, as it is kept
    coupled: bool = False  # do chains learn from each other, so that all must go on from the same draw?
