"""Callbacks by PyMC's contract: `callback(trace, draw)` for every draw of every chain, while sampling goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.compile.density import Slot
from ppl.compile.pure import Program
from ppl.model.draw_rows import over_draws
from ppl.tensor.tensor import Tensor


class Draw(NamedTuple):
    """One draw, as a callback sees it; `point` holds the unconstrained values."""

    chain: int
    is_last: bool
    draw_idx: int
    tuning: bool
    stats: list[dict[str, Any]]
    point: Mapping[str, np.ndarray]


class ChainTrace:
    """The draws of one chain so far, warm-up included."""

    def __init__(self, chain: int, values: Mapping[str, np.ndarray], length: int) -> None:
        self.chain = chain
        self._values, self._length = values, length

    @property
    def varnames(self) -> list[str]:
        """The names of the unconstrained values."""
        return list(self._values)

    def __len__(self) -> int:
        return self._length

    def get_values(self, varname: str, burn: int = 0, thin: int = 1) -> np.ndarray:
        """The draws of one value."""
        return self._values[varname][: self._length][burn::thin]

    def __getitem__(self, varname: str) -> np.ndarray:
        return self.get_values(varname)

    def point(self, idx: int) -> dict[str, np.ndarray]:
        """All values of one draw."""
        return {name: values[: self._length][idx] for name, values in self._values.items()}


class Reader:
    """The model's unconstrained values of what is sampled, from the positions of one chain."""

    def __init__(self, slots: Sequence[Slot], unconstrained: Mapping[str, Tensor]) -> None:
        self._slots, self._names = slots, list(unconstrained)
        self._program = Program([slot.variable for slot in slots], list(unconstrained.values()))

    def __call__(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        columns = [slot.read(positions[None]) for slot in self._slots]
        return {name: x[0] for name, x in zip(self._names, over_draws(self._program, columns), strict=True)}


class Reporter:
    """Passes new draws to the user's callback after each dispatch of a chain."""

    def __init__(self, callback: Callable[[Any, Draw], Any], read: Reader, total: int) -> None:
        self._callback, self._read, self._total = callback, read, total
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
            positions = np.concatenate([tuned, record.positions])
            seen = self._seen.get(record.chain, 0)
            values = self._read(positions) if len(positions) > seen else {}
            for i in range(seen, len(positions)):
                self._seen[record.chain] = i + 1
                row = {name: values[i] for name, values in stats.items()}
                so_far = ChainTrace(record.chain, values, i + 1)
                draw = Draw(record.chain, i + 1 == self._total, i, i < len(tuned), [row], so_far.point(i))
                self._callback(trace=so_far, draw=draw)  # type: ignore[call-arg]
