"""Data outside the support that the prior allows, and parameters outside their domains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ppl.distributions import RandomVariable
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey, constant_of
from ppl.tensor.tensor import Tensor

KINDS = ("support", "parameter outside its domain")

OFTEN = 0.02  # of the draws, from which a parameter outside its domain is told of


def find(survey: Survey) -> Iterator[Finding]:
    """Observed values that no draw from the prior allows, and parameters that some draws make impossible."""
    yield from _at_the_ends(survey)
    prior = survey.prior
    if prior is None:
        return
    for rv, inside in prior.inside.items():
        improper = any(other.family.improper for other in survey.behind[rv])  # type: ignore[attr-defined]
        never = ~inside.reshape(prior.count, *inside.shape[1:]).any(axis=0)
        if improper or not never.any():
            continue
        place = tuple(int(i) for i in np.argwhere(never)[0])
        value = np.asarray(survey.values[rv][place])
        shown = np.array2string(value, threshold=5, precision=4)
        at = f" at position {place[0] if len(place) == 1 else place}" if place else ""
        parents = " and ".join(f'"{p.name}"' for p in survey.parents(rv) if p is not rv) or "its parameters"
        grave = "error" if _is_impossible(survey, rv, float(np.max(value)), float(np.min(value))) else "warning"
        yield Finding(
            "support", (rv.name or "",), grave,  # type: ignore[arg-type]
            f'The observed value {shown} of "{rv.name}"{at} is outside the support of {rv.family.__name__} for each '
            f"of {prior.count} draws of its parameters from the prior ({int(never.sum())} of {never.size} values).",
            f'Widen the prior of {parents}, check the units of the data, or take a family for "{rv.name}" whose '
            "support holds them.",
        )  # fmt: skip
    for (rv, parameter, domain, _), holds in prior.lawful.items():
        share = float(np.mean(~holds.reshape(prior.count, -1).all(axis=1)))
        if share < OFTEN:
            continue
        grave = "error" if share == 1.0 else "warning"
        yield Finding(
            "parameter outside its domain", (rv.name or "",), grave,  # type: ignore[arg-type]
            f'The {parameter} of "{rv.name}" must be {domain}, and {share:.0%} of the draws from the prior make it '
            "something else: there the density is zero, which a sampler meets as a wall.",
            f'Give the {parameter} of "{rv.name}" a prior that is always {domain}'
            + (f"; {domain.remedy}." if domain.remedy else ", or write it through a link function."),
        )  # fmt: skip


def _at_the_ends(survey: Survey) -> Iterator[Finding]:
    """Shares that are exactly 0 or 1, where densities are zero or infinite."""
    for rv, values in survey.values.items():
        ends = int(np.sum((values == 0) | (values == 1))) if _is_open(rv) else 0
        if ends:
            yield Finding(
                "support", (rv.name or "",), "error",
                f'{ends} observed values of "{rv.name}" are exactly 0 or 1, where the density of '
                f"{rv.family.__name__} is zero or infinite, whatever its parameters are (but 1).",
                f'Model the zeros and ones of "{rv.name}" apart (a Bernoulli for whether there is one), take '
                "Binomial if they are shares of counts, or move them inside if they were rounded.",
            )  # fmt: skip


def _is_open(rv: RandomVariable) -> bool:
    """Whether a law is of numbers between 0 and 1."""
    domain = rv.family.support_for(rv.parameters)
    numbers = not isinstance(domain.lower, Tensor) and not isinstance(domain.upper, Tensor)
    return numbers and (domain.lower, domain.upper) == (0.0, 1.0) and not domain.discrete and not domain.ndim


def _is_impossible(survey: Survey, rv: RandomVariable, high: float, low: float) -> bool:
    """Whether a bound of a support cannot reach a value: it is data, or a variable that is itself bounded."""
    domain = rv.family.support_for(rv.parameters)
    return _limit(survey, domain.upper, "upper") < high or -_limit(survey, domain.lower, "lower") > low


def _limit(survey: Survey, bound: Any, side: str) -> float:
    """How far a bound may be moved up, or down (negated); infinite where that is not known."""
    if isinstance(bound, RandomVariable) and bound in survey.is_free:
        bound = getattr(bound.family.support_for(bound.parameters), side)
    value = constant_of(bound) if isinstance(bound, Tensor) else bound
    if value is None:
        return np.inf
    return float(np.max(value)) if side == "upper" else -float(np.min(value))
