"""Differential equations in models: PyMC's `DifferentialEquation`, and `solve` for states of any shape.

solution = ppl.ode.solve(lambda y, t, rate: -rate * y, y0=[1.0], times=times, args=(rate,))
"""

import importlib as _importlib
from typing import Any as _Any

_PLACES = {
    "DifferentialEquation": "differential_equation",
    "solve": "solving",
    "augment_system": "augmented",
    "make_sens_ic": "augmented",
}
__all__ = ["DifferentialEquation", "solve"]


def __getattr__(name: str) -> _Any:
    """The functions of this part, which are read when one is used: a model without equations does not wait for them."""
    if name in _PLACES:
        return getattr(_importlib.import_module(f"ppl.ode.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'ppl.ode' has no attribute {name!r}: it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
