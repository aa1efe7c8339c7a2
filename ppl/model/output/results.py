"""Results as ArviZ wants them: InferenceData with arviz 0.x, a DataTree with arviz 1.x."""

from __future__ import annotations

import contextlib
import datetime
import functools
import gc
import os
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.model.errors import SamplingError
from ppl.model.inputs.data_values import constant_data, observed_data
from ppl.model.output.group import Group, Labeled, dataset_of
from ppl.model.output.inference_data import InferenceData
from ppl.model.version import __version__

if TYPE_CHECKING:
    from ppl.model.model import Model

CHAINS = ("chain", "draw")
PATIENCE = 4.0  # seconds of a run after which what results need is imported beside it
NEVER = 1_000_000  # new objects after which Python's collector looks at them: more than an import makes


@functools.cache
def arviz_version() -> str:
    """The version of the installed ArviZ, without importing it, nor what reads metadata where a name tells it."""
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.startswith("arviz-") and name.endswith(".dist-info"):
                    return name.removeprefix("arviz-").removesuffix(".dist-info")
    import importlib.metadata

    return importlib.metadata.version("arviz")


def has_inference_data() -> bool:
    """Whether results are InferenceData (arviz 0.x) or data trees."""
    return arviz_version().startswith("0.")


def prepare() -> None:
    """Have a run that lasts import what results need meanwhile. One that is soon done leaves it to whoever looks at its
    result, if that is InferenceData."""
    global _importing
    if not _loaded():
        _importing = _Import(PATIENCE if has_inference_data() else 0.0)
        _importing.start()
    elif _importing is not None and _importing.error is not None:
        _importing = None  # the user has imported it since


def prepared() -> None:
    """What results need is there, or is imported when they are looked at; raise where it is known that it cannot be."""
    if _importing is not None:
        _importing.forgo()
        if not has_inference_data():
            _importing.join()
    refuse_failed()


def refuse_failed() -> None:
    """Raise where what results need is known not to be importable."""
    if _importing is not None and _importing.error is not None:
        error = _importing.error
        raise SamplingError(
            f"Results need xarray, and importing it failed: {type(error).__name__}: {error}. Mend that (does `import"
            " xarray` work?), or pass return_inferencedata=False."
        ) from error


def _loaded() -> bool:
    return "xarray" in sys.modules


class _Import(threading.Thread):
    """Imports what results need, after some seconds; `error` is what went wrong."""

    def __init__(self, patience: float) -> None:
        super().__init__(name="import-xarray", daemon=True)
        self.error: Exception | None = None
        self._patience, self._forgone = patience, threading.Event()

    def forgo(self) -> None:
        """Import nothing that is not begun, unless it is to be had at once."""
        if self._patience:
            self._forgone.set()

    def run(self) -> None:
        """Import, and keep the error for whoever waits."""
        if self._patience and self._forgone.wait(self._patience):
            return
        try:
            _import_all()
        except Exception as error:
            self.error = error


_importing: _Import | None = None


def _import_all() -> None:
    """What an import makes is there to stay: that Python's collector goes through all of it time and again is a fifth
    of the time. So it rests meanwhile, and all that is there then joins the oldest objects unseen: to be looked through
    twice before that takes as long as to sample a small model."""
    thresholds = gc.get_threshold()
    gc.set_threshold(NEVER, *thresholds[1:])
    try:
        import xarray  # noqa: F401
    finally:
        if not gc.get_freeze_count():  # the user has frozen nothing that must stay so
            gc.freeze()
            gc.unfreeze()
        gc.set_threshold(*thresholds)


def group(
    model: Model,
    values: Mapping[str, np.ndarray],
    sample_dims: Sequence[str] = CHAINS,
    attrs: Mapping[str, Any] | None = None,
    *,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    sample_coords: Mapping[str, Any] | None = None,
) -> Group:
    """Arrays by name, with the model's dims and coords, for a result; `coords` and `dims` add to those."""
    known = {**{k: v for k, v in model.coords.items() if v is not None}, **(coords or {})}
    lead = len(sample_dims)
    found: dict[str, Any] = {}
    arrays: dict[str, Labeled] = {}
    axes = {
        name: _axes(name, value.shape[lead:], (dims or {}).get(name, model.named_vars_to_dims.get(name, ())))
        for name, value in values.items()
    }
    several = _of_several_lengths(axes, known)
    for name, value in values.items():
        names = [*sample_dims]
        for axis, (dim, length) in enumerate(axes[name]):
            own = f"{name}_dim_{axis}"
            dim = own if several.get(dim, length) != length else f"{dim}_dim" if dim in values and dim != own else dim
            names.append(dim)
            found[dim] = _labels(dim, known.get(dim.removesuffix("_dim"), known.get(dim)), length)
        arrays[name] = Labeled(names, value)
    for axis, dim in enumerate(sample_dims):
        first = next(iter(values.values()), None)
        if first is not None:
            found[dim] = (sample_coords or {}).get(dim, np.arange(first.shape[axis]))
    used = {dim for array in arrays.values() for dim in array.dims}
    about = {**creation(sample_dims), **(attrs or {})}
    order = {**dict.fromkeys(sample_dims), **found}  # chain and draw first, as in PyMC
    return Group(arrays, {k: found[k] for k in order if k in used and k in found}, about)


def _axes(name: str, shape: Sequence[int], given: Sequence[Any]) -> list[tuple[str, int]]:
    """The dimension of each axis of an array, with its length."""
    names = [*given, *[None] * len(shape)]
    return [(f"{name}_dim_{i}" if names[i] is None else str(names[i]), n) for i, n in enumerate(shape)]


def _of_several_lengths(axes: Mapping[str, list[tuple[str, int]]], labels: Mapping[str, Any]) -> dict[str, int]:
    """The length that counts of each dimension along which arrays differ: that of its labels, else the first one."""
    lengths: dict[str, list[int]] = {}
    for dim, length in (pair for pairs in axes.values() for pair in pairs):
        lengths.setdefault(dim, []).append(length)
    counts = {dim: len(labels[dim]) if dim in labels else found[0] for dim, found in lengths.items()}
    return {dim: counts[dim] for dim, found in lengths.items() if len(set(found)) > 1}


def _labels(dim: str, labels: Any, length: int) -> Any:
    """The labels along a dimension; numbers where there are none, or not as many."""
    if labels is None:
        return np.arange(length)
    if len(labels) != length:
        warnings.warn(
            f"dimension {dim!r} has {len(labels)} labels and length {length}: its labels are left out of the result",
            UserWarning,
            stacklevel=4,
        )
        return np.arange(length)
    if isinstance(labels, tuple) and labels and isinstance(labels[0], tuple):
        array = np.empty(length, object)
        array[:] = labels
        return array
    return np.asarray(labels)


def creation(sample_dims: Sequence[str] = CHAINS) -> dict[str, Any]:
    """Attributes that say what made a group."""
    about: dict[str, Any] = {"created_at": datetime.datetime.now(datetime.UTC).isoformat()}
    if has_inference_data():
        about["arviz_version"] = arviz_version()
    else:
        about |= {
            "creation_library": "ArviZ",
            "creation_library_version": arviz_version(),
            "creation_library_language": "Python",
            "sample_dims": list(sample_dims),
        }
    return {**about, "inference_library": "ppl", "inference_library_version": __version__}


def collect(groups: Mapping[str, Any]) -> Any:
    """Groups as one result."""
    if has_inference_data():
        return InferenceData(groups if not _loaded() else {name: dataset_of(group) for name, group in groups.items()})
    import xarray as xr

    return xr.DataTree.from_dict({f"/{name}": dataset_of(group) for name, group in groups.items()})


def extend(result: Any, groups: Mapping[str, Any]) -> Any:
    """More groups for a result, in place; groups of the same names are replaced."""
    if type(result) is InferenceData:
        result.add(groups)
        return result
    groups = {name: dataset_of(group) for name, group in groups.items()}
    for name in groups:
        if name in group_names(result):
            del result[name]
    if hasattr(result, "add_groups"):
        result.add_groups(dict(groups))
    else:
        import xarray as xr

        for name, group in groups.items():
            result[name] = xr.DataTree(group)
    return result


def has_groups(result: Any) -> bool:
    """Whether an object is a result: InferenceData or a data tree."""
    return callable(getattr(result, "groups", None)) or (hasattr(result, "groups") and hasattr(result, "children"))


def group_names(result: Any) -> list[str]:
    """The names of the groups of a result; a tree that is itself one of the groups has none."""
    return list(result.groups()) if callable(result.groups) else list(result.children)


def group_of(result: Any, name: str) -> Any:
    """One group as a Dataset; None where there is none."""
    return dataset_of(arrays_of(result, name))


def arrays_of(result: Any, name: str) -> Any:
    """One group as it is held, with arrays by name in `data_vars`; None where there is none."""
    if name not in group_names(result):
        return None
    if type(result) is InferenceData:
        return result.held(name)
    group = result[name]
    return group.to_dataset() if hasattr(group, "to_dataset") else group


def given_groups(
    model: Model, constant: str = "constant_data", observed: str | None = "observed_data", **more: Any
) -> dict[str, Any]:
    """The groups of observed and constant data; `more` has the `coords` and `dims` of the result they belong to."""
    groups = {}
    seen, fixed = observed_data(model) if observed else {}, constant_data(model)
    if observed and seen:
        if has_inference_data():  # arviz 0.x has no observation without an axis
            seen = {name: np.atleast_1d(value) for name, value in seen.items()}
        groups[observed] = group(model, seen, (), **more)
    if fixed:
        groups[constant] = group(model, fixed, (), **more)
    return groups
