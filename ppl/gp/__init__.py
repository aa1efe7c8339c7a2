"""Gaussian processes, by PyMC's names; each module is loaded on first use."""

import importlib as _importlib
import pkgutil as _pkgutil
from typing import Any as _Any

_CLASSES = {
    **dict.fromkeys("Latent Marginal MarginalApprox MarginalSparse LatentKron MarginalKron TP".split(), "gp"),
    "HSGP": "hsgp",
    "HSGPPeriodic": "hsgp_periodic",
    "hsgp_size": "hsgp_approx",
}


def __getattr__(name: str) -> _Any:
    if name in _CLASSES:
        return getattr(_importlib.import_module(f"{__name__}.{_CLASSES[name]}"), name)
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"ppl.gp has no name {name!r}; it has {', '.join(__dir__())}")
    return _importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted([*_CLASSES, *(module.name for module in _pkgutil.iter_modules(__path__))])
