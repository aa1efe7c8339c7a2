"""`max_seconds=`: chains stop when their time is over, and what they have drawn is the result.

The clock begins with the call, so that a job of a batch system can be given a little less than its own time. A program
that is being compiled and a dispatch of draws are not broken off: the chains stop after these.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ppl.model.log import log


class TimeLimit:
    """Stops a run when its time is over, and says so."""

    def __init__(self, seconds: float, began: float, place: Any, tell: Callable[[str], None]) -> None:
        self._seconds, self._place, self._tell = seconds, place, tell
        self._left = max(0.0, seconds - (time.monotonic() - began))
        self._timer: threading.Timer | None = None

    def on(self, run: Any) -> None:
        """Watch a run, from now on until it is done."""
        self._timer = threading.Timer(self._left, self._over, [run])
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """The run is done: there is nothing to stop any more, and what was stopped has been told."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()

    def _over(self, run: Any) -> None:
        if not run.running:
            return
        self._tell(f"max_seconds={self._seconds:g}")
        try:
            so_far = run.abort()
        except Exception:  # of the run: whoever waits for it is told
            return
        if so_far.interrupted:
            again = (
                "" if self._place is None else f" It is saved: the same call with resume={str(self._place)!r} goes on."
            )
            log.warning(
                "max_seconds=%g: the run was stopped after %s draws of each chain.%s",
                self._seconds, f"{so_far.draws:_}", again,
            )  # fmt: skip


def checked_seconds(seconds: Any) -> float | None:
    """The argument, as a number of seconds."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise ValueError(f"max_seconds is a number of seconds above 0, got {seconds!r}.")
    return float(seconds)
