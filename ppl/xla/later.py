"""JAX, loaded when a program is first traced or run: it takes longer to load than many models take to be done.

Other modules write `from ppl.xla.later import jax, jnp` where they would import these, and use them inside functions as
they are. What a module declares while it is loaded is put off: `functions` names functions of a module of JAX before it
is there, and `custom_jvp`, `custom_vjp` and `jit` make theirs of a function when it is first called.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = [
    "Array", "Functions", "custom_jvp", "custom_vjp", "is_loaded", "jax", "jit", "jnp", "lax", "loaded", "module",
    "when_loaded", "wide",
]  # fmt: skip


class Functions:
    """A module whose functions can be named, and handed on, before it is loaded."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*args: Any, **options: Any) -> Any:
            return getattr(loaded(self._name), function)(*args, **options)

        call.__name__ = function
        return call


class _Module:
    """A module that is loaded when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(loaded(self._name), attribute)
        if not _waiting and not attribute.startswith("_"):
            self.__dict__[attribute] = found
        return found

    def __repr__(self) -> str:
        return f"<module {self._name!r}, loaded when it is needed>"


class _PutOff:
    """What a decorator of JAX makes of a function, when it is first called; rules for slopes wait too."""

    def __init__(self, decorator: str, f: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, f)
        self._make = lambda: getattr(loaded("jax"), decorator)(f, **options)
        self._rules: list[tuple[str, Any, Any]] = []

    @functools.cached_property
    def _made(self) -> Any:
        made = self._make()
        for kind, args, options in self._rules:
            getattr(made, kind)(*args, **options)
        return made

    def __call__(self, *args: Any, **options: Any) -> Any:
        if _waiting:
            loaded("jax")
        return self._made(*args, **options)

    def __getattr__(self, kind: str) -> Any:
        if kind not in ("defjvp", "defjvps", "defvjp"):
            raise AttributeError(kind)

        def rule(*args: Any, **options: Any) -> Any:
            self._rules.append((kind, args, options))
            return args[0]

        return rule


class _IsArray(type):
    def __instancecheck__(cls, value: object) -> bool:
        return is_loaded() and isinstance(value, sys.modules["jax"].Array)


class _Array(metaclass=_IsArray):
    """Arrays of JAX, of which there are none before it is loaded."""


def is_loaded() -> bool:
    """Whether JAX is there, wholly: another thread may be about to load it."""
    return hasattr(sys.modules.get("jax"), "Array")


def loaded(name: str) -> Any:
    """The module of JAX of this name, with numbers as wide as the blocks `wide` around this ask for."""
    found = importlib.import_module(name)
    while _hooks:
        _hooks.pop()()
    if _waiting:
        for block in [block for block in _waiting if block.thread == threading.get_ident()]:
            block.begin()
    return found


def module(name: str) -> Any:
    """The module of JAX of this name, loaded when one of its names is first asked for."""
    return _Module(name)


def when_loaded(entered: Callable[[], Any]) -> None:
    """Call a function, which tells JAX of something or learns it from there, before JAX is first used here."""
    _hooks.append(entered)


_hooks: list[Callable[[], Any]] = []
_waiting: list[wide] = []  # blocks entered before JAX was loaded, of all threads


class wide:  # noqa: N801  (used as a function is)
    """A block in which JAX's numbers have 64 bits, as by `jax.enable_x64(True)`; JAX is not loaded for it.

    >>> with wide():
    ...     print(jnp.ones(1).dtype)
    float64
    """

    def __enter__(self) -> None:
        self.thread, self.setting = threading.get_ident(), None
        if is_loaded():
            self.begin()
        else:
            _waiting.append(self)

    def begin(self) -> None:
        if self in _waiting:
            _waiting.remove(self)
        self.setting = sys.modules["jax"].enable_x64(True)
        self.setting.__enter__()

    def __exit__(self, *problem: object) -> None:
        if self.setting is not None:
            self.setting.__exit__(*problem)
        else:
            _waiting.remove(self)


if TYPE_CHECKING:
    import jax as jax
    import jax.numpy as jnp
    from jax import Array as Array
    from jax import custom_jvp as custom_jvp
    from jax import custom_vjp as custom_vjp
    from jax import jit as jit
    from jax import lax as lax
else:
    jax, jnp, lax, Array = _Module("jax"), _Module("jax.numpy"), _Module("jax.lax"), _Array
    custom_jvp = functools.partial(_PutOff, "custom_jvp")
    custom_vjp = functools.partial(_PutOff, "custom_vjp")
    jit = functools.partial(_PutOff, "jit")
