"""Compiled programs kept on disk by JAX's persistent cache, so that another process need not compile them again.

What is kept is machine code, and is run as it is read. So it lies in a folder of the user's that nobody else can write
to, one for each kind of processor and version of the compiler (a home directory may be shared by unlike machines).
JAX knows one place for all it compiles: while a sampling program compiles, `kept` makes it ours, and puts everything
back. A place that the user has given to JAX is used in its stead, as the user set it up.
"""

import contextlib
import functools
import hashlib
import logging
import os
import platform
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from ppl.samplers.programs import damaged_programs
from ppl.xla.later import jax, module

_cache, _jaxlib = module("jax.experimental.compilation_cache.compilation_cache"), module("jaxlib.version")
VARIABLE = "PPL_DISK_CACHE"  # 0: keep nothing on disk; otherwise a folder
LEAST_SECONDS = 0.03  # a program that compiles faster is not worth a file
MOST_BYTES = 1 << 30
HIT = "/jax/compilation_cache/cache_hits"  # JAX's event for a program that was found on disk
_SETTINGS = (
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
)

_lock = threading.Lock()
_open = 0
_found: tuple[object, ...] = ()  # JAX's settings before the first of the blocks that are open now


def enable_disk_cache(directory: str | os.PathLike[str] | None = None) -> Path:
    """Keep all that JAX compiles from now on, not sampling programs alone, for later processes too; returns where.

    The default is the place where sampling programs are kept anyway, `ppl/xla` in the user's cache directory. Programs
    on disk are run as they are, so a directory that belongs to somebody else, or that others can write to, is refused.
    JAX's setting holds for the whole process; the keys hold the versions of JAX and of the compiler, so after an update
    programs are compiled anew.
    """
    place = private(Path(directory) if directory is not None else default())
    damaged_programs.drop_from(str(place))
    _set(str(place), 0.0, -1)
    return place


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What compiles in this block is looked for on disk, and kept there unless it took next to no time."""
    place = _usual()
    if place is None:
        yield
        return
    _enter(place)
    try:
        yield
    finally:
        _leave()


def own_place() -> Path | None:
    """The folder of ours, where programs are kept there and not where the user has told JAX to."""
    with _lock:
        of_user = _found[0] if _open else getattr(jax.config, _SETTINGS[0])
    return _usual() if of_user is None else None


_reading = threading.local()  # what a thread has read from disk


@contextlib.contextmanager
def read() -> Iterator[list[str]]:
    """A list that has an entry for each program that this thread reads from disk in the block."""
    _listen()
    before = getattr(_reading, "found", None)
    found: list[str] = []
    _reading.found = found
    try:
        yield found
    finally:
        _reading.found = before


@functools.cache
def _listen() -> None:
    """Hear from JAX, once in a process, of each program that is found on disk."""

    def heard(event: str, **_: object) -> None:
        found = getattr(_reading, "found", None)
        if found is not None and event == HIT:
            found.append(event)

    jax.monitoring.register_event_listener(heard)


def private(place: Path) -> Path:
    """The directory, made if need be; refused where another user could put programs into it."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = place.stat()
    if os.name == "posix":
        if status.st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to another user; choose one of your own")
        if stat.S_IMODE(status.st_mode) & 0o022:
            raise PermissionError(f"others may write to {place}: run `chmod 700 {place}`, or choose another directory")
    return place


def default() -> Path:
    """The place for this processor and this compiler, in the user's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ppl" / "xla" / _machine()


def _machine() -> str:
    """A name for the compiler's version and the instructions that the processor has."""
    about = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        about += [next((line for line in lines if line.startswith(("flags", "Features"))), "")]
    return f"{_jaxlib.__version__}-{hashlib.sha256(repr(about).encode()).hexdigest()[:8]}"


@functools.cache
def _usual() -> Path | None:
    """Where programs are kept unless the user says otherwise; None where there is no such place."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "0":
        return None
    try:
        place = private(Path(wanted) if wanted else default())
        trim(place)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        logging.getLogger("ppl").debug("No compiled programs are kept on disk: %s", error)
        return None
    return place


def trim(place: Path, most: int = MOST_BYTES) -> None:
    """Remove the files that were read longest ago, down to half of `most` bytes, where there are more than `most`."""
    files = []
    for file in place.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process may trim as well
            status = file.stat()
            files.append((max(status.st_atime, status.st_mtime), status.st_size, file))
    total = sum(size for _, size, _ in files)
    if total <= most:
        return
    for _, size, file in sorted(files, key=lambda entry: entry[0]):
        if total <= most // 2:
            return
        file.unlink(missing_ok=True)
        total -= size


def _enter(place: Path) -> None:
    global _open, _found
    with _lock:
        _open += 1
        if _open == 1:
            _found = tuple(getattr(jax.config, name) for name in _SETTINGS)
            if _found[0] is None:
                damaged_programs.drop_from(str(place))
                _set(str(place), LEAST_SECONDS, -1)


def _leave() -> None:
    global _open
    with _lock:
        _open -= 1
        if not _open and _found[0] is None:
            _set(*_found)


def _set(*values: object) -> None:
    for name, value in zip(_SETTINGS, values, strict=True):
        jax.config.update(name, value)
    _cache.reset_cache()  # JAX looks at the directory once, at its first compilation
