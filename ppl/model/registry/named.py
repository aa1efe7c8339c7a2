"""Named expressions of a model: deterministics and potentials."""

from __future__ import annotations

from typing import Any

from ppl.model.context import modelcontext
from ppl.model.registry.dimensions import dims_of
from ppl.model.registry.variable_registry import Books
from ppl.tensor.core.labelled import Labelled, LabelledDims
from ppl.tensor.core.names import named
from ppl.tensor.tensor import Tensor, as_tensor


def Deterministic(name: str, var: Any, model: Books | None = None, dims: Any = None) -> Tensor:
    """A named value that follows from others; results hold it.

    Parameters
    ----------
    name : str
        The name in the model and in results.
    var : tensor
        The value, computed from variables of the model.
    model : Model, optional
        The model; by default that of the `with` block.
    dims : str or sequence of str, optional
        Names of the axes.

    Returns
    -------
    Tensor
        The same value, under its name.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     log_odds = pm.Normal("log_odds", 0, 1)
    ...     p = pm.Deterministic("p", pm.math.sigmoid(log_odds))
    >>> [v.name for v in model.deterministics]
    ['p']
    """
    model = modelcontext(model)
    node, dims = _by_position(var, dims)
    result = named(as_tensor(node), model.check_name(name))
    model.add_named_variable(result, dims)
    model.deterministics.append(result)
    return var.renewed(result) if isinstance(var, Labelled) else result


def Potential(name: str, var: Any, model: Books | None = None, dims: Any = None) -> Tensor:
    """A named term that is added to the log-density of the model.

    Prior and posterior predictive draws know nothing of it, and warn that they do not.

    Parameters
    ----------
    name : str
        The name in the model.
    var : tensor
        The term, or an array of terms, which are summed.
    model : Model, optional
        The model; by default that of the `with` block.
    dims : str or sequence of str, optional
        Names of the axes.

    Returns
    -------
    Tensor
        The same term, under its name.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, 1)
    ...     penalty = pm.Potential("penalty", -(x**2))
    >>> round(float(model.compile_logp()({"x": 1.0})), 3)  # of the normal law, -1.419, and of the term, -1
    -2.419
    """
    model = modelcontext(model)
    node, dims = _by_position(var, dims)
    result = named(as_tensor(node), model.check_name(name))
    model.add_named_variable(result, dims)
    model.potentials.append(result)
    return var.renewed(result) if isinstance(var, Labelled) else result


def _by_position(var: Any, dims: Any) -> tuple[Any, Any]:
    """The tensor behind a labelled one, and its dims; others as they are."""
    if not isinstance(var, Labelled):
        return var, dims
    if dims is not None and dims_of("", dims) != var.dims:
        raise ValueError(f"{var!r} has dims {var.dims}, given are {dims}: pm.dims puts them in that order")
    return var.node, LabelledDims(var.dims)
