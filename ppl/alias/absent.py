"""Names of PyMC and PyTensor that packages import at their top, and that ppl does not have.

They can be imported, written in annotations, asked about by `isinstance` (nothing is one) and subclassed, so that a
package is importable whose other parts run. Using one is an error that names it.
"""

from __future__ import annotations

from typing import Any

from ppl.alias.missing import NotHereYet, sentence


class Absent(type):
    """The class of such a name."""

    path: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        of_a_package = not cls.path.endswith(f".{cls.__name__}")
        if of_a_package or cls.__name__[0].islower():
            raise NotHereYet(sentence(cls.path, cls.__name__))
        return Unused(cls)

    def __repr__(cls) -> str:
        return f"<{cls.path}, which is not in ppl yet>"


class Unused:
    """What such a class gives when it is called, as for the default of an argument. Using it is an error."""

    def __init__(self, kind: Absent) -> None:
        self.__dict__["kind"] = kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotHereYet(sentence(self.kind.path))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotHereYet(sentence(self.kind.path))

    def __iter__(self) -> Any:
        raise NotHereYet(sentence(self.kind.path))

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __truediv__ = __pow__ = __getitem__ = __call__

    def __repr__(self) -> str:
        return repr(self.kind)


def absent(path: str) -> Absent:
    """The stand-in for a name."""
    return Absent(path.rpartition(".")[2], (), {"path": path, "__module__": path.rpartition(".")[0]})
