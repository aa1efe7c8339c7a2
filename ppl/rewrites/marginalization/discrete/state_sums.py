r"""Sums of rows that are each in one of few states, for many choices of the states.

Where the rows in each state stand side by side, from a place l to a place h, whatever the choice (as before, between
and after change points), the sum of a choice is read off running totals,

.. math:: \sum_s \sum_{l_s \le i < h_s} r_s[i],

which no difference of large totals spoils: a run between two places has a table of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.graph.records import record
from ppl.rewrites.limits import LIMITS
from ppl.tensor.arrays.segments import segment_sum
from ppl.tensor.tensor import Tensor

Numbers = tuple[int, ...]  # of states, one of each code


@record
class State:
    """The number of the state of each row by the values of few discrete latents, and which of these each choice
    takes."""

    of_rows: np.ndarray  # (values, rows)
    values: np.ndarray  # (choices)


@record
class Run:
    """Rows from `start` to before `end`, for each choice; none where these are equal."""

    start: np.ndarray
    end: np.ndarray

    def within(self, other: Run) -> Run:
        """The rows of both."""
        start, end = np.maximum(self.start, other.start), np.minimum(self.end, other.end)
        return Run(start, np.maximum(start, end))

    def and_then(self, other: Run) -> Run | None:
        """The rows of either, if they stand side by side for every choice."""
        mine, its = self.start < self.end, other.start < other.end
        if np.any(mine & its & (self.end != other.start) & (other.end != self.start)):
            return None
        start = np.where(mine & its, np.minimum(self.start, other.start), np.where(mine, self.start, other.start))
        return Run(start, np.where(mine & its, np.maximum(self.end, other.end), np.where(mine, self.end, other.end)))


def sums_of_rows(rows: Sequence[tuple[Numbers, Tensor]], states: Sequence[State]) -> Tensor | None:
    """For each choice the sum of the rows in their states; None where that takes too many numbers."""
    order = np.lexsort([s.of_rows.mean(axis=0) for s in reversed(states)])
    found = [_runs_of(s.of_rows[:, order]) for s in states]
    runs = [r for r in found if r is not None]
    if len(runs) < len(found):
        return _one_by_one(rows, states)
    joined: list[tuple[Tensor, Run]] = []
    for numbers, values in rows:
        run: Any = None
        for k, s, known in zip(numbers, states, runs, strict=True):
            here = Run(known[k].start[s.values], known[k].end[s.values])
            run = here if run is None else run.within(here)
        _join(joined, values, run)
    pieces = [_sum_over(values[order], run, len(order)) for values, run in joined if np.any(run.start < run.end)]
    if any(p is None for p in pieces):
        return _one_by_one(rows, states)
    return _total(pieces)


def _runs_of(of_rows: np.ndarray) -> dict[int, Run] | None:
    """The rows in each state, for each choice; None where they do not stand side by side."""
    found = {}
    places = np.arange(of_rows.shape[1])
    for k in np.unique(of_rows):
        inside = of_rows == k
        start, count = inside.argmax(axis=1), inside.sum(axis=1)
        run = Run(start, start + count)
        if not np.array_equal(inside, (run.start[:, None] <= places) & (places < run.end[:, None])):
            return None
        found[int(k)] = run
    return found


def _join(joined: list[tuple[Tensor, Run]], values: Tensor, run: Run) -> None:
    """Enter a run, in one with another of the same rows where they stand side by side."""
    for i, (known, other) in enumerate(joined):
        if known is values and (both := other.and_then(run)) is not None:
            joined[i] = known, both
            return
    joined.append((values, run))


def _sum_over(values: Tensor, run: Run, count: int) -> Tensor | None:
    """The sum of each run."""
    some = run.start < run.end
    if np.all(run.start[some] == 0):
        totals = tt.concatenate([np.zeros(1), tt.cumsum(values)])
        return totals[np.where(some, run.end, 0)]
    if np.all(run.end[some] == count):
        totals = tt.concatenate([tt.cumsum(values[::-1])[::-1], np.zeros(1)])
        return totals[np.where(some, run.start, count)]
    cuts = np.unique(np.concatenate([run.start, run.end]))
    if len(cuts) > LIMITS.cuts:
        return None
    block = np.searchsorted(cuts, np.arange(count), side="right")  # rows before the first cut are block 0
    sums = segment_sum(values, block, len(cuts) + 1)[1:]  # of the rows from each cut to the next
    k = np.arange(len(cuts))
    between = tt.cumsum(tt.switch(k[:, None] <= k, sums, 0.0), axis=1)  # from one cut to the end of another's block
    first, last = np.searchsorted(cuts, run.start), np.searchsorted(cuts, run.end) - 1
    return tt.switch(some, between[first, np.maximum(last, 0)], 0.0)


def _one_by_one(rows: Sequence[tuple[Numbers, Tensor]], states: Sequence[State]) -> Tensor | None:
    """The same, where the rows in one state stand anywhere."""
    if len(rows) * len(states[0].values) * states[0].of_rows.shape[1] > LIMITS.chosen_rows:
        return None
    whole = [s.of_rows[s.values] for s in states]
    pieces = []
    for numbers, values in rows:
        inside = np.all([w == k for w, k in zip(whole, numbers, strict=True)], axis=0)
        pieces.append(tt.sum(tt.switch(inside, values, 0.0), axis=1))
    return _total(pieces)


def _total(pieces: Sequence[Any]) -> Tensor:
    total = pieces[0]
    for more in pieces[1:]:
        total = total + more
    return total
