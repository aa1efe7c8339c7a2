"""What is told to the user while work is done: the logger "ppl", shown on standard error as PyMC shows its own."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

log = logging.getLogger("ppl")
if not log.handlers and not logging.getLogger().handlers:
    _shown = logging.StreamHandler()
    _shown.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(_shown)
if log.level == logging.NOTSET:
    log.setLevel(logging.INFO)
_lock = threading.Lock()
_blocks: list[None] = []  # that are open and want silence
_before = logging.INFO  # the level that the first of them found


@contextlib.contextmanager
def silenced(quiet: bool) -> Iterator[None]:
    """No messages while such blocks are open where `quiet`; blocks of several threads may overlap."""
    if not quiet:
        yield
        return
    global _before
    with _lock:
        if not _blocks:
            _before = log.level
            log.setLevel(logging.CRITICAL + 1)
        _blocks.append(None)
    try:
        yield
    finally:
        with _lock:
            _blocks.pop()
            if not _blocks:
                log.setLevel(_before)
