"""Sizes rounded up to powers of two: one program for arrays of many lengths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import ppl.compile.padding_moves
import ppl.compile.padding_rules  # noqa: F401  (their import enters the rules)
from ppl.compile.padding import (
    AtLeast,
    Axis,
    Derived,
    Length,
    Meeting,
    Padded,
    Padding,
    Shapes,
    Size,
    array_of,
    lengths_of,
)
from ppl.graph import Node
from ppl.tensor.tensor import Tensor
from ppl.xla.stacks import Jitted


class BucketedProgram:
    """A graph compiled for padded arrays: one program for each combination of sizes rounded up to powers of two."""

    def __init__(self, inputs: Sequence[Tensor], variables: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.inputs, self.variables, self.outputs = list(inputs), list(variables), list(outputs)
        self.open_axes = [[at for at, n in enumerate(x.type.shape) if n is None] for x in inputs]
        self.compilations = 0  # combinations of rounded sizes that have been compiled
        self._needs: set[Meeting | AtLeast] = set()
        self._compiled = Jitted(self._padded_run)

    def _padded_run(self, arrays: list[Any], lengths: list[list[Any]], held: Sequence[Any]) -> Any:
        self.compilations += 1  # JAX comes here once for each combination
        padding = Padding()
        values: dict[Node, Any] = dict(zip(self.variables, held, strict=True))
        for position, (x, array, own) in enumerate(zip(self.inputs, arrays, lengths, strict=True)):
            axes = zip(self.open_axes[position], own, strict=True)
            known = {at: Length(n, frozenset([Axis(position, at)]), array.shape[at]) for at, n in axes}
            values[x] = Padded(array, known) if known else array
        results = padding.run(self.outputs, values)
        self._needs |= padding.needs
        return [(array_of(r), {at: n.value for at, n in lengths_of(r).items()}) for r in results]

    def run(self, *values: Any) -> Any:
        """The outputs without padding: all in a list, or the one there is."""
        given, held = values[: len(self.inputs)], values[len(self.inputs) :]
        arrays = [padded(np.asarray(v), axes) for v, axes in zip(given, self.open_axes, strict=True)]
        lengths = [[np.shape(v)[at] for at in axes] for v, axes in zip(given, self.open_axes, strict=True)]
        found = self._compiled(arrays, lengths, held)
        checked(self._needs, [np.shape(v) for v in given])
        results = [_real(np.asarray(array), ends) for array, ends in found]
        return results[0] if len(results) == 1 else results


def _real(array: np.ndarray, ends: Mapping[int, Any]) -> np.ndarray:
    return array[tuple(slice(int(ends[at])) if at in ends else slice(None) for at in range(array.ndim))]


def bucket(n: int) -> int:
    """The next power of two; an empty axis stays as it is, for there is nothing to repeat."""
    return 1 << (n - 1).bit_length() if n else 0


def padded(array: Any, axes: Sequence[int]) -> Any:
    """The array with its last entries repeated along some axes, up to the next power of two."""
    widths = [(0, bucket(n) - n if axis in axes else 0) for axis, n in enumerate(array.shape)]
    return np.pad(array, widths, mode="edge") if any(after for _, after in widths) else np.asarray(array)


def checked(needs: Iterable[Meeting | AtLeast], shapes: Shapes) -> None:
    """Raise where lengths are other than the graph needs them, though with padding that cannot be seen."""
    for need in needs:
        if isinstance(need, AtLeast):
            real = need.size.real(shapes)
            if real < need.count:
                where = _shown(need.size, shapes)
                raise ValueError(f"buckets=True: a length is {real}, and {need.count} or more is needed: {where}")
        else:
            found = {size.real(shapes) for size in need.sizes} - ({1} if need.stretching else set())
            if len(found) > 1:
                where = ", ".join(sorted(_shown(size, shapes) for size in need.sizes))
                raise ValueError(f"buckets=True: lengths that meet differ: {where}")


def _shown(size: Size, shapes: Shapes) -> str:
    """The length, and the inputs that it follows from."""
    sources = sorted(_axes(size))
    inputs = ", ".join(f"input {each.input} has {each.real(shapes)}" for each in sources)
    return inputs if isinstance(size, Axis) else f"{size.real(shapes)}, where {inputs}"


def _axes(size: Any) -> set[Axis]:
    if isinstance(size, Axis):
        return {size}
    return {axis for part in size.parts for axis in _axes(part)} if isinstance(size, Derived) else set()
