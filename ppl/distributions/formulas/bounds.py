"""Probabilities of intervals, kept accurate in both tails."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl.distributions.declaration.arguments import widened
from ppl.distributions.declaration.domains import extended_real
from ppl.distributions.declaration.modifier import Modifier
from ppl.tensor import log1mexp, minimum, switch
from ppl.tensor.tensor import Tensor, as_tensor, is_constant, value_of

SMALLEST = -1e-300  # log1mexp wants a number below zero


def absent(bound: Tensor) -> bool:
    """Whether a bound is known to be infinite."""
    return is_constant(bound) and bool(np.all(np.isinf(value_of(bound))))


def bounds_of(who: str, lower: Any, upper: Any) -> tuple[Tensor, Tensor]:
    """Two bounds as tensors, infinite where None is given; constant ones are refused where they are nan or cross."""
    given = -np.inf if lower is None else lower, np.inf if upper is None else upper
    ends = widened(as_tensor(given[0])), widened(as_tensor(given[1]))
    for key, end in zip(("lower", "upper"), ends, strict=True):
        if end.dtype[0] not in "fuib":
            raise TypeError(f"{who}: {key} must be {extended_real}, got {end!r}. Give a number, or None for no bound.")
        if is_constant(end) and np.isnan(value_of(end)).any():
            raise ValueError(f"{who}: {key} is nan, but must be {extended_real}. Give a number, or None for no bound.")
    if all(map(is_constant, ends)):
        low, high = map(value_of, ends)
        if np.any(low > high):
            raise ValueError(
                f"{who}: lower must not be above upper, got lower={low}, upper={high}. They are {extended_real}. "
                "To mend it: exchange them."
            )
    return ends


def log_below(law: Any, x: Any) -> Tensor:
    """log P(X ≤ x)."""
    return law.family.log_cdf(x, *law.parameters)


def log_above(law: Any, x: Any) -> Tensor:
    """log P(X > x)."""
    return law.family.log_ccdf(x, *law.parameters)


def before(law: Any, x: Any) -> Any:
    """The point whose distribution function is P(X < x): x itself for a continuous law, x - 1 for counts."""
    return as_tensor(x) - 1 if law.dtype[0] != "f" else as_tensor(x)


def log_mass(law: Any, lower: Tensor, upper: Tensor) -> Tensor:
    """log P(lower ≤ X ≤ upper), from the tail in which both probabilities are small."""
    if absent(lower) and absent(upper):
        return as_tensor(0.0)
    if absent(lower):
        return log_below(law, upper)
    if absent(upper):
        return log_above(law, before(law, lower))
    start = before(law, lower)
    low, high = log_below(law, start), log_below(law, upper)
    left = log_difference(high, low)
    if not (law.family.logccdf or issubclass(law.family, Modifier)):
        return left
    right = log_difference(log_above(law, start), log_above(law, upper))
    return switch(low > np.log(0.5), right, left)


def log_difference(more: Any, less: Any) -> Tensor:
    """log(exp(more) - exp(less)), -inf where they are equal."""
    gap = less - more
    safe = switch(gap < 0, gap, -1.0)
    return switch(gap < 0, more + log1mexp(minimum(safe, SMALLEST)), -np.inf)
