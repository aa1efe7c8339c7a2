"""The few settings a program may change: `config.floatX`, and `config.change_flags(...)` as a context."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

# PyTensor's settings that say how its compilers work, with the values they have here: XLA compiles everything.
OF_COMPILERS: dict[str, Any] = {
    "mode": "Mode", "linker": "jax", "optimizer": "o4", "optimizer_including": "", "optimizer_excluding": "",
    "cxx": "", "gcc__cxxflags": "", "blas__ldflags": "", "compiledir": "", "base_compiledir": "", "openmp": False,
    "device": "cpu", "allow_gc": True, "on_opt_error": "warn", "on_unused_input": "raise", "profile": False,
    "profile_memory": False, "profile_optimizer": False, "exception_verbosity": "low", "traceback__limit": 8,
    "traceback__compile_limit": 0, "compute_test_value": "off", "warn_float64": "ignore", "cast_policy": "custom",
    "allow_output_prealloc": True, "numba__vectorize_target": "cpu", "numba__fastmath": True, "numba__cache": True,
}  # fmt: skip


class Config(threading.local):
    """Settings of the tensor language, per thread."""

    floatX: str = "float64"  # noqa: N815  (Theano's name)

    def __getattr__(self, name: str) -> Any:
        if name in OF_COMPILERS:
            return OF_COMPILERS[name]
        raise AttributeError(f"no setting {name!r}; there is floatX, and what PyTensor's compilers have")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OF_COMPILERS:
            if value != getattr(self, name):
                text = f"config.{name} = {value!r} has no effect: XLA compiles every program."
                warnings.warn(text, UserWarning, stacklevel=2)
            super().__setattr__(name, value)
            return
        if name != "floatX":
            raise AttributeError(f"no setting {name!r}; there is floatX, and what PyTensor's compilers have")
        if value not in ("float32", "float64"):
            raise ValueError(f"floatX is 'float64' or 'float32', got {value!r}")
        super().__setattr__(name, value)

    @contextlib.contextmanager
    def change_flags(self, **settings: Any) -> Iterator[None]:
        """Other settings inside a `with` block."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield
        finally:
            self.__dict__.update(before)


config = Config()
