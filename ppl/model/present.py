"""A model at the sizes that its data have now: what a log-density is compiled for, and what the planner works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ppl.distributions.transforms import Transform
from ppl.graph import Node
from ppl.model.errors import ShapeError
from ppl.rewrites.present import at_present_sizes
from ppl.tensor.shaping import specify_shape
from ppl.tensor.tensor import Tensor

if TYPE_CHECKING:
    from ppl.model.model import Model


@dataclass(frozen=True)
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
    def basic_RVs(self) -> list[Tensor]:
        """All random variables."""
        return [*self.free_RVs, *self.observed_RVs]


def at_present(model: Model) -> Present:
    """The model as it is now; inputs of its density stay what they are."""
    done: dict[Node, Node] = {}

    def now(variables: Any) -> list[Any]:
        return at_present_sizes(variables, done)

    free, observed = now(model.free_RVs), now(model.observed_RVs)
    transforms = {done[rv]: transform for rv, transform in model.rvs_to_transforms.items()}
    inputs = {done[rv]: model.rvs_to_values[rv] for rv in model.free_RVs}
    values = {rv: _sized(value, rv, transforms.get(rv)) for rv, value in inputs.items()}
    done.update((inputs[rv], values[rv]) for rv in free)
    data = dict(zip(observed, now(model.rvs_to_values[rv] for rv in model.observed_RVs), strict=True))
    for rv, value in data.items():
        _check_fit(rv, value)
    return Present(
        free_RVs=free,
        observed_RVs=observed,
        unobserved_RVs=now(model.unobserved_RVs),
        potentials=now(model.potentials),
        rvs_to_values=values | data,
        rvs_to_transforms=transforms,  # type: ignore[arg-type]
        rvs_to_total_sizes={done[rv]: total for rv, total in model.rvs_to_total_sizes.items()},  # type: ignore[misc]
        inputs=inputs,  # type: ignore[arg-type]
    )


def _check_fit(rv: Any, value: Tensor) -> None:
    """Refuse observed values whose shape is not that of their variable any more."""
    pairs = zip(rv.type.shape, value.type.shape, strict=True)
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise ShapeError(
            f'"{rv.name}" has shape {rv.type.shape} now, but its observed values have shape {value.type.shape}. Data '
            "that share a dimension are changed together, in one set_data call; observed values may be Data too."
        )


def _sized(value: Tensor, rv: Any, transform: Transform | None) -> Tensor:
    """A value with the shape that its variable gives it."""
    if None not in value.type.shape:
        return value
    shape = (rv if transform is None else transform.forward(rv, *rv.parameters)).type.shape
    return value if None in shape else specify_shape(value, shape)
