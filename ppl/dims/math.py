"""Functions of labelled tensors: PyMC's `pymc.dims.math`."""

from typing import Any as _Any

from ppl.xtensor import linalg as linalg
from ppl.xtensor import math as _math
from ppl.xtensor.math import dot as dot


def __getattr__(name: str) -> _Any:
    return getattr(_math, name)


def __dir__() -> list[str]:
    return sorted({"linalg", *(name for name in dir(_math) if not name.startswith("_"))})
