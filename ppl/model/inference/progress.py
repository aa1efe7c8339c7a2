"""PyMC's progress modes: a row a chain, or one for all."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from ppl.model.output import results
from ppl.samplers import ChainProgress
from ppl.samplers.runs.progress import Display, Report, display_for


class _Combined:
    """A display that is shown all chains as one."""

    def __init__(self, inner: Display) -> None:
        self._inner = inner

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._inner.__exit__(kind, error, trace)

    def show(self, report: Report) -> None:
        """Show the sum of the chains."""
        chains = report.chains
        if chains:
            done, total = sum(c.done for c in chains), sum(c.total for c in chains)
            whole = ChainProgress(
                len(chains), done, total, sum(c.tune for c in chains), sum(c.divergences for c in chains),
                sum(c.step_size for c in chains) / len(chains), sum(c.gradients for c in chains),
                max(c.seconds for c in chains),
            )  # fmt: skip
            report = report._replace(chains=[whole])
        self._inner.show(report)


class Attended:
    """A display of a run that is stopped as soon as it is known that no result can come of it."""

    def __init__(self, inner: Display) -> None:
        self._inner = inner

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._inner.__exit__(kind, error, trace)

    def show(self, report: Report) -> None:
        """Show how far the chains are."""
        if report.phase != "done":
            results.refuse_failed()
        self._inner.show(report)


def display(mode: Any) -> Display:
    """The display of a mode: False, True, "combined", "split", either with "+stats"."""
    if isinstance(mode, str) and "combined" in mode:
        return _Combined(display_for(True))
    return display_for(bool(mode))
