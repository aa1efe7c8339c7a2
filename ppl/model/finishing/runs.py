"""Runs of draws that did not come from one run of the driver of `ppl.samplers`, in the form of its run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ppl.graph.records import record
from ppl.samplers import NO_FAILURES, Failures, Run


@record
class Drawn:
    """Draws, their statistics, and how long they took."""

    positions: np.ndarray
    stats: dict[str, np.ndarray]
    sampling_seconds: float
    warmup_positions: np.ndarray | None = None
    warmup_stats: dict[str, np.ndarray] = field(default_factory=dict)
    compile_seconds: float = 0.0
    interrupted: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the attributes of the result

    @property
    def draws(self) -> int:
        return self.positions.shape[1]

    @property
    def chains(self) -> list[int]:
        return list(range(self.positions.shape[0]))


class Independent(Drawn):
    """Draws that do not depend on each other: there is no convergence to be checked."""


def independent(
    positions: np.ndarray, stats: dict[str, np.ndarray], tuning: np.ndarray, tuning_stats: dict[str, np.ndarray],
    seconds: float = 0.0, compiling: float = 0.0, **facts: Any,
) -> Independent:  # fmt: skip
    """A run of independent draws, none of which diverged or was refused. They have no momentum, so that their energy
    is minus their log-density."""

    def all_of(shape: tuple[int, ...], own: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        energy = {"energy": -own["lp"]} if "lp" in own else {}
        return {"diverging": np.zeros(shape, bool), "acceptance_rate": np.ones(shape)} | energy | own

    return Independent(
        positions, all_of(positions.shape[:2], stats), max(0.0, seconds - compiling),
        tuning, all_of(tuning.shape[:2], tuning_stats), compiling, facts=facts,
    )  # fmt: skip


@record
class InParts(Drawn):
    """Draws of parts, put together; convergence is looked at part by part."""

    kept: Sequence[int] = ()  # the numbers of the chains
    parts: Sequence[tuple[str, Sequence[str], Run]] = ()  # in words, the names of entries, and the run of each
    failures: Failures = NO_FAILURES  # of all parts; where one failed, the others are where they started

    @property
    def chains(self) -> list[int]:
        return list(self.kept)


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began
