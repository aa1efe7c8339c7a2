"""PyMC's helpers of shapes and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.distributions.draws.operation import NO_SIZE
from ppl.model.context import modelcontext
from ppl.tensor import Assert, equal, stack
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

Dims = str | Sequence[str | None]
Shape = int | Sequence[int | Tensor] | Tensor
Size = int | Sequence[int] | Tensor | None
StrongDims = Sequence[str]


def rv_size_is_none(size: Any) -> bool:
    """Whether no size was asked for."""
    return size is None or size is NO_SIZE


def to_tuple(shape: Any) -> tuple[Any, ...]:
    """A shape as a tuple."""
    return () if shape is None else tuple(shape) if np.iterable(shape) else (shape,)


def convert_dims(dims: Any) -> tuple[Any, ...] | None:
    """Names of dimensions as a tuple."""
    if dims is not None and not isinstance(dims, str | list | tuple):
        raise ValueError(f"dims must be a tuple, str or list, got {dims!r}")
    return None if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)


def get_support_shape(
    support_shape: Any,
    *,
    shape: Any = None,
    dims: Any = None,
    observed: Any = None,
    support_shape_offset: Any = None,
    ndim_supp: int = 1,
) -> Tensor | None:
    """The lengths of the axes that belong together, from the first of `shape`, `dims` and `observed` that is given,
    less an offset; lengths that are given as well have to agree.

    >>> get_support_shape(None, shape=(3, 10, 5), support_shape_offset=(1, 0), ndim_supp=2).eval().tolist()
    [9, 5]
    """
    known: Any = None
    if shape is not None:
        known = tuple(shape)
    elif dims is not None:
        lengths = modelcontext(None)._dim_lengths
        known = tuple(lengths[dim] for dim in convert_dims(dims) or ())
    elif observed is not None:
        known = np.shape(observed) if not isinstance(observed, Tensor) else observed.type.shape
    if known is None:
        return None if support_shape is None else _vector(to_tuple(support_shape))
    offset = np.broadcast_to(0 if support_shape_offset is None else support_shape_offset, ndim_supp)
    found = [n - int(less) for n, less in zip(known[len(known) - ndim_supp :], offset, strict=True)]
    if support_shape is not None:
        asked = to_tuple(support_shape)
        found = [_agreed(n, m) for n, m in zip(found, asked[len(asked) - ndim_supp :], strict=True)]
    return _vector(found)


def _agreed(length: Any, asked: Any) -> Any:
    told = "support_shape does not match the lengths that shape, dims or observed have"
    if isinstance(length, Tensor) or isinstance(asked, Tensor):
        return Assert(told)(as_tensor(length), equal(length, asked))
    if length != asked:
        raise AssertionError(f"{told}: {asked} and {length}")
    return length


def _vector(lengths: Sequence[Any]) -> Tensor:
    """Lengths as one vector, a constant where they are numbers."""
    numbers = [int(value_of(n)) if isinstance(n, Tensor) and is_constant(n) else n for n in lengths]
    if not any(isinstance(n, Tensor) for n in numbers):
        return as_tensor(np.array(numbers, np.int64))
    return stack([as_tensor(n) for n in numbers])


def get_support_shape_1d(
    support_shape: Any,
    *,
    shape: Any = None,
    dims: Any = None,
    observed: Any = None,
    support_shape_offset: int = 0,
) -> Any:
    """The length of the last axis, as `get_support_shape` finds it; None where nothing says what it is.

    >>> get_support_shape_1d(None, shape=(3, 10), support_shape_offset=1)
    9
    """
    asked = None if support_shape is None else (support_shape,)
    found = get_support_shape(
        asked, shape=shape, dims=dims, observed=observed, support_shape_offset=(support_shape_offset,)
    )
    if found is None:
        return None
    return int(found.eval()[0]) if is_constant(found) else found[0]


def implicit_size_from_params(*params: Any, ndims_params: Sequence[int]) -> Tensor:
    """The lengths of the axes that parameters have beside those that belong together.

    >>> implicit_size_from_params(np.zeros((5, 1)), np.zeros((3, 3)), ndims_params=[1, 2]).eval().tolist()
    [5]
    """
    shapes = [as_tensor(p).type.shape for p in params]
    if any(n is None for shape in shapes for n in shape):
        raise ValueError("implicit_size_from_params: the shapes of the parameters must be known")
    batches = [shape[: len(shape) - n] for shape, n in zip(shapes, ndims_params, strict=True)]
    return as_tensor(np.array(np.broadcast_shapes(*batches), np.int64))  # type: ignore[arg-type]
