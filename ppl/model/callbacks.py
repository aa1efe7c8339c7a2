"""Callbacks by PyMC's contract: `callback(trace, draw)` for every draw of every chain, while sampling goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.compile.density import Slot


class Draw(NamedTuple):
    """One draw, as a callback sees it; `point` holds the values that the sampler moves."""

    chain: int
    is_last: bool
    draw_idx: int
    tuning: bool
    stats: list[dict[str, Any]]
    point: Mapping[str, np.ndarray]


class ChainTrace:
    """The draws of one chain so far, warm-up included."""

    def __init__(self, chain: int, positions: np.ndarray, slots: Sequence[Slot]) -> None:
        self.chain = chain
        self._positions, self._slots = positions, {slot.variable.name or "": slot for slot in slots}

    @property
    def varnames(self) -> list[str]:
        """The names of the values that the sampler moves."""
        return list(self._slots)

    def __len__(self) -> int:
        return len(self._positions)

    def get_values(self, varname: str, burn: int = 0, thin: int = 1) -> np.ndarray:
        """The draws of one value."""
        return self._slots[varname].read(self._positions[burn::thin])

    def __getitem__(self, varname: str) -> np.ndarray:
        return self.get_values(varname)

    def point(self, idx: int) -> dict[str, np.ndarray]:
        """All values of one draw."""
        return {name: slot.read(self._positions[idx]) for name, slot in self._slots.items()}


class Reporter:
    """Passes new draws to the user's callback after each dispatch of a chain."""

    def __init__(self, callback: Callable[[Any, Draw], Any], slots: Sequence[Slot], total: int) -> None:
        self._callback, self._slots, self._total = callback, slots, total
        self._seen: dict[int, int] = {}
        self._handle: Any = None
        self._ready = threading.Event()

    def attach(self, handle: Any) -> None:
        """Say which run this is about."""
        self._handle = handle
        self._ready.set()

    def __call__(self, progress: Any) -> None:
        self._ready.wait()
        for record in self._handle.partial().records:
            tuned = record.warmup_positions if record.warmup_positions is not None else record.positions[:0]
            stats = {name: np.concatenate([record.warmup_stats[name], values]) for name, values in record.stats.items()}
            trace = ChainTrace(record.chain, np.concatenate([tuned, record.positions]), self._slots)
            for i in range(self._seen.get(record.chain, 0), len(trace)):
                self._seen[record.chain] = i + 1
                row = {name: values[i] for name, values in stats.items()}
                so_far = ChainTrace(record.chain, trace._positions[: i + 1], self._slots)
                draw = Draw(record.chain, i + 1 == self._total, i, i < len(tuned), [row], trace.point(i))
                self._callback(trace=so_far, draw=draw)  # type: ignore[call-arg]
