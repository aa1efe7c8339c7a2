"""Where chains start: support points or the user's values, with a jitter that depends on seed and chain alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ppl.compile.density import Slot, flattened, in_a_row, layout
from ppl.model.posterior.point import starts_at_random
from ppl.model.posterior.rewriting import Posterior
from ppl.tensor.tensor import Tensor

Begin = Callable[[int, int], np.ndarray]


class Starts:
    """Starting positions of chains, and the last one that was tried for each."""

    def __init__(self, flat: list[np.ndarray], slots: list[Slot], seed: int, jitter: bool) -> None:
        self.slots, self.seed, self.jitter = slots, seed, jitter
        self._flat = flat
        self._moves = np.array([slot.variable.dtype[0] == "f" for slot in slots for _ in range(slot.stop - slot.start)])
        self.tried: dict[int, np.ndarray] = {}

    @property
    def dim(self) -> int:
        return self._flat[0].size

    @property
    def points(self) -> list[np.ndarray]:
        """The starts without jitter, one for all chains or one for each."""
        return self._flat

    def move(self, flat: list[np.ndarray]) -> None:
        """Start elsewhere."""
        self._flat = flat

    def columns(self, values: Collection[Tensor]) -> np.ndarray:
        """Where some of the values lie in a position."""
        mine = frozenset(values)
        return np.concatenate([np.arange(slot.start, slot.stop) for slot in self.slots if slot.variable in mine])

    def of(self, values: Collection[Tensor], seed: int) -> Starts:
        """The starts of some of the values, with a jitter that depends on nothing else."""
        mine, at = frozenset(values), self.columns(values)
        shapes = [(slot.variable, slot.shape) for slot in self.slots if slot.variable in mine]
        return Starts([flat[at] for flat in self._flat], in_a_row(shapes), seed, self.jitter)

    def __call__(self, chain: int, attempt: int) -> np.ndarray:
        flat = self._flat[chain % len(self._flat)]
        if self.jitter:
            width = 0.5 ** max(0, attempt - 2)  # of a small region even a start near its support point may lie outside
            noise = np.random.default_rng([self.seed, chain, attempt]).uniform(-1, 1, flat.size) * width
            flat = flat + np.where(self._moves, noise, 0.0) if flat.size else flat
        self.tried[chain] = flat
        return flat


def starts_for(posterior: Posterior, initvals: Any, chains: int, seed: int, jitter: bool) -> Starts:
    """The starts of chains, from one set of initial values or one for each chain."""
    if initvals is None or isinstance(initvals, Mapping):
        at_random = starts_at_random(posterior.model, initvals)
        points = [posterior.start(initvals, [seed, chain]) for chain in range(chains if at_random else 1)]
    elif isinstance(initvals, Sequence) and not isinstance(initvals, str):
        if len(initvals) != chains:
            raise ValueError(f"initvals has values for {len(initvals)} chains, but there are {chains} chains")
        points = [posterior.start(each, [seed, chain]) for chain, each in enumerate(initvals)]
    else:
        raise TypeError(f"initvals is a dict, or a list with one dict a chain, got {type(initvals).__name__}")
    slots = layout(posterior.values, points[0])
    return Starts([flattened(slots, point) for point in points], slots, seed, jitter)
