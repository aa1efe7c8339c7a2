"""The versions of PyMC and PyTensor that ppl answers for, to packages that ask."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# By the major version of ArviZ: with 0.x results are InferenceData, as PyMC 5 returns; with 1.x they are DataTree.
PYMC = {"0": "5.28.5", "1": "6.4.0"}
PYTENSOR = {"0": "2.38.3", "1": "3.3.8"}
FORMER = {"pymc3": "3.11.6", "theano": "1.1.2", "aesara": "2.9.4"}


@functools.lru_cache
def version_of(package: str) -> str:
    """The version whose names are meant, with the mark `+ppl`."""
    table = {"pymc": PYMC, "pytensor": PYTENSOR}.get(package)
    import importlib.metadata

    major = "0" if importlib.metadata.version("arviz").startswith("0.") else "1"
    return f"{table[major] if table else FORMER[package]}+ppl"


@functools.cache
def _stated() -> type:
    """The class of what is known of a package for which ppl stands."""

    import importlib.metadata

    class Stated(importlib.metadata.Distribution):
        """The metadata of a package for which ppl stands."""

        def __init__(self, package: str) -> None:
            self.package = package

        def read_text(self, filename: str) -> str | None:
            if filename != "METADATA":
                return None
            return f"Metadata-Version: 2.1\nName: {self.package}\nVersion: {version_of(self.package)}\n"

        def locate_file(self, path: Any) -> Any:
            return Path(__file__).parent / path

    return Stated


def stated(name: str | None, packages: Iterable[str]) -> Iterator[Any]:
    """The packages that ppl stands for, all of them or the one of a name."""
    wanted = None if name is None else re.sub(r"[-_.]+", "-", name).lower()
    return (_stated()(package) for package in packages if wanted in (None, package))
