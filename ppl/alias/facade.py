"""Modules that stand for those of PyMC and PyTensor, and the finder that gives them to `import`."""

from __future__ import annotations

import importlib
import importlib.machinery
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from ppl.alias.absent import absent
from ppl.alias.missing import NotHereYet, sentence
from ppl.alias.paths import FORMER, PATHS
from ppl.alias.versions import stated, version_of

ROOTS = ("pymc", "pytensor", *FORMER)


def is_aliased(name: str) -> bool:
    """Whether a module's name belongs to a package that ppl stands for."""
    return name.partition(".")[0] in ROOTS


def present_path(name: str) -> str:
    """The path in PyMC or PyTensor of a module, whose package may have an older name."""
    root, _, rest = name.partition(".")
    return ".".join([FORMER.get(root, root), *([rest] if rest else [])])


class Row:
    """A row of the table: names with their places, and modules of ppl that give all of theirs."""

    def __init__(self, text: str, path: str) -> None:
        words, self.path = text.split(), path
        self.modules = [word[1:] for word in words if word[0] == "*"]
        self.absent = {word[1:] for word in words if word[0] == "!"}
        self.names = dict(_place(word) for word in words if word[0] not in "*!")
        self.elsewhere = {word.partition("=")[0] for word in words if "=" in word}

    def is_here(self) -> bool:
        """Whether ppl has anything of it: a module that is all of a row may come in later work."""
        return bool(self.names or self.absent) or not self.modules or any(_exists(module) for module in self.modules)

    def find(self, name: str) -> Any:
        """The object that a name means; an AttributeError where this row has none."""
        if name in self.names:
            return at(self.names[name])
        for module in filter(_exists, self.modules):
            found = getattr(importlib.import_module(module), name, None)
            if found is not None and not isinstance(found, ModuleType):
                return found
        if name in self.absent:
            return absent(f"{self.path}.{name}")
        raise AttributeError(name)

    def all_names(self) -> set[str]:
        found = set(self.names)
        for module in filter(_exists, self.modules):
            found |= {name for name in dir(importlib.import_module(module)) if name[0] != "_"}
        return found


def _exists(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not error.name or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and misses another one
        return False
    return True


def _place(word: str) -> tuple[str, str]:
    name, _, place = word.partition("=")
    return name, place or f"ppl.{name}"


def at(place: str) -> Any:
    """The object at a dotted place of ppl."""
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(module), name)


class Facade(ModuleType):
    """A module of PyMC or PyTensor, whose names are ppl's."""

    def __init__(self, name: str, path: str = "", row: Row | None = None) -> None:
        self._path = path = path or present_path(name)
        super().__init__(name, f"{path}, for which ppl stands.")
        self._row = row or Row(PATHS[path], path)
        if path in ("pymc", "pytensor"):
            self.__version__ = version_of(name)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # what `from pymc import *` takes
            return [name for name in self.__dir__() if name[0] != "_" and hasattr(self, name)]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name not in self._row.elsewhere and f"{self._path}.{name}" in PATHS:
            return importlib.import_module(f"{self.__name__}.{name}")
        try:
            found = self._row.find(name)
        except AttributeError:
            raise AttributeError(sentence(f"{self.__name__}.{name}")) from None
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """What `import` does with a module below this one; a function of its name hides it, as in PyTensor."""
        if not (isinstance(value, Facade) and name in self._row.elsewhere):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        below = [path.rpartition(".")[2] for path in PATHS if path.rpartition(".")[0] == self._path]
        return sorted({*self.__dict__, *below, *self._row.all_names()})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}, for which ppl stands>"


class Finder:
    """Gives ppl where the packages of `ROOTS` are imported, and answers for their versions."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not is_aliased(name):
            return None
        path = present_path(name)
        if path not in PATHS or not Row(PATHS[path], path).is_here():
            raise NotHereYet(sentence(name))
        return importlib.machinery.ModuleSpec(name, self, origin="ppl", is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Facade:
        return Facade(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: names are looked up when they are asked for."""

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """What `importlib.metadata` asks for."""
        return stated(getattr(context, "name", None), ROOTS)
