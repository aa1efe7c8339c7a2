"""Compiled programs kept on disk, by JAX's persistent cache, in a directory that nobody else can write to."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache


def enable_disk_cache(directory: str | Path | None = None) -> Path:
    """Keep compiled programs from now on, for later processes too; returns where.

    The default is `ppl/xla` in the user's cache directory. Programs on disk are run as they are, so a directory that
    belongs to somebody else, or that others can write to, is refused. JAX's setting holds for the whole process; the
    keys hold the versions of JAX and of the compiler, so after an update programs are compiled anew.
    """
    place = Path(directory) if directory is not None else _default()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = place.stat()
    if os.name == "posix":
        if status.st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to another user; choose one of your own")
        if stat.S_IMODE(status.st_mode) & 0o022:
            raise PermissionError(f"others may write to {place}: run `chmod 700 {place}`, or choose another directory")
    jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # JAX looks at the setting once, at its first compilation
    return place


def _default() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ppl" / "xla"
