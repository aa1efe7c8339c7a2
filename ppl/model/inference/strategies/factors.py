"""Parts of a posterior that nothing joins, each drawn by itself: numbers by quadrature, then a chain for each part.

Chains of one part run after those of another, the dearest last, while the programs of all are compiled side by side.
The dearest part has the draws that it has in a model of its own. The keys of others come from the seed and the names of
their values, so that none depends on what stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram, labels
from ppl.model.finishing.runs import Clock, Independent, InParts
from ppl.model.inference.strategies.chains import announce, nuts_of
from ppl.model.inference.strategies.quadrature import numbers_of
from ppl.model.inference.task import Task
from ppl.model.log import log
from ppl.model.posterior.density import add_all
from ppl.model.posterior.rewriting import Posterior
from ppl.model.starting.start_points import Starts
from ppl.rewrites import optimize
from ppl.rewrites.factorization.factors import Part
from ppl.rewrites.marginalization.expressions.data import is_data
from ppl.samplers import ChainError, Failures, Handle, Run, StartError, failures
from ppl.samplers.runs.progress import Display


def _farthest(each: Sequence[np.ndarray]) -> np.ndarray:
    """Of several numbers the one that is farthest from zero."""
    stacked = np.stack(each)
    found: np.ndarray = np.take_along_axis(stacked, np.abs(stacked).argmax(axis=0)[None], axis=0)[0]
    return found


# What a statistic of a draw is, from those of its parts: log-densities and energies of independent parts add up.
MERGED: dict[str, Callable[[Sequence[np.ndarray]], Any]] = {
    **dict.fromkeys(("lp", "energy", "energy_error", "n_steps"), np.add.reduce),
    **dict.fromkeys(("perf_counter_diff", "process_time_diff"), np.add.reduce),
    **dict.fromkeys(("step_size", "step_size_bar", "perf_counter_start"), np.minimum.reduce),
    **dict.fromkeys(("diverging", "reached_max_treedepth"), np.logical_or.reduce),
    **dict.fromkeys(("max_energy_error", "index_in_trajectory"), _farthest),
    "tree_depth": np.maximum.reduce,
    "acceptance_rate": lambda each: np.mean(each, axis=0),
}


class Chained(NamedTuple):
    """A part that a chain moves: its variables, the names of the entries of its positions, and where these lie in a
    position of all."""

    words: str
    names: Sequence[str]
    columns: np.ndarray
    starts: Starts
    handle: Handle


def by_factors(task: Task) -> InTurn | None:
    """The run of parts that nothing joins, where there are several, which has begun: all programs are compiled, and the
    chains of one part go."""
    numbers, division = numbers_of(task), task.division
    if division is None or division.whole:
        return None
    announce(task)
    posterior, starts = task.posterior, task.starts
    keyed = [*(seed_for(part.names, starts.seed) for part in division.chains[:-1]), starts.seed]
    own = [starts.of(part.values, seed) for part, seed in zip(division.chains, keyed, strict=True)]
    made = [_density(posterior, part, each) for part, each in zip(division.chains, own, strict=True)]
    found = []
    for part, each, density in zip(division.chains, own, made, strict=True):
        handle = nuts_of(task, density, each)
        if found:
            handle.pause()
        names = labels(each.slots, posterior.names)
        found.append(Chained(posterior.words(part), names, starts.columns(part.values), each, handle))
    if division.numbers is None or numbers is None:
        return InTurn(starts, found, None)
    return InTurn(
        starts, found, Beside(posterior.words(division.numbers), starts.columns(division.numbers.values), numbers)
    )


class Beside(NamedTuple):
    """Numbers that quadrature has drawn, and where they lie in a position of all."""

    words: str
    columns: np.ndarray
    run: Independent


class InTurn:
    """Chains of parts, the one part after the other, beside numbers that quadrature has drawn."""

    def __init__(self, starts: Starts, parts: Sequence[Chained], beside: Beside | None) -> None:
        self._clock, self._starts, self._parts, self._beside = Clock(), starts, parts, beside

    def watch(self, display: Display | None = None) -> InParts:
        """The finished run; when Ctrl-C is pressed the draws that all parts have, or KeyboardInterrupt where one has
        none."""
        runs: list[Run] = []
        try:
            for part in self._parts:
                if len(self._parts) > 1:
                    log.info("Part %d of %d: %s", len(runs) + 1, len(self._parts), part.words)
                part.handle.resume()
                runs.append(part.handle.watch(display))
                if runs[-1].interrupted and len(runs) < len(self._parts):
                    raise KeyboardInterrupt
        except StartError:
            self._tell_of(part)
            raise
        except ChainError as error:
            error.partial = self._together([each.handle.partial() for each in self._parts])
            raise
        finally:
            for each in self._parts:
                each.handle.stop()
        return self._together(runs)

    def _tell_of(self, part: Chained) -> None:
        """Note the starts of a part that were tried, as starts of all."""
        for chain, tried in part.starts.tried.items():
            position = self._starts.points[chain % len(self._starts.points)].copy()
            position[part.columns] = tried
            self._starts.tried[chain] = position

    def _together(self, runs: Sequence[Run]) -> InParts:
        """The draws that all parts have."""
        chains = [c for c in runs[0].chains if all(c in run.chains for run in runs)]
        each = list(zip(self._parts, runs, strict=True))
        drawn = [Piece(part.columns, run.chains, run.positions, run.stats) for part, run in each]
        tuned = [Piece(part.columns, run.chains, run.warmup_positions, run.warmup_stats) for part, run in each]
        compiling = max(run.compile_seconds for run in runs)
        seconds = max(0.0, self._clock.seconds - compiling)
        facts: dict[str, Any] = {
            "drawn_by": "; ".join(f"NUTS of {part.words}" for part in self._parts),
            "parts": "\n".join(f"{part.words}: {_how(run)}" for part, run in each),
        }
        if self._beside is not None:
            words, columns, numbers = self._beside
            drawn.append(Piece(columns, numbers.chains, numbers.positions, _lp(numbers.stats)))
            tuned.append(Piece(columns, numbers.chains, numbers.warmup_positions, _lp(numbers.warmup_stats)))
            compiling, seconds = compiling + numbers.compile_seconds, seconds + numbers.sampling_seconds
            facts["drawn_by"] += f"; quadrature of {words}"
            facts["quadrature_error"] = numbers.facts["quadrature_error"]
        positions, stats = joined(drawn, chains)
        kept = all(run.warmup_positions is not None for run in runs)
        tuning, tuning_stats = joined(tuned, chains) if kept else (None, {})
        return InParts(
            positions, stats, seconds, tuning, tuning_stats, compiling, any(run.interrupted for run in runs), facts,
            chains, [(part.words, part.names, run) for part, run in each],
            self._failures(each),
        )  # fmt: skip

    def _failures(self, each: Sequence[tuple[Chained, Run]]) -> Failures:
        """The failures of all parts, as positions of all."""
        found = [(part, failures(run)) for part, run in each]
        places = []
        for part, of_part in found:
            for place in of_part.places:
                position = self._starts.points[place.chain % len(self._starts.points)].copy()
                position[part.columns] = place.position
                places.append(place._replace(position=position))
        return Failures(sum(f.drawn for _, f in found), sum(f.tuning for _, f in found), places)


def _lp(stats: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What numbers add to the statistics of a draw: they have no trajectories."""
    return {"lp": stats["lp"]}


class Piece(NamedTuple):
    """Some columns of draws, and their statistics."""

    columns: np.ndarray
    chains: Sequence[int]
    positions: Any
    stats: Mapping[str, np.ndarray]


def joined(pieces: Sequence[Piece], chains: Sequence[int]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Positions and statistics of some chains, for the draws that all pieces have."""
    draws = min(piece.positions.shape[1] for piece in pieces)
    whole = np.empty((len(chains), draws, sum(len(piece.columns) for piece in pieces)))
    found: dict[str, list[np.ndarray]] = {}
    for columns, own, positions, stats in pieces:
        rows = [list(own).index(chain) for chain in chains]
        whole[..., columns] = positions[rows, :draws]
        for name, values in stats.items():
            found.setdefault(name, []).append(values[rows, :draws])
    return whole, {name: MERGED[name](each) for name, each in found.items()}


def seed_for(names: Sequence[str], seed: int) -> int:
    """The seed of a part by the names of its values."""
    words = [int.from_bytes(name.encode(), "big") for name in ("part", *names)]
    state = np.random.SeedSequence(seed, spawn_key=words).generate_state(2, np.uint64)
    return int(state[0]) << 64 | int(state[1])


def _density(posterior: Posterior, part: Part, starts: Starts) -> FlatProgram:
    """The log-density of a part."""

    def make() -> FlatProgram:
        total = add_all([tt.sum(term) for term in part.terms])
        return FlatProgram(optimize([total], once=is_data), starts.slots, once=posterior.of_data)  # type: ignore[arg-type]

    found: FlatProgram = posterior.once(("part", *((slot.variable, slot.shape) for slot in starts.slots)), make)
    return found


def _how(run: Run) -> str:
    """How a part was moved."""
    if not run.draws:
        return "no draws"
    return f"step size {run.stats['step_size'].mean():.3g}, {run.stats['n_steps'].mean():.1f} steps a draw"
