"""JAX's copies of SciPy, loaded when one of their functions first runs: SciPy comes with them, a tenth of the time that
`import ppl` would take."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """A module whose functions can be named before it is loaded."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            return getattr(importlib.import_module(self._name), function)(*args, **options)

        call.__name__ = function
        return call


jsp, jsl = Later("jax.scipy.special"), Later("jax.scipy.linalg")
