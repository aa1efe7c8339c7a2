"""A bar for work on draws that exist: predictive draws, pointwise densities, deterministics."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 0.5  # seconds before anything is shown: most such work is done sooner


class Bar:
    """How many draws are done, where a terminal or a notebook can show it; nothing in a log, or where unwanted."""

    def __init__(self, doing: str, wanted: bool = True) -> None:
        self._doing, self._wanted = doing, wanted
        self._lock = threading.Lock()
        self._shown: Any = None

    def __enter__(self) -> Self:
        self._done, self._next = 0, time.monotonic() + PATIENCE
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown is not None:
            self._shown.stop()
            self._shown = None

    def advance(self, draws: int, total: int) -> None:
        """So many draws more are done, of `total`; any thread may say so."""
        with self._lock:
            self._done += draws
            if not self._wanted or (time.monotonic() < self._next and self._shown is None):
                return
            if self._shown is None:
                self._shown = _live()
                self._task = self._shown.add_task(self._doing, total=total)
                self._shown.start()
            self._shown.update(self._task, completed=self._done)


def _live() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=console, disable=not (console.is_terminal or console.is_jupyter))
