"""What a user sees while chains run: a live table in a terminal, HTML in a notebook, now and then a line elsewhere.

A display is shown a report ten times a second by the thread that waits for the result. The chains know nothing of it.
"""

import html
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TextIO

from ppl.samplers.programs.programs import Made

LINE_SECONDS = 10.0  # between lines where nothing can be redrawn
NOTEBOOK_SECONDS = 0.5
HEADINGS = ("Chain", "Draws", "Divergences", "Step size", "Gradients", "Speed", "Left")


class ChainProgress(NamedTuple):
    """How far a chain is."""

    chain: int
    done: int
    total: int
    tune: int
    divergences: int
    step_size: float
    gradients: int
    seconds: float

    @property
    def speed(self) -> float:
        """Draws in a second so far."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float:
        """Seconds until the chain is done at this speed."""
        return (self.total - self.done) / self.speed if self.speed > 0 else float("inf")

    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        phase = " (tuning)" if self.done < self.tune else ""
        return (
            str(self.chain),
            f"{self.done}/{self.total}{phase}",
            str(self.divergences),
            f"{self.step_size:.3g}" if self.done else "",
            str(self.gradients),
            _rate(self.speed) if self.done else "",
            _duration(self.left) if self.done else "",
        )


class Report(NamedTuple):
    """The state of a run at one moment."""

    phase: str  # "compiling", "sampling" or "done"
    seconds: float
    chains: Sequence[ChainProgress]
    prepared: str = ""  # where the sampler's program came from, and how long that took


class Display(Protocol):
    """Shows reports between ``__enter__`` and ``__exit__``."""

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def show(self, report: Report) -> None:
        """Show a report, if it is time for it."""


class Nothing:
    """Shows nothing; displays that need no setting up and taking down build on it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def show(self, report: Report) -> None:
        """Do nothing."""


class Lines(Nothing):
    """A line every ten seconds, for logs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._next = time.monotonic() + LINE_SECONDS

    def show(self, report: Report) -> None:
        """Print a line if ten seconds have gone by."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LINE_SECONDS
        print(summary(report), file=self._stream, flush=True)


class Table(Nothing):
    """A table that is drawn again in its place, with rich."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def show(self, report: Report) -> None:
        """Draw the table again."""
        from rich.table import Table as RichTable

        table = RichTable(title=summary(report), title_justify="left", box=None, pad_edge=False)
        for heading in HEADINGS:
            table.add_column(heading, justify="right")
        for chain in report.chains:
            table.add_row(*chain.cells(), style="red" if chain.divergences else None)
        self._live.update(table, refresh=True)


class Notebook(Nothing):
    """HTML that replaces itself in the output of a notebook cell."""

    def __init__(self) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        self._html = HTML
        self._handle: Any = display(HTML(""), display_id=True)
        self._next = 0.0
        self._last: Report | None = None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._last is not None:
            self._handle.update(self._html(as_html(self._last)))

    def show(self, report: Report) -> None:
        """Replace the output, at most twice a second."""
        self._last = report
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + NOTEBOOK_SECONDS
            self._handle.update(self._html(as_html(report)))


def display_for(progress: bool | str | None) -> Display:
    """The display a caller asked for: False or None, True for the best one here, or "table", "html", "lines"."""
    if not progress:
        return Nothing()
    if progress is True:
        progress = "html" if _in_notebook() else "table" if sys.stderr.isatty() else "lines"
    kinds = {"table": Table, "html": Notebook, "lines": Lines}
    if progress not in kinds:
        raise ValueError(f"progress must be True, False, or one of {', '.join(kinds)}, got {progress!r}.")
    return kinds[progress]()


def summary(report: Report) -> str:
    """A run in one line."""
    if report.phase == "compiling":
        return f"Compiling ({report.seconds:.1f} s)"
    done, total = sum(c.done for c in report.chains), sum(c.total for c in report.chains)
    divergences = sum(c.divergences for c in report.chains)
    text = (
        f"Sampling {len(report.chains)} chains: {done}/{total} draws, {divergences} divergences, {report.seconds:.1f} s"
    )
    text += f", {report.prepared}" if report.prepared else ""
    left = [c.left for c in report.chains if c.done and c.done < c.total]
    return f"{text}, about {_duration(max(left))} left" if left else text


def preparation(made: Sequence[Made]) -> str:
    """How programs came to be, in words; none of programs that were known."""
    compiled = [p.writing + p.compiling for p in made if not p.from_disk]
    read = [p.writing + p.compiling for p in made if p.from_disk]
    words = [f"compiled in {sum(compiled):.1f} s"] if compiled else []
    words += [f"program read from disk in {sum(read):.1f} s"] if read else []
    return ", ".join(words)


def as_html(report: Report) -> str:
    """A report as a small table with bars."""
    heading = "".join(f"<th style='text-align:right'>{html.escape(h)}</th>" for h in ("", *HEADINGS))
    rows = []
    for chain in report.chains:
        color = "#c0392b" if chain.divergences else "#1f77b4"
        bar = f"<progress max='{chain.total}' value='{chain.done}' style='accent-color:{color}'></progress>"
        cells = "".join(f"<td style='text-align:right'>{html.escape(c)}</td>" for c in chain.cells())
        rows.append(f"<tr><td>{bar}</td>{cells}</tr>")
    return f"<p>{html.escape(summary(report))}</p><table><tr>{heading}</tr>{''.join(rows)}</table>"


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def _rate(speed: float) -> str:
    return f"{speed:.0f} draws/s" if speed >= 1 else f"{1 / speed:.1f} s/draw"


def _duration(seconds: float) -> str:
    if seconds == float("inf"):
        return ""
    whole = round(seconds)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02d}"
    )
