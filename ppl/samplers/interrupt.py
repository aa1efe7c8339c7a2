"""Ctrl-C as a request that is looked at, in place of an exception that may strike anywhere.

Python raises KeyboardInterrupt wherever the main thread happens to be: between the release of a lock and the note that
it is free, inside a garbage collector's callback, where it is printed and forgotten, or half-way through a redraw. So
while a run is waited for, the first press is only counted; a second one raises at once, for who cannot wait.
"""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Presses:
    """Counts presses of Ctrl-C inside its block, if Python's own handler is in place and this is the main thread.

    A handler that the user has set is left alone, and so is a process that ignores the signal.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
