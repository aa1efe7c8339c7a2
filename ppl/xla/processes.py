"""Whether the other processes of a run are alive: each leaves a sign of life every second, and looks at those of all.

A collective waits for all processes. Where one of them is killed, those left get an error or wait for ever, and the
runtime under them ends them after its own heartbeats, with nothing saved. So they look themselves, while a run goes on:
who has left no sign for some seconds, or stays behind by a dispatch for a minute, is gone. What is done then is the
run's business.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ppl.xla.later import jax
from ppl.xla.private import board

BEAT_SECONDS = 1.0
PATIENCE = 8.0  # seconds without a sign of life after which a process is gone ...
AFTER_AN_ERROR = 3.0  # ... and where a collective has failed
BEHIND = 60.0  # seconds that one that is alive may stay behind


class Company:
    """The processes that go in step with this one."""

    def __init__(self) -> None:
        self.turn = 0  # how many dispatches this process has begun
        self.alarmed = False
        self._me, self._count = jax.process_index(), jax.process_count()  # threads must not ask when JAX is closed
        self._beats = 0
        self._seen: dict[int, tuple[str, float]] = {}  # the last sign of each, and when it was new
        self._behind: dict[int, float] = {}
        self._watching: Callable[[int], None] | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._live, name="signs of life", daemon=True).start()

    def watch(self, gone: Callable[[int], None] | None) -> None:
        """Call ``gone`` with the number of a process that is gone; None: do not look any more."""
        with self._lock:
            now = time.monotonic()
            self._seen = {who: (sign, now) for who, (sign, _) in self._seen.items()}
            self._behind, self.alarmed, self._watching = {}, False, gone

    def _live(self) -> None:
        """Signs are left by one thread and looked at by another: where the first process is gone, leaving one waits."""
        threading.Thread(target=self._look, name="looking for signs of life", daemon=True).start()
        while (place := board()) is not None:
            self._beats += 1
            try:
                place.key_value_set(f"ppl/alive/{self._me}", f"{self._beats} {self.turn}", allow_overwrite=True)
                for who in range(self._count):
                    if who != self._me:
                        self._note(who, str(place.key_value_try_get(f"ppl/alive/{who}")))
            except jax.errors.JaxRuntimeError:
                pass  # none there yet, or nobody answers
            time.sleep(BEAT_SECONDS)

    def _note(self, who: int, sign: str) -> None:
        now = time.monotonic()
        with self._lock:
            if self._seen.get(who, ("", 0.0))[0] != sign:
                self._seen[who] = sign, now
            if int(sign.split()[1]) < self.turn:
                self._behind.setdefault(who, now)
            else:
                self._behind.pop(who, None)

    def _look(self) -> None:
        while True:
            time.sleep(BEAT_SECONDS / 2)
            now, patience = time.monotonic(), AFTER_AN_ERROR if self.alarmed else PATIENCE
            with self._lock:
                late = [who for who, (_, when) in self._seen.items() if now - when > patience]
                late += [who for who, since in self._behind.items() if now - since > BEHIND]
                gone = self._watching
            if late and gone is not None:
                gone(min(late))


_company: list[Company] = []
_making = threading.Lock()


def company() -> Company:
    """The processes that go in step with this one, made when first asked for: from then on this one is seen alive."""
    with _making:
        if not _company:
            _company.append(Company())
        return _company[0]
