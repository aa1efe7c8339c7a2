"""PyMC's helpers between models and datasets of draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def find_observations(model: Any) -> dict[str, np.ndarray]:
    """The observed values by the name of their variable."""
    return {rv.name: np.asarray(model.rvs_to_values[rv].eval()) for rv in model.observed_RVs}


def find_constants(model: Any) -> dict[str, np.ndarray]:
    """The values of Data that are not observed themselves."""
    observed = [model.rvs_to_values[rv] for rv in model.observed_RVs]
    return {v.name: np.asarray(v.get_value()) for v in model.data_vars if not any(v is each for each in observed)}


def coords_and_dims_for_inferencedata(model: Any) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Coordinates by dimension, and dimensions by variable."""
    coords = {name: np.asarray(values) for name, values in model.coords.items() if values is not None}
    return coords, {name: list(dims) for name, dims in model.named_vars_to_dims.items()}


def dataset_to_point_list(
    ds: Any, sample_dims: Sequence[str] = ("chain", "draw")
) -> tuple[list[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """A point for each draw, and the coordinates of the draws."""
    stacked, coords = _stacked(ds, sample_dims)
    count = next((len(each) for each in stacked.values()), 0)
    return [{name: np.asarray(each[i]) for name, each in stacked.items()} for i in range(count)], coords


def _stacked(ds: Any, sample_dims: Sequence[str]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The arrays with all draws along one axis, the first."""
    sample = list(sample_dims)
    arrays, lengths = {}, dict.fromkeys(sample, 0)
    for name, values in ds.items():
        if not isinstance(name, str):
            raise ValueError(f"the names of variables must be str, got {name!r}")
        ordered = values.transpose(*sample, ...)
        lengths |= dict(zip(sample, ordered.shape, strict=False))
        draws = int(np.prod(ordered.shape[: len(sample)]))
        arrays[name] = np.asarray(ordered).reshape((draws, *ordered.shape[len(sample) :]))
    coords = getattr(ds, "coords", {})
    return arrays, {dim: np.asarray(coords[dim]) if dim in coords else np.arange(lengths[dim]) for dim in sample}


def apply_function_over_dataset(
    fn: Callable[[dict[str, np.ndarray]], Sequence[Any]],
    dataset: Any,
    *,
    output_var_names: Sequence[str],
    coords: dict[str, Any],
    dims: dict[str, Any],
    sample_dims: Sequence[str] = ("chain", "draw"),
    progressbar: bool = True,
    progressbar_theme: Any = None,
) -> Any:
    """A dataset of what a function of points gives for each draw; no bar is shown."""
    import xarray

    points, of_draws = dataset_to_point_list(dataset, sample_dims)
    results = [fn(point) for point in points]
    lead = tuple(len(of_draws[dim]) for dim in sample_dims)
    arrays = {}
    for i, name in enumerate(output_var_names):
        values = np.stack([np.asarray(result[i]) for result in results])
        values = values.reshape((*lead, *values.shape[1:]))
        own = list(dims.get(name) or [f"{name}_dim_{axis}" for axis in range(values.ndim - len(lead))])
        arrays[name] = ((*sample_dims, *own), values)
    used = {dim for axes, _ in arrays.values() for dim in axes}
    known = {dim: values for dim, values in {**coords, **of_draws}.items() if dim in used}
    return xarray.Dataset(arrays, coords=known)
