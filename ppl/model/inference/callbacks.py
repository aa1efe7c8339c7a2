"""Callbacks by PyMC's contract: `callback(trace, draw)` for every draw of every chain, while sampling goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

Values = Mapping[str, np.ndarray]


class Draw(NamedTuple):
    """One draw, as a callback sees it; `point` holds all variables, and unconstrained values of transformed ones."""

    chain: int
    is_last: bool
    draw_idx: int
    tuning: bool
    stats: list[dict[str, Any]]
    point: Mapping[str, np.ndarray]


class ChainTrace:
    """The draws of one chain so far, warm-up included."""

    def __init__(self, chain: int, values: Mapping[str, np.ndarray], draws: int) -> None:
        self.chain, self._values, self._draws = chain, values, draws

    @property
    def varnames(self) -> list[str]:
        """The names of what there are draws of."""
        return list(self._values)

    def __len__(self) -> int:
        return self._draws

    def get_values(self, varname: str, burn: int = 0, thin: int = 1) -> np.ndarray:
        """The draws of one variable."""
        return self._values[varname][burn : self._draws : thin]

    def __getitem__(self, varname: str) -> np.ndarray:
        return self.get_values(varname)

    def point(self, idx: int) -> dict[str, np.ndarray]:
        """All values of one draw."""
        row = range(self._draws)[idx]
        return {name: values[row] for name, values in self._values.items()}


class Reporter:
    """Passes new draws to the user's callback after each dispatch of a chain."""

    def __init__(
        self, callback: Callable[[Any, Draw], Any], values: Callable[[int, int, np.ndarray], Values], total: int
    ) -> None:
        self._callback, self._values_of, self._total = callback, values, total
        self._seen: dict[int, Values] = {}
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
            positions = np.concatenate([tuned, record.positions])
            seen = self._seen.get(record.chain, {})
            done = len(next(iter(seen.values()), ()))
            if done == len(positions):
                continue
            fresh = self._values_of(record.chain, done, positions[done:])
            values = {name: np.concatenate([seen[name], new]) if done else new for name, new in fresh.items()}
            self._seen[record.chain] = values
            for i in range(done, len(positions)):
                row = {name: each[i] for name, each in stats.items()}
                trace = ChainTrace(record.chain, values, i + 1)
                draw = Draw(record.chain, i + 1 == self._total, i, i < len(tuned), [row], trace.point(i))
                self._callback(trace=trace, draw=draw)  # type: ignore[call-arg]
