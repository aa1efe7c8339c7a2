"""Missing values of an observed variable: a variable is divided into draws of the missing and of the seen values."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

import ppl.tensor as tt
from ppl.distributions import RandomVariable
from ppl.distributions.declaration.inner import laws_of
from ppl.distributions.draws.draw import draw
from ppl.distributions.log_probability import entries
from ppl.distributions.log_probability.entries import entry_of
from ppl.model.errors import DataError, ImputationWarning
from ppl.tensor.tensor import Tensor


class Divided(NamedTuple):
    """A variable in two parts, and both together in its own shape."""

    unobserved: RandomVariable
    observed: RandomVariable | None  # None where everything is missing
    observed_at: tuple[np.ndarray, ...]
    whole: Tensor


def divided(rv: RandomVariable, mask: np.ndarray) -> Divided:
    """The draws of `rv` where `mask` says that values are missing, and the others."""
    axes = tuple(range(mask.ndim - rv.event_ndim, mask.ndim))
    missing = mask.any(axes)
    if not np.array_equal(missing, mask.all(axes)):
        return _inside_of_values(rv, mask)
    missing_at, observed_at = np.nonzero(missing), np.nonzero(~missing)
    unobserved = _some(rv, missing_at, missing.shape, f"{rv.name}_unobserved")
    whole = tt.index_update(tt.zeros(mask.shape, dtype=rv.dtype), unobserved, missing_at)
    if missing.all():
        return Divided(unobserved, None, observed_at, whole)
    observed = _some(rv, observed_at, missing.shape, f"{rv.name}_observed")
    return Divided(unobserved, observed, observed_at, tt.index_update(whole, observed, observed_at))


def _inside_of_values(rv: RandomVariable, mask: np.ndarray) -> Divided:
    """The entries of vectors and matrices that are missing while others of the same one are there."""
    if entry_of(rv) is None:
        raise DataError(
            f'{rv.family.__name__} "{rv.name}": {int(mask.sum())} values are missing inside of vectors or matrices, '
            f"whose entries are bound to each other ({rv.family.support_for(rv.parameters)}): they cannot be imputed "
            "one by one. Drop those rows, or observe what is known of them by its own distribution (of Multinomial and "
            "Dirichlet rows: the known entries and the sum of the others)."
        )
    unobserved, observed = entries.divided(rv, mask, (f"{rv.name}_unobserved", f"{rv.name}_observed"))
    return Divided(unobserved, observed, np.nonzero(~mask), entries.joined(observed, unobserved, mask))


def _some(rv: RandomVariable, where: Any, batch: tuple[Any, ...], name: str | None) -> RandomVariable:
    """Draws like some of those of `rv`, by their places in its shape `batch`."""
    parameters: list[Any] = []
    laws = set(laws_of(rv))
    for parameter, axes in zip(rv.parameters, rv.family.event_axes(rv.parameters), strict=True):
        own = tt.shape(parameter)[parameter.ndim - axes :]
        if parameter.ndim == axes:  # one for all
            parameters.append(parameter)
        elif parameter in laws:
            assert isinstance(parameter, RandomVariable)
            parameters.append(_some(parameter, where, (*batch, *own[: axes - parameter.event_ndim]), None))
        else:
            parameters.append(tt.broadcast_to(parameter, (*batch, *own))[where])
    return draw(rv.family, parameters, (len(where[0]), *batch[len(where) :]), name)


def refuse_missing(who: str, mask: np.ndarray) -> None:
    """The user does not want missing values to become variables."""
    raise DataError(
        f'{who}: {int(mask.sum())} of {mask.size} values are missing, and impute="raise" forbids that they become '
        "variables. Drop them, or leave impute= out."
    )


def tell(who: str, mask: np.ndarray) -> None:
    """Warn that missing values become variables."""
    if mask.all():
        text = f"{who}: all observed values are missing: it is drawn from its prior"
    else:
        text = (
            f"{who}: the data contain missing values and will be automatically imputed from the sampling distribution."
        )
    warnings.warn(text, ImputationWarning, stacklevel=6)
