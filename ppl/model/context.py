"""The model that a `with` block is about."""

from __future__ import annotations

import threading
from typing import Any, Protocol, TypeVar

from ppl.tensor.core.names import other_names


class InBlock(Protocol):
    """What the `with` block asks of its model."""

    @property
    def root(self) -> Any: ...
    def name_of(self, name: str) -> str: ...


M = TypeVar("M", bound=InBlock)


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


def around(model: InBlock) -> Any:
    """The innermost model but this one."""
    others = [each for each in _stack.models if each is not model]
    return others[-1] if others else None


def modelcontext(model: M | None) -> M:
    """The model given, or the one of the `with` block; an error that says so where there is neither."""
    found = model if model is not None else current_model()
    if found is None:
        raise TypeError("No model on context stack: call this inside a `with model:` block, or pass model=.")
    if not hasattr(found, "free_RVs"):
        raise TypeError(f"model= is a Model, got {found!r}.")
    return found


def _names() -> list[str]:
    """The names of the current model as its block writes them."""
    model = current_model()
    return [] if model is None else [model.name_of(name) for name in model.root.named_vars]


other_names.append(_names)
