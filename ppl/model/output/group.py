"""A group of a result before anybody has looked at it: arrays with names, dimensions and labels, without xarray.

xarray, with pandas, takes longer to import than a small model to sample. So a result holds its groups as they were
made, and a group becomes an xarray Dataset, for good, when it is looked at (`inference_data.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Labeled(NamedTuple):
    """An array and the names of its axes."""

    dims: Sequence[str]
    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self.values.shape


class Group(NamedTuple):
    """Arrays by name, the labels along their dimensions, and attributes."""

    arrays: Mapping[str, Labeled]
    coords: Mapping[str, Any]
    attrs: Mapping[str, Any]

    @property
    def data_vars(self) -> Mapping[str, Labeled]:
        """The arrays, under the name that a Dataset has for them."""
        return self.arrays

    def dataset(self) -> Any:
        """The group as an xarray Dataset."""
        return _xarray().Dataset(dict(self.arrays), dict(self.coords), dict(self.attrs))


def dataset_of(group: Any) -> Any:
    """A Dataset, of a group that may be one already."""
    return group.dataset() if isinstance(group, Group) else group


def _xarray() -> Any:
    """xarray, or an error that says why it cannot be imported."""
    try:
        import xarray
    except Exception as error:
        raise ImportError(
            f"Groups of a result need xarray, and importing it failed: {type(error).__name__}: {error}. Mend that (does"
            " `import xarray` work?) and look again: the draws are there."
        ) from error
    return xarray
