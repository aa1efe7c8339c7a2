"""Where a variable starts: what of it can be refused as soon as it is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.distributions.declaration.domains import Domain
from ppl.model.errors import ShapeError, StartError
from ppl.tensor.tensor import Tensor

STARTS = ("support_point", "moment", "prior")


def check_start(rv: Tensor, chosen: Any) -> None:
    """Refuse what is no start of a variable: another word, another shape, a value outside a known support."""
    if chosen is None or isinstance(chosen, str | Tensor):
        if isinstance(chosen, str) and chosen not in STARTS:
            raise ValueError(f'"{rv.name}": initval is a value, or one of {", ".join(STARTS)}, got {chosen!r}')
        return
    array = as_numbers(rv.name or "", chosen)
    check_shape(rv.name or "", array, rv.type.shape)
    if isinstance(rv, RandomVariable):
        domain = rv.family.support_for(rv.parameters)
        inside = domain.contains(array)
        if not isinstance(inside, Tensor):
            check_inside(rv, array, domain, inside)


def as_numbers(name: str, chosen: Any) -> np.ndarray:
    """A start as an array of numbers."""
    try:
        array = np.asarray(chosen)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "buif":
        raise TypeError(f'"{name}": initval is a number or an array of numbers, got {chosen!r}')
    return array


def check_shape(name: str, chosen: Any, known: tuple[int | None, ...]) -> None:
    """Refuse a start that does not have, or broadcast to, the shape of its variable."""
    shape = np.shape(chosen)
    pairs = zip(reversed(shape), reversed(known), strict=False)
    if len(shape) > len(known) or any(n not in (1, m) and m is not None for n, m in pairs):
        raise ShapeError(f'"{name}" has shape {known}, and shall start at a value of shape {shape}')


def check_inside(rv: RandomVariable, chosen: np.ndarray, domain: Domain, inside: Any) -> None:
    """Refuse a start outside the support; `inside` says which values are in it."""
    if np.all(inside):
        return
    at = tuple(int(i) for i in np.argwhere(~np.asarray(inside))[0])
    where = f" at position {at[0] if len(at) == 1 else at}" if at else ""
    shown = np.array2string(np.broadcast_to(chosen, np.shape(inside) + chosen.shape[np.ndim(inside) :])[at])
    raise StartError(f'{rv.family.__name__} "{rv.name}": the start {shown}{where} is outside the support: {domain}.')
