"""A model at the sizes that its data have now: what a log-density is compiled for, and what the planner works on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ppl.distributions.transforms import Transform
from ppl.graph import Node, ancestors
from ppl.graph.records import record
from ppl.model.errors import ShapeError
from ppl.model.registry.variable_registry import Books
from ppl.rewrites.values.present_sizes import at_present_sizes
from ppl.tensor.arrays.shaping import specify_shape
from ppl.tensor.core.names import plain
from ppl.tensor.tensor import Tensor


@record
class Present:
    """The random variables of a model with every length known, and what belongs to each, under the model's names."""

    free_RVs: list[Tensor]
    observed_RVs: list[Tensor]
    unobserved_RVs: list[Tensor]
    potentials: list[Tensor]
    rvs_to_values: Mapping[Tensor, Tensor]
    rvs_to_transforms: Mapping[Tensor, Transform | None]
    rvs_to_total_sizes: Mapping[Tensor, Any]
    inputs: Mapping[Tensor, Tensor]  # the inputs of the model's density that stand behind the values of `free_RVs`

    @property
    def identity(self) -> tuple[Any, ...]:
        """Two models that are alive at once have the same one if they are the same, but for what their data hold."""
        total_sizes = tuple((id(rv), id(n), repr(n)) for rv, n in self.rvs_to_total_sizes.items())
        transforms = tuple((id(rv), id(t)) for rv, t in self.rvs_to_transforms.items())
        values = tuple((id(rv), id(value)) for rv, value in self.rvs_to_values.items())
        return (total_sizes, transforms, values, *map(id, self.unobserved_RVs), *map(id, self.potentials))

    @property
    def basic_RVs(self) -> list[Tensor]:
        """All random variables."""
        return [*self.free_RVs, *self.observed_RVs]


def at_present(model: Books) -> Present:
    """The model as it is now; inputs of its density stay what they are."""
    done: dict[Node, Node] = {}

    def now(variables: Iterable[Tensor]) -> list[Any]:
        return [node for variable in variables for node in one(variable)]

    def one(variable: Tensor) -> list[Node]:
        try:
            return at_present_sizes([variable], done)
        except ValueError as error:
            raise _clash(model, variable, f'"{variable.name}": {str(error).removesuffix(".")}') from None

    variables: dict[Tensor, Tensor] = {}
    values: dict[Tensor, Tensor] = {}
    observed = model.observed_RVs_set()
    for rv in sorted(model.basic_RVs, key=lambda rv: rv.serial):
        (variables[rv],) = now([rv])
        if rv in observed:
            (value,) = now([plain(model.rvs_to_values[rv])])  # type: ignore[list-item]
            _check_fit(model, rv, variables[rv], value)
            done[rv] = value  # what depends on an observed variable depends on its value
        else:
            value = _sized(model.rvs_to_values[rv], variables[rv], model.rvs_to_transforms[rv])
        values[variables[rv]] = value
    free = [variables[rv] for rv in model.free_RVs]
    return Present(
        free_RVs=free,
        observed_RVs=[variables[rv] for rv in model.observed_RVs],
        unobserved_RVs=now(model.unobserved_RVs),
        potentials=now(model.potentials),
        rvs_to_values=values,
        rvs_to_transforms={now: model.rvs_to_transforms.get(rv) for rv, now in variables.items()},
        rvs_to_total_sizes={variables[rv]: total for rv, total in model.rvs_to_total_sizes.items()},
        inputs=dict(zip(free, [model.rvs_to_values[rv] for rv in model.free_RVs], strict=True)),
    )


def _check_fit(model: Books, rv: Tensor, now: Tensor, value: Tensor) -> None:
    """Refuse observed values whose shape is not that of their variable any more."""
    pairs = zip(now.type.shape, value.type.shape, strict=True)
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        shapes = f"has shape {now.type.shape} now, but its observed values have shape {value.type.shape}"
        raise _clash(model, rv, f'"{rv.name}" {shapes}')


def _clash(model: Books, variable: Tensor, found: str) -> ShapeError:
    """What to say of a variable that data of these lengths leave no shape."""
    behind = ancestors([variable, model.rvs_to_values.get(variable, variable)])
    data = ", ".join(f'"{v.name}" {np.shape(v.value)}' for v in model.data_vars if v in behind)
    return ShapeError(
        f"{found}. It uses the data {data or 'none'}. Data that share a dimension are changed together, in one "
        "set_data call; observed values may be Data too."
    )


@contextmanager
def naming_data(model: Books) -> Iterator[None]:
    """Where a program of the model fails because its data do not fit each other any more, say so by their names."""
    try:
        yield
    except (TypeError, ValueError):
        try:
            at_present(model)
        except ShapeError as clash:
            raise clash from None
        raise


def _sized(value: Tensor, rv: Any, transform: Transform | None) -> Tensor:
    """A value with the shape that its variable gives it."""
    if None not in value.type.shape:
        return value
    shape = (rv if transform is None else transform.forward(rv, *rv.parameters)).type.shape
    return value if None in shape else specify_shape(value, shape)
