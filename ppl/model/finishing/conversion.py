"""Results from draws that exist already, by PyMC's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.model.context import model_to_read
from ppl.model.output import results
from ppl.model.output.hidden import shown
from ppl.model.output.multitrace import MultiTrace
from ppl.model.output.sample_stats import complete
from ppl.model.output.traces import Draws, from_trace
from ppl.model.prediction.pointwise import log_likelihood_values, log_prior_values

if TYPE_CHECKING:
    from ppl.model.model import Model


def to_inference_data(
    trace: Any = None,
    *,
    prior: Mapping[str, Any] | None = None,
    posterior_predictive: Mapping[str, Any] | None = None,
    log_likelihood: Any = False,
    log_prior: Any = False,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    sample_dims: Sequence[str] | None = None,
    model: Model | None = None,
    save_warmup: bool | None = None,
    include_transformed: bool = False,
) -> Any:
    """A result of draws: a MultiTrace or points, prior draws (draws, ...), predictive ones (chains, draws, ...).

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     trace = pm.sample(100, chains=2, random_seed=1, quiet=True, return_inferencedata=False)
    ...     result = pm.to_inference_data(trace)
    >>> result.posterior["mu"].shape
    (2, 100)
    """
    if save_warmup:
        raise ValueError("save_warmup=True: a MultiTrace has no warm-up; use sample(discard_tuned_samples=False)")
    model = model_to_read(model)
    more = {"coords": coords, "dims": dims}
    groups: dict[str, Any] = {}
    if trace is not None:
        draws = from_trace(trace, sample_dims)
        groups |= _groups_of(model, trace, draws, include_transformed, more)
        for name, wanted, compute in (
            ("log_likelihood", log_likelihood, log_likelihood_values),
            ("log_prior", log_prior, log_prior_values),
        ):
            if wanted is not False:
                terms = compute(model, draws.values, None if wanted is True else wanted)
                groups[name] = draws.as_group(model, terms, **more)
    if posterior_predictive is not None:
        groups["posterior_predictive"] = results.group(model, _by_chain(model, posterior_predictive), **more)
    if prior is not None:
        observed = {rv.name for rv in model.observed_RVs}
        values = _in_one_chain(prior)
        for name, inside in (("prior", False), ("prior_predictive", True)):
            part = {k: v for k, v in values.items() if (k in observed) is inside}
            if part:
                groups[name] = results.group(model, part, **more)
    return results.collect({**groups, **results.given_groups(model, **more)})


def _groups_of(
    model: Model, trace: Any, draws: Draws, include_transformed: bool, more: Mapping[str, Any]
) -> dict[str, Any]:
    """The posterior of a trace, and its statistics where it has some."""
    names = draws.values if include_transformed else shown(draws.values)
    groups = {"posterior": draws.as_group(model, {name: draws.values[name] for name in names}, **more)}
    if isinstance(trace, MultiTrace):
        stats = {
            name: np.stack(trace.get_sampler_stats(name, combine=False, squeeze=False)) for name in trace.stat_names
        }
        groups["sample_stats"] = draws.as_group(model, complete(stats))
    return groups


def predictions_to_inference_data(
    predictions: Mapping[str, Any],
    posterior_trace: Any = None,
    model: Model | None = None,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    sample_dims: Sequence[str] | None = None,
    idata_orig: Any = None,
    inplace: bool = False,
) -> Any:
    """A result of predictions, and of the posterior that they were made of where it is given; added to `idata_orig`, or
    to a copy of it, where there is one.

    >>> with pm.Model():
    ...     y = pm.Normal("y", 0, 1)
    ...     result = pm.predictions_to_inference_data({"y": np.zeros((1, 5))})
    >>> result.predictions["y"].shape
    (1, 5)
    """
    if inplace and idata_orig is None:
        raise ValueError("inplace=True needs idata_orig=")
    model = model_to_read(model)
    more = {"coords": coords, "dims": dims}
    groups: dict[str, Any] = {}
    if posterior_trace is not None:
        draws = from_trace(posterior_trace, sample_dims)
        values = {name: _as_drawn(name, np.asarray(value), draws.shape) for name, value in predictions.items()}
        group = results.group(model, values, draws.sample_dims, sample_coords=draws.sample_coords, **more)
        groups = _groups_of(model, posterior_trace, draws, False, {}) if idata_orig is None else groups
    else:
        group = results.group(model, _by_chain(model, predictions), **more)
    groups |= {"predictions": group, **results.given_groups(model, "predictions_constant_data", None, **more)}
    if idata_orig is None:
        return results.collect(groups)
    return results.extend(idata_orig if inplace else idata_orig.copy(), groups)


def _in_one_chain(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays (draws, ...) as one chain."""
    return {name: np.asarray(value)[None] for name, value in values.items()}


def _by_chain(model: Model, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Arrays (chains, draws, ...); those of the model's variables without an axis of chains as one chain."""
    found = {name: np.asarray(value) for name, value in values.items()}
    return {
        name: value[None] if name in model.named_vars and value.ndim == model.named_vars[name].ndim + 1 else value
        for name, value in found.items()
    }


def _as_drawn(name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array with the axes of the posterior's draws in front, which may come as one axis."""
    if value.shape[: len(shape)] == shape:
        return value
    if value.shape[:1] == (int(np.prod(shape)),):
        return value.reshape(shape + value.shape[1:])
    raise ValueError(f"predictions of {name!r} have shape {value.shape}, and the posterior has draws of shape {shape}")
