"""PyMC's helpers of shapes and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl.distributions.draws.operation import NO_SIZE
from ppl.tensor.tensor import Tensor

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
    return None if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)
