"""Draws in whatever form users have them: results of ArviZ, data sets, our MultiTrace, lists of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.graph.records import record
from ppl.model.output import results
from ppl.model.output.group import Group
from ppl.model.output.multitrace import MultiTrace
from ppl.tensor.core.names import plain
from ppl.tensor.core.ops import CAST

if TYPE_CHECKING:
    from ppl.model.model import Model


@record
class Draws:
    """Values by name, each (chains, draws, ...), and how the samples were laid out before."""

    values: dict[str, np.ndarray]
    sample_dims: tuple[str, ...]
    sample_coords: dict[str, Any]
    shape: tuple[int, ...]  # of the sample dimensions

    def laid_out(self, value: np.ndarray) -> np.ndarray:
        """An array of (chains, draws, ...) with the sample dimensions as they came."""
        return value.reshape(self.shape + value.shape[2:])

    def as_group(self, model: Model, values: Mapping[str, np.ndarray], **more: Any) -> Group:
        """Values for these draws as a group of a result with the same sample dimensions."""
        arrays = {name: self.laid_out(value) for name, value in values.items()}
        return results.group(model, arrays, self.sample_dims, sample_coords=self.sample_coords, **more)


def from_trace(trace: Any, sample_dims: Sequence[str] | None = None, group: str = "posterior") -> Draws:
    """The draws of a result, a Dataset, a MultiTrace, a mapping of arrays, or a list of points."""
    if isinstance(trace, MultiTrace):
        return _plain(trace.as_arrays(), trace.chains)
    is_result = results.has_groups(trace)
    if isinstance(trace, Mapping) and not is_result and not hasattr(trace, "data_vars"):
        trace = [trace]
    if isinstance(trace, list | tuple):
        if not trace or not all(isinstance(point, Mapping) for point in trace):
            raise TypeError("a trace that is a list holds points: dictionaries from names to values")
        names = list(trace[0])
        return _plain({n: np.stack([np.asarray(point[n]) for point in trace])[None] for n in names}, [0])
    if is_result:
        found = results.arrays_of(trace, group)
        if found is None:
            has_data = hasattr(trace, "data_vars") and len(trace.data_vars)
            if not has_data:
                raise ValueError(f"the trace has no group {group!r}; it has {', '.join(results.group_names(trace))}")
            found = trace.to_dataset()
        trace = found
    if not hasattr(trace, "data_vars"):
        raise TypeError(
            "a trace is an InferenceData, a DataTree, a Dataset, a MultiTrace, or a list of points, "
            f"got {type(trace).__name__}"
        )
    return _from_arrays(trace, tuple(sample_dims or results.CHAINS))


def data_then(trace: Any, model: Model) -> dict[str, np.ndarray]:
    """The values that the data of a model had when draws were made, as far as the trace tells."""
    if isinstance(trace, MultiTrace):
        return trace.data_then()
    if not hasattr(trace, "groups"):
        return {}
    kept, seen = (results.arrays_of(trace, group) for group in ("constant_data", "observed_data"))
    sources = {rv.name: plain(model.rvs_to_values[rv]) for rv in model.observed_RVs}
    observed = {
        source.inputs[0] if source.op is CAST else source: seen.data_vars[name]
        for name, source in sources.items()
        if seen is not None and name in seen.data_vars
    }
    found = {v: observed[v] for v in model.data_vars if v in observed}
    found |= {v: kept.data_vars[v.name] for v in model.data_vars if kept is not None and v.name in kept.data_vars}
    return {v.name or "": np.asarray(then.values) for v, then in found.items()}


def _plain(values: dict[str, np.ndarray], chains: Sequence[int]) -> Draws:
    shape = next(iter(values.values())).shape[:2] if values else (0, 0)
    coords = {"chain": np.asarray(chains), "draw": np.arange(shape[1])}
    return Draws(values, results.CHAINS, coords, shape)


def _from_arrays(found: Any, sample_dims: tuple[str, ...]) -> Draws:
    """The draws among the arrays of a Dataset, or of a group that is not one yet."""
    sizes = {dim: n for array in found.data_vars.values() for dim, n in zip(array.dims, array.shape, strict=True)}
    missing = [dim for dim in sample_dims if dim not in sizes]
    if missing:
        raise ValueError(f"the draws have no dimension {missing[0]!r}; they have {', '.join(map(str, sizes))}")
    shape = tuple(sizes[dim] for dim in sample_dims)
    lead = shape if len(shape) == 2 else (1, int(np.prod(shape)))
    values = {}
    for name, array in found.data_vars.items():
        dims = list(array.dims)
        if all(dim in dims for dim in sample_dims):
            ordered = np.moveaxis(np.asarray(array.values), [dims.index(dim) for dim in sample_dims], range(len(shape)))
            values[str(name)] = ordered.reshape(lead + ordered.shape[len(shape) :])
    coords = {dim: np.asarray(found.coords[dim]) for dim in sample_dims if dim in found.coords}
    return Draws(values, sample_dims, coords, shape)
