"""How far the chains of sequential Monte Carlo have come, where a terminal or a notebook can show it."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 0.5  # seconds before anything is shown: most runs are done sooner


class Stages:
    """A bar for each chain, as long as its inverse temperature, with the log evidence so far."""

    def __init__(self, chains: int, wanted: bool) -> None:
        self._chains, self._wanted = chains, wanted
        self._lock, self._shown = threading.Lock(), None
        self._due = time.monotonic() + PATIENCE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown is not None:
            self._shown.stop()

    def show(self, chain: int, beta: float, log_evidence: float) -> None:
        """A chain has reached an inverse temperature."""
        if not self._wanted or time.monotonic() < self._due:
            return
        with self._lock:
            shown = self._shown or self._begun()
            shown.update(shown.task_ids[chain], completed=beta, log_evidence=f"{log_evidence:.2f}")

    def _begun(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        words = "{task.description}", "β {task.completed:.4f}", "log evidence {task.fields[log_evidence]}"
        columns = TextColumn(words[0]), BarColumn(), *map(TextColumn, words[1:]), TimeElapsedColumn()
        shown: Any = Progress(*columns, console=console, disable=not (console.is_terminal or console.is_jupyter))
        for chain in range(self._chains):
            shown.add_task(f"Chain {chain}", total=1.0, log_evidence="")
        shown.start()
        self._shown = shown
        return shown
