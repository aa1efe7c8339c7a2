"""Learning: layers, losses, optimizers, each a module that is loaded on first use (optimizers need optax)."""

import importlib as _importlib
import pkgutil as _pkgutil
from types import ModuleType as _ModuleType


def __getattr__(name: str) -> _ModuleType:
    if name not in __dir__():
        raise AttributeError(f"ppl.nn has no module {name!r}; it has {', '.join(__dir__())}")
    return _importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted(module.name for module in _pkgutil.iter_modules(__path__))
