"""PyMC's functions that make starting points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ppl.model.posterior.point import initial_point
from ppl.tensor.tensor import as_tensor


def make_initial_point_fn(
    *,
    model: Any,
    overrides: Any = None,
    jitter_rvs: Any = None,
    default_strategy: str = "support_point",
    return_transformed: bool = True,
) -> Callable[[Any], dict[str, np.ndarray]]:
    """A function of a seed that gives a starting point: of the values that samplers move, or of the variables."""
    if jitter_rvs:
        raise NotImplementedError("make_initial_point_fn: jitter_rvs is not there yet; pm.sample(init=) adds jitter")
    if default_strategy != "support_point":
        raise NotImplementedError(f"make_initial_point_fn: the strategy is 'support_point', got {default_strategy!r}")

    def start(seed: Any = None) -> dict[str, np.ndarray]:
        point = initial_point(model, overrides, 0 if seed is None else seed)
        return point if return_transformed else untransformed(model, point)

    return start


def untransformed(model: Any, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of the variables at a point of what samplers move."""
    found = {}
    for rv in model.free_RVs:
        value, transform = model.rvs_to_values[rv], model.rvs_to_transforms[rv]
        number = point[value.name]
        found[rv.name] = number if transform is None else transform.backward(as_tensor(number), *rv.parameters).eval()
    return found
