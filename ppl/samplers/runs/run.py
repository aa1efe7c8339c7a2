"""The result of sampling: draws, statistics, and what happened on the way."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ppl.xla.later import jax


class Divergence(NamedTuple):
    """Where a trajectory diverged."""

    draw: int  # counted from the first draw after warm-up; negative in warm-up
    position: np.ndarray


@dataclass(frozen=True)
class ChainRecord:
    """The finished part of one chain."""

    chain: int
    positions: np.ndarray  # (draws, dim)
    stats: dict[str, np.ndarray]
    expanded: Any
    warmup_positions: np.ndarray | None
    warmup_stats: dict[str, np.ndarray]
    divergences: list[Divergence]
    state: Any  # host copy of the sampler's state: enough to go on

    @property
    def draws(self) -> int:
        """How many draws after warm-up are finished."""
        return len(self.positions)


@dataclass(frozen=True)
class Run:
    """Draws of all chains, cut to a common length when sampling was stopped early.

    Then ``chains`` are those numbers of chains, and ``draws`` that length, that keep most draws in all; ``records``
    has every finished draw of every chain.
    """

    records: list[ChainRecord]
    chains: list[int]
    draws: int
    compile_seconds: float
    sampling_seconds: float
    interrupted: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def positions(self) -> np.ndarray:
        """Draws as (chains, draws, dim)."""
        return np.stack([r.positions[: self.draws] for r in self._kept()])

    @property
    def stats(self) -> dict[str, np.ndarray]:
        """Statistics per draw, each (chains, draws)."""
        return _stacked([{k: v[: self.draws] for k, v in r.stats.items()} for r in self._kept()])

    @property
    def expanded(self) -> Any:
        """Generated quantities, each (chains, draws, ...); None without ``expand``."""
        kept = [jax.tree.map(lambda v: v[: self.draws], r.expanded) for r in self._kept()]
        return jax.tree.map(lambda *chains: np.stack(chains), *kept)

    @property
    def warmup_positions(self) -> np.ndarray | None:
        """Tuning draws as (chains, tuning draws, dim), or None when they were not kept."""
        kept = [r.warmup_positions for r in self._kept()]
        length = min((len(k) for k in kept if k is not None), default=0)
        if any(k is None for k in kept):
            return None
        return np.stack([k[:length] for k in kept if k is not None])

    @property
    def warmup_stats(self) -> dict[str, np.ndarray]:
        """Statistics of the tuning draws, each (chains, tuning draws)."""
        kept = [r.warmup_stats for r in self._kept()]
        length = min(len(next(iter(s.values()))) for s in kept)
        return _stacked([{k: v[:length] for k, v in s.items()} for s in kept])

    @property
    def divergences(self) -> dict[int, list[Divergence]]:
        """For each chain, the places where trajectories diverged (at most 64 a dispatch are kept)."""
        return {r.chain: r.divergences for r in self._kept()}

    def _kept(self) -> list[ChainRecord]:
        return [r for r in self.records if r.chain in self.chains]


def assemble(records: list[ChainRecord], **facts: Any) -> Run:
    """A run of the chains and the common length that keep most draws in all."""
    records = sorted(records, key=lambda r: r.chain)
    lengths = sorted({r.draws for r in records}, reverse=True) or [0]
    draws = max(lengths, key=lambda n: n * sum(r.draws >= n for r in records))
    return Run(records, [r.chain for r in records if r.draws >= draws], draws, **facts)


def _stacked(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.stack([p[name] for p in parts]) for name in parts[0]}
