"""Python's collector of garbage rests while graphs grow."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Nodes form no cycles; looking for some while a large graph grows takes a third of the time, and the first look at
    all that imports have left, a tenth of a second."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
