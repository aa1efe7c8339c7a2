"""Indexing and indexed updates: PyTensor's Subtensor ops as ppl's brackets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.bridge.reading import Application, History, Sizes, Value, as_tensor, converts, sizes_or_array
from ppl.tensor.tensor import Tensor


@converts("MakeSlice")
def make_slice(at: Application) -> slice:
    """A slice whose ends are computed."""
    return slice(*at.values)


@converts("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1")
def subtensor(at: Application) -> Value:
    """Some entries of an array, of a vector of sizes, or of the rows of a loop."""
    index = index_of(at, 1)
    source = at.values[0]
    if isinstance(source, Sizes):
        return of_sizes(source, index)
    if isinstance(source, History) and (rows := source.after(index)) is not None:
        return rows
    return as_tensor(source)[index]


@converts("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def with_entries(at: Application) -> Value:
    """An array with some entries set or increased."""
    index = index_of(at, 2)
    x, y = at.tensor(0), at.tensor(1)
    if at.op.set_instead_of_inc and (packed := packed_triangle(at.values[0], y, index)) is not None:
        return packed
    if y.dtype != x.dtype:
        y = tt.cast(y, x.dtype)
    if at.op.set_instead_of_inc:
        return tt.index_update(x, y, index)
    if getattr(at.op, "ignore_duplicates", False):
        return tt.index_update(x, x[index] + y, index)
    return tt.index_add(x, y, index)


def packed_triangle(x: Value, y: Tensor, index: tuple[Any, ...]) -> Tensor | None:
    """The lower triangular matrix whose entries are given row by row, where that is what is set."""
    if not (isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[0] == x.shape[1] and not x.any() and y.ndim == 1):
        return None
    if len(index) != 2 or not all(isinstance(i, np.ndarray) for i in index):
        return None
    n = x.shape[0]
    lower = np.tril_indices(n)
    if not all(np.array_equal(i, j) for i, j in zip(index, lower, strict=True)):
        return None
    return tt.expand_packed_triangular(n, y)


def index_of(at: Application, first: int) -> tuple[Any, ...]:
    """What stands in the brackets. PyTensor 2 keeps types where an input comes in, PyTensor 3 positions of inputs."""
    given = at.values[first:]
    plan = getattr(at.op, "idx_list", None)
    if plan is None:
        return tuple(map(entry, given))
    rest = iter(given)
    return tuple(entry(_filled(part, given, rest)) for part in plan)


def _filled(part: Any, given: list[Value], rest: Iterator[Value]) -> Any:
    if part is None:
        return None
    if isinstance(part, slice):
        return slice(*(_filled(end, given, rest) for end in (part.start, part.stop, part.step)))
    return given[part] if isinstance(part, int) else next(rest)


def entry(part: Any) -> Any:
    """One part of an index, single numbers as numbers of Python."""
    if isinstance(part, slice):
        return slice(entry(part.start), entry(part.stop), entry(part.step))
    if isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype.kind in "iu":
        return int(part)
    return as_tensor(part) if isinstance(part, Sizes) else part


def of_sizes(source: Sizes, index: tuple[Any, ...]) -> Value:
    """Some of the sizes of a shape."""
    (part,) = index
    if isinstance(part, int):
        return _one(source[part])
    numbers = (part.start, part.stop, part.step) if isinstance(part, slice) else ()
    if isinstance(part, slice) and not any(isinstance(n, Tensor) for n in numbers):
        return sizes_or_array(source[part])
    if isinstance(part, np.ndarray):
        return sizes_or_array(source[i] for i in np.arange(len(source))[part])
    return as_tensor(source)[part]


def _one(size: Any) -> Value:
    return size if isinstance(size, Tensor) else np.asarray(size, dtype=np.int64)
