"""Results as groups of Zarr, beside the draws of a run that is saved so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ppl.model.output.results import group_names, group_of
from ppl.samplers.runs.places import place_of

RESULT = "result.zarr"


def keep_result(place: Any, result: Any) -> None:
    """Write each group of a result; those of an earlier one are replaced."""
    store = place_of(place).store()
    with warnings.catch_warnings():  # of strings, which version 3 of the format has not settled
        warnings.simplefilter("ignore")
        for name in group_names(result):
            group = group_of(result, name)
            group = group.assign_attrs({key: _plain(value) for key, value in group.attrs.items()})
            group.to_zarr(store, group=f"{RESULT}/{name}", mode="w", zarr_format=3, consolidated=False)


def _plain(value: Any) -> Any:
    """An attribute as JSON has it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
