"""Families made of other draws: mixtures, truncation, censoring.

Among the inputs of such a draw are draws that stand for their laws: nothing asks for their values, and one may serve in
several places without making these dependent. Their parameters are ordinary inputs, which substitution reaches.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from ppl.distributions.declaration.distribution import Distribution
from ppl.distributions.declaration.inner import unsized
from ppl.distributions.draws.draw import RandomVariable, batch_shape, draw_dtype
from ppl.graph import Node
from ppl.tensor.tensor import Tensor, TensorType


class Modifier(Distribution, abstract=True):
    """A family some of whose parameters are draws that stand for their laws."""

    law_at = 0  # the first of these among the parameters
    called: ClassVar[tuple[str, ...]] = ()  # the parameters, where none are declared

    @classmethod
    def _named(cls, parameters: Any, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: parameters[(cls.called or tuple(cls.params)).index(name)] for name in names}

    @classmethod
    def batch_drop(cls, parameters: tuple[Node, ...], position: int) -> int:
        """How many of the last axes of a parameter are not of independent draws."""
        parameter = parameters[position]
        return parameter.event_ndim if isinstance(parameter, RandomVariable) else 0

    @classmethod
    def event_axes(cls, parameters: Any) -> list[int]:
        return [cls.batch_drop(parameters, i) for i in range(len(parameters))]

    @classmethod
    def without_sizes(cls, parameters: tuple[Node, ...]) -> tuple[Node, ...]:
        """The parameters, the laws among them with no more independent draws than theirs ask for."""
        first, last = cls.law_at, None if cls.laws is None else cls.law_at + cls.laws
        laws = [unsized(law) for law in parameters[first:last]]  # type: ignore[arg-type]
        return (*parameters[:first], *laws, *(() if last is None else parameters[last:]))

    @classmethod
    def draw_type(cls, parameters: tuple[Node, ...], size: Any) -> TensorType:
        if size is not None:  # in place of sizes of the laws' own, as in PyMC
            parameters = cls.without_sizes(parameters)
        domain = cls.support_for(parameters)
        drops = cls.event_axes(parameters)
        labels = [functools.partial(cls._label, i, p) for i, p in enumerate(parameters)]
        batch = batch_shape(cls.__name__, parameters, drops, labels, size)
        law = parameters[cls.law_at].type.shape
        event = law[len(law) - domain.ndim :]
        return TensorType(draw_dtype(domain.discrete), batch + event)

    @classmethod
    def _label(cls, place: int, parameter: Node) -> str:
        """How an error calls a parameter: by its place in the declaration, or as the law that it stands for."""
        if isinstance(parameter, RandomVariable):
            return f"the law {parameter.family.__name__}"
        return getattr(parameter, "name", None) or f"parameter {place}"


def sample_law(key: Any, law: RandomVariable, batch: tuple[Any, ...]) -> Tensor:
    """Fresh draws from a law, independent of any other use of it; `batch` is the shape of independent draws."""
    event = tuple(law.shape[law.ndim - law.event_ndim :])
    return law.family.sample(key, (*batch, *event), *law.parameters)
