"""One chain on the host: its tables of rows, and how a dispatch's draws get into them."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from ppl.samplers.programs.kernel import Kernel, Window
from ppl.samplers.programs.packing import Packed, Packing, on_host
from ppl.samplers.programs.programs import MOST_ROWS, Buffers, Chunk, Packs
from ppl.samplers.runs.rows import Rows, Shape
from ppl.samplers.runs.run import ChainRecord, Divergence
from ppl.xla.blas import one_blas_thread
from ppl.xla.later import Array, jax

DISPATCH_SECONDS = 0.075  # long enough to hide the host's work, short enough to stop at once
FIRST_DISPATCH, FASTER = 32, 16  # the first dispatch, and by how much a next one may be longer

TIMES: dict[str, type] = {
    "perf_counter_start": np.float64,
    "perf_counter_diff": np.float64,
    "process_time_diff": np.float64,
}


class Seconds(NamedTuple):
    """When a dispatch began, how long it lasted, and the processor time that went by."""

    began: float
    lasted: float
    processor: float

    def each(self, count: int) -> np.ndarray:
        """The rows of ``TIMES`` of so many draws, each with its share."""
        times = np.empty((count, len(TIMES)))
        times[:, 0] = self.began + np.arange(count) * (self.lasted / count)
        times[:, 1:] = self.lasted / count, self.processor / count
        return times


class Layout:
    """What all chains of a run have in common: how states are packed, and which tables they fill."""

    def __init__(
        self, kernel: Kernel, plan: Any, dim: int, dtype: np.dtype, tune: int, draws: int, expanded: Any
    ) -> None:
        self.kernel, self.plan, self.tune, self.draws = kernel, plan, tune, draws
        nowhere = kernel.init(np.zeros(dim, dtype))
        self.packs = Packs(Packing(plan), Packing(nowhere))
        self.blank = self.packs.state.pack(nowhere)  # what a state looks like
        self.column = {name: i for i, name in enumerate(kernel.stats)}
        leaves, self.expanded = jax.tree.flatten(expanded)
        self.shapes = {
            "positions": Shape(tune + draws, (dim,), dtype),
            "gradients": Shape(tune, (dim,), dtype),
            "stats": Shape(tune + draws, (len(kernel.stats),), np.dtype(np.float64)),
            "times": Shape(tune + draws, (len(TIMES),), np.dtype(np.float64)),
        }
        self.expanded_names = [f"expanded-{i}" for i in range(len(leaves))]
        for name, leaf in zip(self.expanded_names, leaves, strict=True):
            self.shapes[name] = Shape(draws, tuple(leaf.shape), np.dtype(leaf.dtype))

    def buffers(self, rows: int) -> Buffers:
        """Room for the draws of a dispatch."""
        return Buffers(*(cast(Array, self.shapes[name].table(rows)) for name in Buffers._fields))

    def values(self, rows: int) -> Any:
        """Room for the generated quantities of a dispatch."""
        return jax.tree.unflatten(self.expanded, [self.shapes[name].table(rows) for name in self.expanded_names])


class Chain:
    """The draws of one chain and the state it goes on from."""

    def __init__(
        self,
        number: int,
        key: np.ndarray,
        layout: Layout,
        keep_warmup: bool,
        rows: Callable[[int, str, Shape], Rows],
    ) -> None:
        self.number, self.key, self.layout, self.keep_warmup = number, key, layout, keep_warmup
        self.done = 0  # draws made, warm-up included
        self.state: Packed = layout.blank
        self.error: BaseException | None = None
        self.divergences: list[Divergence] = []
        self.n_diverging = 0
        self.n_gradients = 0
        self.step_size = float("nan")
        self.elapsed = 0.0
        self._rows = {name: rows(number, name, shape) for name, shape in layout.shapes.items()}
        self._most, self._pace = FIRST_DISPATCH // FASTER, 0.0  # draws of the longest dispatch, seconds a draw

    @property
    def tune(self) -> int:
        """Draws of the warm-up."""
        return self.layout.tune

    @property
    def total(self) -> int:
        """All draws that this chain shall make."""
        return self.layout.tune + self.layout.draws

    @property
    def finished(self) -> bool:
        """Are all draws made?"""
        return self.done >= self.total

    def next_dispatch(self, rows: int) -> int:
        """How many draws to ask for, so that a dispatch takes about ``DISPATCH_SECONDS``."""
        paced = min(FASTER * self._most, int(DISPATCH_SECONDS / self._pace) if self._pace else MOST_ROWS)
        return max(1, min(paced, rows, self.total - self.done))

    def tuning_among(self, count: int) -> int:
        """How many of the next ``count`` draws belong to the warm-up."""
        return min(count, max(0, self.tune - self.done))

    def take(self, state: Packed, chunk: Chunk, values: Any, seconds: Seconds) -> bool:
        """Put the draws of a dispatch into the tables; True if the kernel wants the host to ``attend`` now.

        ``values`` are the generated quantities of the draws after the warm-up, each in the row of its draw.
        """
        count, n_marks, attention, *mark_rows = np.asarray(chunk.facts).tolist()
        self.elapsed += seconds.lasted
        if count:
            self._most, self._pace = max(self._most, count), seconds.lasted / count
            for i in range(n_marks):
                place = np.asarray(chunk.marks)[i].copy()
                self.divergences.append(Divergence(mark_rows[i] + self.done - self.tune, place))
            self._write(chunk, values, count)
            self._rows["times"].write(self.done, seconds.each(count))
            self.done += count
        self.state = state
        return bool(attention)

    def attend(self) -> None:
        """The host's part of the warm-up; chains need not wait for each other's."""
        packing, kernel = self.layout.packs.state, self.layout.kernel
        with one_blas_thread():
            after = kernel.host(self.layout.plan, packing.unpack(on_host(self.state)), self._window())
        self.state = packing.pack(after)

    def _write(self, chunk: Chunk, values: Any, count: int) -> None:
        stats, tuned = np.asarray(chunk.stats)[:count], self.tuning_among(count)
        self._rows["positions"].write(self.done, np.asarray(chunk.positions)[:count])
        self._rows["stats"].write(self.done, stats)
        if tuned:
            self._rows["gradients"].write(self.done, np.asarray(chunk.gradients)[:tuned])
        if tuned < count:
            for name, leaf in zip(self.layout.expanded_names, jax.tree.leaves(values), strict=True):
                self._rows[name].write(self.done + tuned - self.tune, np.asarray(leaf)[tuned:count])
        column = self.layout.column
        if "diverging" in column:
            self.n_diverging += int(stats[tuned:, column["diverging"]].sum())
        if "n_steps" in column:
            self.n_gradients += int(stats[:, column["n_steps"]].sum())
        if "step_size" in column:
            self.step_size = float(stats[-1, column["step_size"]])

    def _window(self) -> Window:
        done = min(self.done, self.tune)
        return Window(
            self._rows["positions"].read(0, done),
            self._rows["gradients"].read(0, done),
            self._rows["stats"].read(0, done),
        )

    def filled(self) -> dict[str, np.ndarray]:
        """The rows of each table that are written; of those of a chain that has none yet, as many as ``done`` says."""
        tuned = min(self.done, self.tune)
        counts = {"gradients": tuned} | dict.fromkeys(self.layout.expanded_names, self.done - tuned)
        return {name: np.asarray(rows.read(0, counts.get(name, self.done))) for name, rows in self._rows.items()}

    def fill(self, tables: dict[str, np.ndarray]) -> None:
        """Take over such rows."""
        for name, values in tables.items():
            self._rows[name].write(0, values)

    def record(self) -> ChainRecord:
        """What is finished now, as far as it was asked for: a checkpoint may hold more draws."""
        done, tuned = min(self.done, self.total), min(self.done, self.tune)
        stats = self._columns("stats", self.layout.kernel.stats) | self._columns("times", TIMES)
        expanded = [self._rows[name].read(0, done - tuned) for name in self.layout.expanded_names]
        return ChainRecord(
            chain=self.number,
            positions=self._rows["positions"].read(tuned, done),
            stats={k: v[tuned:done] for k, v in stats.items()},
            expanded=jax.tree.unflatten(self.layout.expanded, expanded),
            warmup_positions=self._rows["positions"].read(0, tuned) if self.keep_warmup else None,
            warmup_stats={k: v[:tuned] for k, v in stats.items()},
            divergences=list(self.divergences),
            state=self.layout.packs.state.unpack(on_host(self.state)),
        )

    def _columns(self, table: str, kinds: dict[str, type]) -> dict[str, np.ndarray]:
        rows = self._rows[table].read(0, self.done)
        return {name: rows[:, i].astype(kind) for i, (name, kind) in enumerate(kinds.items())}
