"""Parameters that are sizes: they must be known when the model is built."""

from __future__ import annotations

from typing import Any

from ppl.tensor.tensor import as_tensor, is_constant, value_of


def known_size(n: Any, what: str) -> int:
    """The number that a parameter holds; an error where it is only computed when the program runs."""
    node = as_tensor(n)
    if not is_constant(node) or node.ndim or node.dtype[0] not in "ui":
        raise ValueError(f"{what} must be an integer that is known when the model is built, got {n!r}")
    return int(value_of(node))


def length(n: Any) -> Any:
    """A size as a plain number where it is known, else as the symbol it is."""
    node = as_tensor(n)
    return int(value_of(node)) if is_constant(node) else node


def steps_from(who: str, steps: Any, shape: Any, offset: int, axis: int = -1) -> Any:
    """The number of steps of a process with `offset` first values, from itself or from the shape of the whole."""
    if shape is None:
        if steps is None:
            raise ValueError(f"{who} needs steps, or a shape, dims or observed values to take it from")
        return steps
    if len(shape) < -axis:
        raise ValueError(f"{who}: one value has {-axis} axes, but the shape {shape} has {len(shape)}")
    found = shape[axis] - offset
    if isinstance(found, int) and found < 1:
        raise ValueError(f"{who}: a path of {shape[axis]} values has no step after the first {offset}")
    if steps is not None and isinstance(found, int) and isinstance(length(steps), int) and length(steps) != found:
        raise ValueError(
            f"{who}: {length(steps)} steps make {length(steps) + offset} values, the shape has {shape[axis]}"
        )
    return found
