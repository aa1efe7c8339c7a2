"""What is told to the user while work is done: the logger "ppl", shown on standard error as PyMC shows its own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

log = logging.getLogger("ppl")
if not log.handlers and not logging.getLogger().handlers:
    _shown = logging.StreamHandler()
    _shown.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(_shown)
if log.level == logging.NOTSET:
    log.setLevel(logging.INFO)


@contextlib.contextmanager
def silenced(quiet: bool) -> Iterator[None]:
    """No messages inside the block where `quiet`."""
    level = log.level
    if quiet:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)
