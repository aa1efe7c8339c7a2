"""PyTensor's classes of graphs, as classes for `isinstance` and for annotations such as `Variable | float`.

A variable of PyTensor is a node of ppl (`ppl.tensor.Tensor`). The other classes have no counterpart of their own: they
are told by what a node is.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ppl.distributions.draws.operation import Beside
from ppl.tensor.core.labelled import Labelled
from ppl.tensor.tensor import Tensor, constant, is_constant


class Kind(type):
    """A class whose instances are the objects that fulfil its `holds`."""

    holds: Callable[[Any], bool]

    def __instancecheck__(cls, x: object) -> bool:
        return type.__instancecheck__(cls, x) or cls.holds(x)


class Constant(metaclass=Kind):
    """A tensor whose value is known. `Constant(type, value)` makes one."""

    holds: ClassVar[Callable[[Any], bool]] = staticmethod(lambda x: isinstance(x, Tensor) and is_constant(x))

    def __new__(cls, type: Any, data: Any, name: str | None = None) -> Any:
        return constant(np.asarray(data, dtype=type.dtype), name)


class Variable(ABC):  # noqa: B024  (a class to ask by, with no methods of its own)
    """Tensors, plain and labelled, and what stands beside them among the inputs of draws."""


Variable.register(Tensor)
Variable.register(Labelled)
Variable.register(Beside)

TensorLike = Tensor | np.ndarray | np.generic | float | int | list | tuple
