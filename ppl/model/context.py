"""The model that a `with` block is about."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from ppl.tensor.core.names import other_names


class InBlock(Protocol):
    """What the `with` block asks of its model."""

    @property
    def root(self) -> Any: ...
    def name_of(self, name: str) -> str: ...


M = TypeVar("M", bound=InBlock)

Function = TypeVar("Function", bound=Callable[..., Any])


class _Stack(threading.local):
    def __init__(self) -> None:
        self.models: list[Any] = []


_stack = _Stack()


def push(model: InBlock) -> None:
    """Enter the block of a model."""
    _stack.models.append(model)


def pop() -> None:
    """Leave the innermost block."""
    _stack.models.pop()


def current_model() -> Any:
    """The innermost model, None outside any block."""
    return _stack.models[-1] if _stack.models else None


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """As if there were no block: what is made inside belongs to no model around it."""
    before, _stack.models = _stack.models, []
    try:
        yield
    finally:
        _stack.models = before


def around(model: InBlock) -> Any:
    """The innermost model but this one."""
    others = [each for each in _stack.models if each is not model]
    return others[-1] if others else None


def modelcontext(model: M | None) -> M:
    """The model given, or the one of the `with` block; an error that says so where there is neither.

    >>> with pm.Model() as model:
    ...     pm.modelcontext(None) is model
    True
    """
    found = model if model is not None else current_model()
    if found is None:
        raise TypeError("No model on context stack: call this inside a `with model:` block, or pass model=.")
    if not hasattr(found, "free_RVs") or is_foreign(found):
        hint = " Take it over by ppl.from_pymc(model) first." if is_foreign(found) else ""
        raise TypeError(f"model= is a Model, got {found!r}.{hint}")
    return found


foreign: list[Callable[[Any], Any]] = []  # from a model of the real PyMC to one of ours; the bridge enters it


def is_foreign(thing: Any) -> bool:
    """Whether something is of the real PyMC."""
    return type(thing).__module__.split(".")[0] == "pymc"


def model_to_read(model: Any) -> Any:
    """The model of a function that changes none: `modelcontext`, or a model of the real PyMC taken over, be it given or
    the one of PyMC's `with` block."""
    found = model if model is not None else current_model()
    if found is None or is_foreign(found):
        for convert in foreign:
            found = convert(found) or found
    return modelcontext(found)


def model_may_be_first(function: Function) -> Function:
    """A function with `model=`, to which the model may also be given before all other arguments."""

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        if args and hasattr(args[0], "free_RVs"):
            if options.get("model") is not None:
                raise TypeError(f"{function.__name__}: the model is given twice, first and by model=. Leave one out.")
            return function(*args[1:], **{**options, "model": args[0]})
        return function(*args, **options)

    return called  # type: ignore[return-value]


def _names() -> list[str]:
    """The names of the current model as its block writes them."""
    model = current_model()
    return [] if model is None else [model.name_of(name) for name in model.root.named_vars]


other_names.append(_names)
