"""Data, deterministics and potentials with named dims: PyMC's `pymc.dims.model`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppl.model.context import modelcontext
from ppl.model.inputs.data import Data as PlainData
from ppl.model.registry.named import Deterministic as PlainDeterministic
from ppl.model.registry.named import Potential as PlainPotential
from ppl.model.registry.variable_registry import Books
from ppl.tensor.core.labelled import LabelledDims
from ppl.xtensor.type import XTensorSharedVariable, XTensorVariable, as_xtensor, dims_of, is_labelled_array


def Data(name: str, value: Any, dims: Any = None, model: Books | None = None, **options: Any) -> XTensorSharedVariable:
    """A labelled array of a model that `set_data` can replace.

    Parameters
    ----------
    name : str
        The name in the model and in `constant_data` of results.
    value : array, frame, DataArray or number
        The values. A DataArray has dims already, and labels for dimensions that the model does not know.
    dims : str or sequence of str, optional
        Names of the axes; needed unless the value is a single number or has names.
    model : Model, optional
        The model; by default that of the `with` block.
    **options
        Those of `pm.Data`.

    Returns
    -------
    XTensorSharedVariable

    Examples
    --------
    >>> with pm.Model(coords={"city": ["Bern", "Graz"]}) as model:
    ...     x = ppl.dims.Data("x", [1.0, 2.0], dims="city")
    >>> x.dims
    ('city',)
    """
    model = modelcontext(model)
    if is_labelled_array(value):
        names = dims_of(value.dims) if dims is None else dims_of(dims)
        labels = {d: value.coords[d].values for d in names if d in value.coords and d not in model.coords}
        options = {"coords": labels, **options}
        value = value.transpose(*names).values
    else:
        names = () if dims is None else dims_of(dims)
    try:
        node = PlainData(name, value, dims=LabelledDims(names), model=model, **options)
    except ValueError as error:
        if dims is not None or names:
            raise
        raise ValueError(f'Data "{name}" needs dims, a name for each axis: {error}') from None
    return XTensorSharedVariable(node, names)


def Deterministic(name: str, value: Any, dims: Any = None, model: Books | None = None) -> XTensorVariable:
    """A named value that follows from others; results hold it. `dims` puts its axes in an order, or names them where
    the value is no labelled tensor.

    >>> with pm.Model(coords={"city": ["Bern", "Graz"]}) as model:
    ...     effect = ppl.dims.Normal("effect", 0, 1, dims="city")
    ...     centered = ppl.dims.Deterministic("centered", effect - effect.mean("city"))
    >>> centered.dims
    ('city',)
    """
    return _named(PlainDeterministic, name, value, dims, model)


def Potential(name: str, value: Any, dims: Any = None, model: Books | None = None) -> XTensorVariable:
    """A named term that is added to the log-density of the model; `dims` as for `Deterministic`.

    >>> with pm.Model(coords={"city": ["Bern", "Graz"]}) as model:
    ...     effect = ppl.dims.Normal("effect", 0, 1, dims="city")
    ...     penalty = ppl.dims.Potential("penalty", -(effect.sum("city") ** 2))
    >>> [p.name for p in model.potentials]
    ['penalty']
    """
    return _named(PlainPotential, name, value, dims, model)


def _named(enter: Callable[..., Any], name: str, value: Any, dims: Any, model: Books | None) -> XTensorVariable:
    if isinstance(value, XTensorVariable) or is_labelled_array(value):
        x = as_xtensor(value)
        x = x if dims is None else x.transpose(*((dims,) if isinstance(dims, str) else tuple(dims)))
    else:
        x = as_xtensor(value, dims)
    return enter(name, x, model=model)
