"""The model that a `with` block is about."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ppl.tensor.names import other_names

if TYPE_CHECKING:
    from ppl.model.model import Model


class _Stack(threading.local):
    def __init__(self) -> None:
        self.models: list[Any] = []


_stack = _Stack()


def push(model: Model) -> None:
    """Enter the block of a model."""
    _stack.models.append(model)


def pop() -> None:
    """Leave the innermost block."""
    _stack.models.pop()


def current_model() -> Model | None:
    """The innermost model, None outside any block."""
    return _stack.models[-1] if _stack.models else None


def around(model: Any) -> Model | None:
    """The innermost model but this one."""
    others = [each for each in _stack.models if each is not model]
    return others[-1] if others else None


def modelcontext(model: Model | None) -> Model:
    """The model given, or the one of the `with` block; an error that says so where there is neither."""
    found = model if model is not None else current_model()
    if found is None:
        raise TypeError("No model on context stack: call this inside a `with model:` block, or pass model=.")
    if not hasattr(found, "free_RVs") or is_foreign(found):
        hint = " Take it over by ppl.from_pymc(model) first." if is_foreign(found) else ""
        raise TypeError(f"model= is a Model, got {found!r}.{hint}")
    return found


foreign: list[Callable[[Any], Model | None]] = []  # from a model of the real PyMC to one of ours; the bridge enters it


def is_foreign(thing: Any) -> bool:
    """Whether something is of the real PyMC."""
    return type(thing).__module__.split(".")[0] == "pymc"


def model_to_read(model: Any) -> Model:
    """The model of a function that changes none: `modelcontext`, or a model of the real PyMC taken over, be it given or
    the one of PyMC's `with` block."""
    found = model if model is not None else current_model()
    if found is None or is_foreign(found):
        for convert in foreign:
            found = convert(found) or found
    return modelcontext(found)


def model_first(given: Any, model: Any, usual: Any) -> tuple[Any, Any]:
    """The first argument of a function and its model, where the model may be given first."""
    return (usual, given) if model is None and hasattr(given, "free_RVs") else (given, model)


def _names() -> list[str]:
    """The names of the current model as its block writes them."""
    model = current_model()
    return [] if model is None else [model.name_of(name) for name in model.root.named_vars]


other_names.append(_names)
