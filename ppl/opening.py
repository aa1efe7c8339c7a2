"""When the package is opened: `import ppl` loads next to nothing; all of it comes with the first name or module that a
program asks for.

So scripts, command lines and workers that import ppl and then do something else do not wait for it, and nobody can meet
a half of it: a family that knows no models, or rules without those of another file.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

ALONE = ("ppl.opening", "ppl.public", "ppl.xla")  # modules that open nothing
FEW = 60_000  # objects, that are looked through within some milliseconds


class _Waiting:
    """Opens the package before any module of it is found, and finds those that came with it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self.opening and name in self._files:
            file, folder = self._files[name]
            places = None if folder is None else [folder]
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
        if not name.startswith("ppl.") or name.startswith(ALONE) or self.opening:
            return None
        now(patient=False)  # who opens the package may be waiting for this module
        module = sys.modules.get(name)
        if module is None:
            return None
        self._specs[name] = module.__spec__  # Python would make the module again by the one it finds there
        module.__spec__ = importlib.machinery.ModuleSpec(name, self)
        return module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs.pop(module.__name__)

    def __init__(self) -> None:
        self.opening = False
        self._specs: dict[str, Any] = {}
        self._files: dict[str, tuple[str, str | None]] = {}

    def begin(self) -> None:
        """List the files of the package once: Python would look through its folders for each of 800 modules."""
        self.opening = True
        self._files = files_below("ppl", os.path.dirname(os.path.abspath(__file__)))

    def end(self) -> None:
        self.opening, self._files = False, {}


_waiting = _Waiting()
_lock = threading.RLock()


def wait() -> None:
    """Open the package when the first of its modules is imported."""
    sys.meta_path.insert(0, _waiting)


def now(patient: bool = True) -> None:
    """Open the package, if it is not open; where another thread is at it, wait for that one if `patient`."""
    if _waiting not in sys.meta_path or not _lock.acquire(blocking=patient):
        return
    try:
        if not _waiting.opening and _waiting in sys.meta_path:
            with _without_collections():
                _open()
    finally:
        _lock.release()


def _open() -> None:
    _waiting.begin()
    try:
        public = importlib.import_module("ppl.public")
        given = {name: value for name, value in vars(public).items() if name == "__version__" or name[0] != "_"}
        vars(sys.modules["ppl"]).update(given, __getattr__=public.__getattr__)
        public._enter()
        sys.meta_path.remove(_waiting)
    finally:
        _waiting.end()


def files_below(package: str, folder: str) -> dict[str, tuple[str, str | None]]:
    """The modules of a package by name: their files, and of packages their folders."""
    found: dict[str, tuple[str, str | None]] = {}
    folders = [(package, folder)]
    while folders:
        package, folder = folders.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                stem, dot, ending = entry.name.partition(".")
                if ending == "py":
                    whole = stem == "__init__"
                    found[package if whole else f"{package}.{stem}"] = entry.path, folder if whole else None
                elif not dot and entry.is_dir():
                    folders.append((f"{package}.{stem}", entry.path))
    return found


def find(name: str) -> Any:
    """A name of the package that it does not have so far."""
    if name[:2] != "__" or name in ("__all__", "__version__"):
        now()
    package = sys.modules["ppl"]
    if name in vars(package):
        return vars(package)[name]
    if _waiting not in sys.meta_path:  # open: what else there is, is told by those who know
        return vars(package)["__getattr__"](name)
    raise AttributeError(f"module 'ppl' has no attribute {name!r}")


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """What is loaded here stays: no cycles are looked for in it now, and where no program has many objects yet, later
    neither (`gc.freeze`): each look at 80,000 objects, of which there are three when Python ends, takes 30 ms."""
    on = gc.isenabled()
    few = on and len(gc.get_objects()) < FEW
    if few:
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
    if few:
        gc.freeze()
