"""A spread of effects and a noise that one row for each effect cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import Normal, RandomVariable
from ppl.model.checking.directions import design
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("not identified",)


def find(survey: Survey) -> Iterator[Finding]:
    """Normal effects of an unknown scale with one normal row of an unknown scale for each."""
    for rv in survey.observed:
        if rv.family is not Normal or not _has_own_scale(survey, rv):
            continue
        mu = rv.parameters[0]
        for effects in survey.parents(mu):
            if effects.family is not Normal or not _has_own_scale(survey, effects):
                continue
            if (
                effects.type.shape
                and np.prod(effects.type.shape) == np.prod(rv.type.shape)
                and survey.is_used_by_one(effects, rv)
            ):
                others = [v for v in survey.parents(mu) if v is not effects]
                columns = design(mu, [effects], others)
                if columns is not None and _one_each(columns):
                    yield _told(survey, rv, effects)


def _has_own_scale(survey: Survey, rv: RandomVariable) -> bool:
    """Whether the scale is one unknown number."""
    sigma = rv.parameters[1]
    return sigma.ndim == 0 and bool(survey.parents(sigma))


def _one_each(columns: np.ndarray) -> bool:
    used = columns != 0
    same = columns[used].size > 0 and np.ptp(columns[used]) == 0
    return bool(same and len(columns) > 1 and np.all(used.sum(axis=0) == 1) and np.all(used.sum(axis=1) == 1))


def _told(survey: Survey, rv: RandomVariable, effects: RandomVariable) -> Finding:
    noise, spread = (" and ".join(f'"{v.name}"' for v in survey.parents(x.parameters[1])) for x in (rv, effects))
    names = [v.name or "" for x in (effects, rv) for v in survey.parents(x.parameters[1])]
    return Finding(
        "not identified", tuple(dict.fromkeys(names)), "warning",
        f'Every entry of "{effects.name}" has one row of "{rv.name}" only: the data tell of the sum of the variances '
        f"from {spread} and {noise}, and the priors alone divide it.",
        f'Leave "{effects.name}" out, fix {noise} at the known error of measurement, or use data with several rows '
        f'for each entry of "{effects.name}".',
    )  # fmt: skip
