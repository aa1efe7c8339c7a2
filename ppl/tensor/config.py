"""The few settings a program may change: `config.floatX`, and `config.change_flags(...)` as a context."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class Config(threading.local):
    """Settings of the tensor language, per thread."""

    floatX: str = "float64"  # noqa: N815  (Theano's name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "floatX":
            raise AttributeError(f"no setting {name!r}; there is floatX")
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
            for name, value in before.items():
                setattr(self, name, value)


config = Config()
