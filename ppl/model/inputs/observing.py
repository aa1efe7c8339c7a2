"""Entering an observed variable: its data are checked as soon as they are known, and missing ones become a variable."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.log_probability.measure import sources
from ppl.graph import ancestors
from ppl.model.errors import SamplingError, ShapeError
from ppl.model.inputs.data_checks import nan_in_parameters
from ppl.model.inputs.data_values import value_now
from ppl.model.inputs.imputing import divided, refuse_missing, tell
from ppl.model.inputs.lengths_of_draws import shape_given
from ppl.model.inputs.observed import check_observed, infinite, is_masked, outside_support
from ppl.model.inputs.read_once import observe_rows
from ppl.model.registry.named import Deterministic
from ppl.model.registry.variable_registry import UNSET, Books
from ppl.sources.source_rows import source_of
from ppl.tensor.core.ops import CAST
from ppl.tensor.tensor import Tensor, as_tensor
from ppl.tensor.variables import Variable


def observe_variable(
    model: Books, rv: RandomVariable, observed: Any, dims: Any, total_size: Any, options: Mapping[str, Any]
) -> Tensor:
    """Enter a variable with its data: an array, a masked array, or a tensor (Data, or computed from Data)."""
    source = source_of([*rv.parameters, *([observed] if isinstance(observed, Tensor) else [])])
    if source is not None:
        return observe_rows(model, rv, observed, source, dims, total_size)
    if is_masked(observed):
        return _imputed(model, rv, observed, None, dims, total_size, options)
    if isinstance(observed, Tensor):
        _refuse_draws(rv, observed)
        held = value_now(observed)
        if held is not None:
            missing = np.isnan(held) if held.dtype.kind == "f" else np.False_
            if missing.any():
                return _imputed(model, rv, np.ma.MaskedArray(held, missing), observed, dims, total_size, options)
            _check_shape(rv, held)
            _checked(model, rv, held)
        value = observed if observed.dtype == rv.dtype else tt.cast(observed, rv.dtype)
    else:
        _check_shape(rv, observed)
        array = _checked(model, rv, observed)
        value = as_tensor(array if np.isinf(array).any() else array.astype(rv.dtype))
    model.add_observed(rv, value, dims, _total_scale(f'{rv.family.__name__} "{rv.name}"', total_size, value))
    return rv


def _imputed(
    model: Books,
    rv: RandomVariable,
    observed: np.ma.MaskedArray,
    source: Tensor | None,
    dims: Any,
    total_size: Any,
    options: Mapping[str, Any],
) -> Tensor:
    """Missing entries as a free variable, the others observed, and both together under the variable's name.

    `source` is the tensor that the data come from, where it is Data that may change.
    """
    mask = np.ma.getmaskarray(observed)
    who = f'{rv.family.__name__} "{rv.name}"'
    if options.get("impute", "draw") == "raise":
        refuse_missing(who, mask)
    if total_size is not None:
        raise ValueError(
            f"{who}: total_size says how much a part of the data counts, and a value that is missing from this part is"
            " a variable that counts once. Leave out the rows with missing values, or total_size."
        )
    _check_shape(rv, observed)
    parts = divided(rv, mask)
    tell(who, mask)
    model.add_free(parts.unobserved, None, options.get("transform", UNSET), options.get("default_transform", UNSET))
    if parts.observed is not None:
        at = parts.observed_at
        seen = observed.data[at] if source is None else source[at]
        observe_variable(model, parts.observed, seen, None, None, {})
    return Deterministic(rv.name or "", parts.whole, model=model, dims=dims)


def check_observations(model: Books, changed: Collection[Variable]) -> None:
    """Look again at the variables whose data have changed."""
    for rv in model.observed_RVs:
        value = model.rvs_to_values[rv]
        source = value.inputs[0] if value.op is CAST else value
        if isinstance(rv, RandomVariable) and not ancestors([source]).isdisjoint(changed):
            held = value_now(source)  # type: ignore[arg-type]
            if held is not None:
                _checked(model, rv, held)


def _checked(model: Books, rv: RandomVariable, array: np.ndarray) -> np.ndarray:
    """The data of a variable in the dtype of its family, with a warning where they cannot come from it."""
    array = check_observed(array, rv.family.support_for(rv.parameters), rv.family.__name__, rv.name or "")
    found = impossible(rv, array)
    if found is not None:
        model.doubtful.append(rv)
        warnings.warn(f"{found} The log-density of the model is -inf.", UserWarning, stacklevel=5)
    return array


def impossibilities(model: Books) -> list[str]:
    """Why the log-density of a model is not finite whatever its free variables are, as far as this was told."""
    found: dict[str | None, None] = {}
    for rv in model.basic_RVs:
        assert isinstance(rv, RandomVariable)
        found[rv.family.doubt(rv.parameters, rv.name)] = None
        if rv in model.doubtful:
            value = model.rvs_to_values[rv]
            held = value_now(value.inputs[0] if value.op is CAST else value)  # type: ignore[arg-type]
            found[None if held is None else impossible(rv, held)] = None
            found[nan_in_parameters(rv)] = None
    return [text for text in found if text is not None]


def refuse_impossible(model: Books) -> None:
    """Raise where no start of a sampler can have a finite log-density, whatever the free variables are."""
    texts = impossibilities(model)
    if texts:
        raise SamplingError("Cannot sample: the log-density is not finite anywhere. " + " ".join(texts))


def impossible(rv: RandomVariable, array: np.ndarray) -> str | None:
    """What to say of data that cannot come from a variable, whatever the others are; None where they may."""
    family, name = rv.family, rv.name or ""
    domain = family.support_for(rv.parameters)
    if (found := infinite(array, family.__name__, name)) is not None:
        return found
    inside = domain.contains(array)
    if isinstance(inside, Tensor):
        inside = value_now(inside, data=False)
    return None if inside is None else outside_support(array, np.asarray(inside), domain, family.__name__, name)


def _refuse_draws(rv: RandomVariable, observed: Tensor) -> None:
    """Raise where the data are no data: a value that is itself drawn would be scored by two laws."""
    drawn = sorted(x.name or x.family.__name__ for x in sources(observed))
    if drawn:
        raise TypeError(
            f'{rv.family.__name__} "{rv.name}": observed data are numbers, Data, or what is computed from them; got '
            f"{observed!r}, which depends on {', '.join(drawn)}. A term of the density is added by pm.Potential."
        )


def _check_shape(rv: RandomVariable, array: np.ndarray) -> None:
    lengths = rv.type.shape if None not in rv.type.shape else shape_given(rv, {})
    known = tuple(value_now(n) if isinstance(n, Tensor) else n for n in lengths)
    if array.ndim != len(known) or any(n is not None and n != m for n, m in zip(known, array.shape, strict=True)):
        shown = tuple(None if n is None else int(n) for n in known)
        raise ShapeError(
            f'{rv.family.__name__} "{rv.name}" has shape {shown}, but its observed data have shape {array.shape}'
        )


def _total_scale(who: str, total_size: Any, value: Tensor) -> Any:
    """How much the density of a minibatch counts: by the length of the first axis, or by those of several, where None
    stands for an axis that is whole and ... for all between."""
    if total_size is None:
        return None
    totals = list(total_size) if isinstance(total_size, list | tuple) else [total_size]
    gaps = [i for i, n in enumerate(totals) if n is Ellipsis]
    if gaps:
        totals[gaps[0] : gaps[0] + 1] = [None] * (value.ndim - len(totals) + 1)
    bad = [n for n in totals if n is not None and not isinstance(n, Tensor) and not _is_size(n)]
    if bad or len(gaps) > 1 or len(totals) > max(value.ndim, 1):
        raise ValueError(
            f"{who}: total_size is the whole number of rows of all data, positive, or a list of such numbers for at "
            f"most {value.ndim} axes, with None for whole axes and one ... at most; got {total_size!r}."
        )
    lengths = tuple(value.shape) or (1,)
    scale: Any = 1.0
    for total, n in zip(totals, lengths, strict=False):
        scale = scale if total is None else scale * total / n
    return scale


def _is_size(n: Any) -> bool:
    return isinstance(n, int | float | np.integer | np.floating) and not isinstance(n, bool) and 0 < n < np.inf
