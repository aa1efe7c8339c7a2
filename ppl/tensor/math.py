"""PyTensor's module `pytensor.tensor.math`: every function of `ppl.tensor`, by the table of functions."""

from typing import Any

from ppl.tensor.tensor import FUNCTIONS


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONS:
        raise AttributeError(f"ppl.tensor.math has no function {name!r}")
    return FUNCTIONS[name]


def __dir__() -> list[str]:
    return sorted(FUNCTIONS)
