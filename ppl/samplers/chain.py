"""One chain on the host: its tables of rows, and how a dispatch's draws get into them."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .blas import one_blas_thread
from .kernel import Kernel, Window
from .programs import Chunk
from .rows import Rows, Shape
from .run import ChainRecord, Divergence

DISPATCH_SECONDS = 0.075  # long enough to hide the host's work, short enough to stop at once
FIRST_DISPATCH, FASTER = 32, 16  # the first dispatch, and by how much a next one may be longer

TIMES: dict[str, type] = {
    "perf_counter_start": np.float64,
    "perf_counter_diff": np.float64,
    "process_time_diff": np.float64,
}

_NOTHING, _UNKNOWN = np.zeros(1), np.full(1, np.nan)


class Layout:
    """The tables that every chain of a run fills."""

    def __init__(self, kernel: Kernel, dim: int, dtype: np.dtype, tune: int, draws: int, expanded: Any) -> None:
        self.kernel, self.tune, self.draws = kernel, tune, draws
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
        self.state: Any = None
        self.error: BaseException | None = None
        self.divergences: list[Divergence] = []
        self.n_diverging = 0
        self.n_gradients = 0
        self.step_size = float("nan")
        self.elapsed = 0.0
        self._rows = {name: rows(number, name, shape) for name, shape in layout.shapes.items()}
        self._pace = (FIRST_DISPATCH, 0.0)  # draws and seconds of the last dispatch

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

    @property
    def phase_left(self) -> int:
        """Draws that are missing in warm-up, or after it."""
        return (self.tune if self.done < self.tune else self.total) - self.done

    def next_dispatch(self, rows: int) -> int:
        """How many draws to ask for, so that a dispatch takes about ``DISPATCH_SECONDS`` and stays in its phase."""
        count, seconds = self._pace
        paced = min(FASTER * count, int(DISPATCH_SECONDS * count / seconds)) if seconds else FIRST_DISPATCH
        return max(1, min(paced, rows, self.phase_left))

    def take(self, plan: Any, state: Any, chunk: Chunk, values: Any, seconds: tuple[float, float, float]) -> int:
        """Put the draws of a dispatch into the tables, then do what the kernel asks of the host.

        ``seconds`` are the dispatch's beginning, its length, and the processor time that went by.
        """
        count, n_marks, attention = (int(fact) for fact in np.asarray(chunk.facts))
        began, lasted, processor = seconds
        self.elapsed += lasted
        if count:
            self._pace = (count, lasted)
            self._write(chunk, values, count, n_marks)
            times = np.empty((count, len(TIMES)))
            times[:, 0] = began + np.arange(count) * (lasted / count)
            times[:, 1], times[:, 2] = lasted / count, processor / count
            self._rows["times"].write(self.done, times)
            self.done += count
        self.state = state
        if attention:
            with one_blas_thread():
                self.state = self.layout.kernel.host(plan, state, self._window())
        return count

    def _write(self, chunk: Chunk, values: Any, count: int, n_marks: int) -> None:
        stats = np.asarray(chunk.stats)[:count]
        self._rows["positions"].write(self.done, np.asarray(chunk.positions)[:count])
        self._rows["stats"].write(self.done, stats)
        if self.done < self.tune:
            self._rows["gradients"].write(self.done, np.asarray(chunk.gradients)[:count])
        else:
            for name, leaf in zip(self.layout.expanded_names, jax.tree.leaves(values), strict=True):
                self._rows[name].write(self.done - self.tune, np.asarray(leaf)[:count])
        if n_marks:
            marks, rows = np.asarray(chunk.marks), np.asarray(chunk.mark_rows)
            for i in range(n_marks):
                self.divergences.append(Divergence(int(rows[i]) + self.done - self.tune, marks[i].copy()))
        named = dict(zip(self.layout.kernel.stats, stats.T, strict=True))
        if self.done >= self.tune:
            self.n_diverging += int(named.get("diverging", _NOTHING).sum())
        self.n_gradients += int(named.get("n_steps", _NOTHING).sum())
        self.step_size = float(named.get("step_size", _UNKNOWN)[-1])

    def _window(self) -> Window:
        done = min(self.done, self.tune)
        return Window(
            self._rows["positions"].read(0, done),
            self._rows["gradients"].read(0, done),
            self._rows["stats"].read(0, done),
        )

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
            state=jax.tree.map(np.asarray, self.state),
        )

    def _columns(self, table: str, kinds: dict[str, type]) -> dict[str, np.ndarray]:
        rows = self._rows[table].read(0, self.done)
        return {name: rows[:, i].astype(kind) for i, (name, kind) in enumerate(kinds.items())}
