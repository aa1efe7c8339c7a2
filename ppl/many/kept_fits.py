"""Fits that are done, kept in a folder, so that a second call goes on where the first one ended.

The folder belongs to the user alone, since reading what it holds runs code, as compiled programs on disk do. It says
what the fits were asked to be: a call that asks for others is refused, with what differs. An item that has changed
since is fitted again.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ppl.model.errors import TraceDirectoryError
from ppl.samplers.programs.disk_cache import private

ASKED = "fits.json"


class KeptFits:
    """Results by the number of the item."""

    def __init__(self, directory: str | os.PathLike[str], asked: Mapping[str, Any]) -> None:
        self._place = private(Path(directory))
        told, file = {name: str(value) for name, value in asked.items()}, self._place / ASKED
        if not file.exists():
            self._write(file, json.dumps(told, indent=1).encode())
            return
        before = json.loads(file.read_text())
        if different := [name for name in told if before.get(name) != told[name]]:
            words = "; ".join(f"{name} was {before.get(name)}, and is {told[name]}" for name in different)
            raise TraceDirectoryError(
                f"{directory} holds fits that were asked for otherwise: {words}. Give another folder, or remove it."
            )

    def get(self, index: int, item: Any) -> list[Any]:
        """The result in a list; an empty one where it is not there, or of another item."""
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            of_item, result = pickle.loads(self._file(index).read_bytes())
            if of_item == digest_of(item):
                return [result]
        return []

    def put(self, index: int, item: Any, result: Any) -> None:
        self._write(self._file(index), pickle.dumps((digest_of(item), result)))

    def _file(self, index: int) -> Path:
        return self._place / f"fit-{index:08d}.pickle"

    def _write(self, file: Path, content: bytes) -> None:
        """All of it or nothing: who ends in between leaves no half of a file."""
        begun = file.with_suffix(f".{os.getpid()}")
        begun.write_bytes(content)
        begun.replace(file)


def code_of(f: Any) -> str:
    """What stands for the text of a function, where Python finds it."""
    try:
        return hashlib.blake2b(inspect.getsource(f).encode(), digest_size=6).hexdigest()
    except (OSError, TypeError):
        return "not known"


def digest_of(item: Any) -> str:
    """What stands for the content of an item."""
    return hashlib.blake2b(pickle.dumps(item), digest_size=16).hexdigest()
