"""The longer module paths of PyTensor and PyMC below `ppl`, for programs whose imports are changed by hand.

`from pytensor.compile.ops import as_op` becomes `from ppl.compile.ops import as_op`, and means what it means under the
alias: the table of `ppl.alias.paths` says where each name stands. Modules of ppl come first, so nothing is hidden.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ppl.alias.facade import Facade, Row
from ppl.alias.paths import PATHS

_LEADING = {path[:i] for path in PATHS for i, letter in enumerate(path) if letter == "."}  # those with others below


def row_of(name: str) -> Row | None:
    """The names of a module below `ppl`, as PyTensor's and PyMC's modules of that path have them; None without any."""
    rest = name.removeprefix("ppl")
    paths = [path for path in (f"pytensor{rest}", f"pymc{rest}") if path in PATHS]
    words = [word for path in paths for word in PATHS[path].split() if word != f"*{name}"]
    row = Row(" ".join(words), paths[0] if paths else "")
    leads_on = not _LEADING.isdisjoint(paths)
    return row if row.names or (row.modules and row.is_here()) or (leads_on and not row.absent) else None


class Longer:
    """Finds what no file of ppl is; it stands last."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("ppl.") or row_of(name) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin="ppl", is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Facade:
        row = row_of(spec.name)
        assert row is not None, spec.name
        return Facade(spec.name, row.path, row)

    def exec_module(self, module: ModuleType) -> None:
        """Where ppl has a function or module of this name already, as `ppl.scan`, it stays, and gets the names."""
        parent, _, last = module.__name__.rpartition(".")
        held, row = _held(sys.modules[parent], last), row_of(module.__name__)
        if held is None or row is None:
            return
        held.__path__, held.__spec__ = [], module.__spec__
        if isinstance(held, ModuleType):
            _look_up_in(held, row)
        else:
            vars(held).update({name: row.find(name) for name in row.names})
        sys.modules[module.__name__] = held


def enter() -> None:
    """Let `import` find the paths, and the modules of ppl that PyTensor or PyMC have too find the names of these."""
    sys.meta_path.append(Longer())
    below = {parent for path in PATHS for parent in _parents(path)}
    for rest in {path.partition(".")[2] for path in PATHS}:
        name = f"ppl.{rest}" if rest else "ppl"
        module = _module(name)
        if module is None:
            continue
        if rest in below and not hasattr(module, "__path__"):
            module.__path__ = []  # type: ignore[attr-defined]
        row = row_of(name)
        if row is not None and (row.names or _of_the_alias(row) or rest in below):
            _look_up_in(module, row)


def _module(name: str) -> ModuleType | None:
    """The module of a path, which may stand in its parent alone, as `ppl.gradient` does; None without any."""
    parent, _, last = name.rpartition(".")
    held = sys.modules.get(name)
    if held is None and parent in sys.modules:
        held = vars(sys.modules[parent]).get(last)
    return held if isinstance(held, ModuleType) and held.__name__.startswith("ppl") else None


def _of_the_alias(row: Row) -> list[str]:
    """The modules of a row that hold PyMC's and PyTensor's names alone; others are ppl's own, under paths of theirs."""
    return [module for module in row.modules if module.startswith("ppl.alias.")]


def _parents(path: str) -> list[str]:
    """The modules above a path, without the package."""
    words = path.split(".")[1:]
    return [".".join(words[:n]) for n in range(1, len(words))]


Finding = Callable[[str], Any]
_own: dict[ModuleType, Finding | None] = {}  # how modules find names on first use without the table


def _held(module: ModuleType, name: str) -> Any:
    """What a module has under a name; None for nothing."""
    find = _own.get(module, module.__dict__.get("__getattr__"))
    if name in module.__dict__ or find is None:
        return module.__dict__.get(name)
    try:
        return find(name)
    except AttributeError:
        return None


def _look_up_in(module: ModuleType, row: Row) -> None:
    own = _own.setdefault(module, module.__dict__.get("__getattr__"))

    def find(name: str) -> Any:
        place = row.names.get(name, "")
        if place and sys.modules.get(place.rpartition(".")[0]) is not module:
            return row.find(name)
        if (held := _held(module, name)) is not None:
            return held
        for place in _of_the_alias(row):
            if (found := getattr(importlib.import_module(place), name, None)) is not None:
                return found
        if row_of(f"{module.__name__}.{name}") is not None:
            return importlib.import_module(f"{module.__name__}.{name}")
        if own is not None:
            return own(name)  # its own words for what is not there
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = find  # type: ignore[method-assign]
