"""Compiled programs kept by what they compute, so that another process need not trace them.

JAX's cache on disk (`disk_cache.py`) knows a program by its text, and writing the text out takes longer than reading
the program: all that is traced again is a third of a second of a small run. Keys of programs say all that a text would
follow from, where nothing of the user's own code is in them: the digest of a graph, what is fixed of a kernel, shapes.
With the versions of what turns keys into programs they name a file, in the same folder. It says, as JSON, in which of
JAX's files the machine code is, which arguments it takes, and how results are put together.

Programs that call libraries outside of XLA (LAPACK), or back into Python, are not kept: what they call has to be made
ready by tracing them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ppl.samplers.programs import disk_cache
from ppl.samplers.programs.damaged_programs import ENDING
from ppl.xla.later import jax
from ppl.xla.private import loaded_executable, used_arguments

FORMAT = 1
PROGRAM, NUMBER = ".program", ".number"
PACKAGE = Path(__file__).resolve().parents[2]
# What tracing depends on besides the key.
SETTINGS = """jax_enable_x64 jax_threefry_partitionable jax_numpy_dtype_promotion jax_default_matmul_precision
    jax_numpy_rank_promotion jax_debug_nans jax_debug_infs jax_disable_jit jax_default_prng_impl""".split()
log = logging.getLogger("ppl")


class UnwrittenError(Exception):
    """Something that has no name which another process would know."""


class Kept:
    """A program read from disk: called as the one that was compiled."""

    def __init__(self, executable: Any, about: dict[str, Any]) -> None:
        self._executable, self._used, self._result = executable, about["used"], about["result"]
        self._kinds = [(tuple(shape), np.dtype(dtype)) for shape, dtype in about["kinds"]]

    def __call__(self, *arguments: Any) -> Any:
        leaves = jax.tree.leaves(arguments)
        with jax.enable_x64(True):
            given = [leaves[i] if isinstance(leaves[i], jax.Array) else jax.device_put(leaves[i]) for i in self._used]
        for value, (shape, dtype) in zip(given, self._kinds, strict=True):
            if value.shape != shape or value.dtype != dtype:
                raise TypeError(f"the program was compiled for {dtype}{list(shape)}, got {value.dtype}{value.shape}")
        return _built(self._result, self._executable.execute(given))


def place_of(*parts: Hashable) -> Path | None:
    """The file of what these parts stand for; None where nothing is kept, or a part means nothing elsewhere."""
    folder = disk_cache.own_place()
    if folder is None or jax.default_backend() != "cpu":
        return None
    try:
        text = "\n".join([_surroundings(), *map(_written, parts)])
    except UnwrittenError:
        return None
    return folder / hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def read(place: Path | None) -> Kept | None:
    """The program of a file, if it is there and whole."""
    if place is None:
        return None
    file = place.with_suffix(PROGRAM)
    try:
        about = json.loads(file.read_text())
        content = (place.parent / f"{about['key']}{ENDING}").read_bytes()
        device = np.array([[jax.devices()[0]]])
        return Kept(loaded_executable(content, about["options"], device), about)
    except FileNotFoundError:
        return None
    except Exception as error:  # damage fails in many ways; the program is made anew
        log.debug("A compiled program kept in %s could not be read: %s: %s", file, type(error).__name__, error)
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
        return None


def write(place: Path | None, key: str | None, options: Mapping[str, Any], lowered: Any, compiled: Any) -> None:
    """Say by which key JAX keeps a program on disk, and how it is called."""
    used = used_arguments(compiled)
    if place is None or key is None or used is None or "custom_call" in lowered.as_text():
        return
    kinds, tree = [jax.tree.leaves(compiled.in_avals)[i] for i in used], compiled.out_tree
    with contextlib.suppress(UnwrittenError, OSError):
        about = {
            "key": key,
            "options": dict(options),
            "used": used,
            "kinds": [[list(kind.shape), np.dtype(kind.dtype).name] for kind in kinds],
            "result": _described(jax.tree.unflatten(tree, range(tree.num_leaves))),
        }
        _put(place.with_suffix(PROGRAM), json.dumps(about).encode())


def number(parts: Sequence[Hashable], work_out: Callable[[], float]) -> float:
    """A number that follows from these parts: read where another process has worked it out."""
    place = place_of("number", *parts)
    if place is None:
        return work_out()
    file = place.with_suffix(NUMBER)
    with contextlib.suppress(OSError, ValueError):
        return float(file.read_text())
    found = work_out()
    with contextlib.suppress(OSError):
        _put(file, repr(float(found)).encode())
    return found


def _put(file: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    part = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _surroundings() -> str:
    """What, besides keys, programs follow from."""
    settings = [f"{name}={getattr(jax.config, name, None)}" for name in SETTINGS]
    variables = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k == "XLA_FLAGS" or k.startswith("PPL_")]
    variables = [each for each in variables if not each.startswith(disk_cache.VARIABLE)]
    return "\n".join([str(FORMAT), jax.__version__, _version(), *settings, *variables])


@functools.cache
def _version() -> str:
    """The code of this package as it is now: it turns keys into programs."""
    hasher, folders = hashlib.blake2b(digest_size=20), [str(PACKAGE)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".py"):
                    status = entry.stat()
                    hasher.update(f"{entry.path}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    return hasher.hexdigest()


def _written(part: Any) -> str:
    """A part of a key as text, the same in every process."""
    if part is None or isinstance(part, bool | int | float | str | bytes | np.dtype):
        return f"{type(part).__name__}:{part!r}"
    if isinstance(part, np.generic):
        return f"{part.dtype.name}:{part.item()!r}"
    if isinstance(part, tuple):
        name = type(part).__name__ if hasattr(part, "_fields") else ""
        return f"{name}({','.join(map(_written, part))})"
    module, name = getattr(part, "__module__", None) or "", getattr(part, "__qualname__", "")
    if isinstance(part, type) and module.startswith("ppl.") and getattr(sys.modules.get(module), name, None) is part:
        return f"{module}.{name}"  # a family, which any process finds by its name
    raise UnwrittenError(part)


def _described(tree: Any) -> Any:
    """How results are put together, of numbers of leaves, as JSON has it."""
    if tree is None or isinstance(tree, int):
        return tree
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        return {"dict": {key: _described(value) for key, value in tree.items()}}
    if isinstance(tree, list):
        return {"list": [_described(value) for value in tree]}
    if isinstance(tree, tuple):
        kind, parts = type(tree), [_described(value) for value in tree]
        if kind is tuple:
            return {"tuple": parts}
        if kind.__module__.startswith("ppl.") and "." not in kind.__qualname__:
            return {"named": [kind.__module__, kind.__qualname__], "parts": parts}
    raise UnwrittenError(tree)


def _built(described: Any, leaves: Sequence[Any]) -> Any:
    if described is None or isinstance(described, int):
        return None if described is None else leaves[described]
    if "dict" in described:
        return {key: _built(value, leaves) for key, value in described["dict"].items()}
    if "list" in described:
        return [_built(value, leaves) for value in described["list"]]
    if "tuple" in described:
        return tuple([_built(value, leaves) for value in described["tuple"]])
    return _named(*described["named"])(*[_built(value, leaves) for value in described["parts"]])


@functools.cache
def _named(module: str, name: str) -> Any:
    """A named tuple of this package."""
    kind = getattr(importlib.import_module(module), name)
    if not (module.startswith("ppl.") and isinstance(kind, type) and issubclass(kind, tuple)):
        raise ValueError(f"{module}.{name} is no named tuple of this package")
    return kind
