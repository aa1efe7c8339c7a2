"""Ctrl-C, and the wish of a batch system to end, as requests that are looked at, not as blows that strike anywhere.

Python raises KeyboardInterrupt wherever the main thread happens to be: between the release of a lock and the note that
it is free, inside a garbage collector's callback, where it is printed and forgotten, or half-way through a redraw. So
while a run is waited for, the first press is only counted; a second one raises at once, for who cannot wait.
"""

import os
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


class Termination:
    """Notes SIGTERM inside its block, where the process would end of it, this is the main thread, and it is `wanted`.

    A batch system that stops a job, or moves it elsewhere, sends it and waits some seconds. Whoever waits for a run
    then saves it, and leaves with CODE, by which such systems know a job that is to be started again. A second signal
    ends the process at once.
    """

    CODE = 75  # EX_TEMPFAIL of sysexits.h: not done, to be tried again

    def __init__(self, wanted: bool) -> None:
        self.asked = False
        self._wanted, self._ours = wanted, False

    def __enter__(self) -> Self:
        in_main = threading.current_thread() is threading.main_thread()
        if self._wanted and in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._signalled)
            self._ours = True
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.asked = True
