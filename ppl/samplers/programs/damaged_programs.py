"""Compiled programs on disk that cannot be read are dropped, with one line.

JAX warns of such a file at each run, and never writes it anew, since there is one already. So where the folder is ours
a file that cannot be read is removed, and one that could not be written whole does not stay. JAX has no public place to
see either: its two functions are wrapped where they have the names known here, and are left alone otherwise.
"""

import contextlib
import functools
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ppl.xla.later import jax
from ppl.xla.private import wrap_in_disk_cache

DIRECTORY = "jax_compilation_cache_dir"
ENDING = "-cache"  # of a file's name, after the key
_ours: set[str] = set()
_told: set[str] = set()
_last = threading.local()  # the key of the program that a thread has read or written last


def last_key() -> str | None:
    """The key of the program that this thread has read or written since it was asked last."""
    key, _last.key = getattr(_last, "key", None), None
    return key


def drop_from(place: str) -> None:
    """From now on, drop what is damaged in this folder."""
    _ours.add(place)
    for name, what in (("get_executable_and_time", "read"), ("put_executable_and_time", "written")):
        wrap_in_disk_cache(name, lambda plain, what=what: _dropping(plain, what))  # type: ignore[misc]


def _dropping(plain: Callable[..., Any], what: str) -> Callable[..., Any]:
    if hasattr(plain, "drops_damaged"):
        return plain

    @functools.wraps(plain)
    def tried(key: str, *arguments: Any, **more: Any) -> Any:
        place = getattr(jax.config, DIRECTORY)
        try:
            found = plain(key, *arguments, **more)
            _last.key = key if what == "written" or found[0] is not None else None
            return found
        except Exception as error:  # damage fails in many ways
            if place not in _ours:
                raise
            with contextlib.suppress(OSError):
                (Path(place) / f"{key}{ENDING}").unlink(missing_ok=True)
            _tell_once(what, place, error)
            return (None, None) if what == "read" else None

    tried.drops_damaged = True  # type: ignore[attr-defined]
    return tried


def _tell_once(what: str, place: str, error: Exception) -> None:
    if what in _told:
        return
    _told.add(what)
    then = "removed, and the program is compiled anew" if what == "read" else "left out, and the run goes on without it"
    logging.getLogger("ppl").warning(
        "A compiled program kept in %s could not be %s (%s: %s): the file is %s.",
        place, what, type(error).__name__, error, then,
    )  # fmt: skip
