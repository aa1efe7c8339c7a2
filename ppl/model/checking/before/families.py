"""Families that hardly fit the kind of data: positive numbers for counts, normal ones for outcomes that are 0 or 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import RandomVariable
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey, constant_of
from ppl.tensor.tensor import Tensor

KINDS = ("family",)

FEWEST = 5
MANY = 20  # counts of which some should be above 1
LARGE = 1000  # whole numbers beyond it are measurements as well as counts


def find(survey: Survey) -> Iterator[Finding]:
    """Whole numbers with the law of a positive number, and outcomes that are 0 or 1 with the law of another kind."""
    for rv, values in survey.values.items():
        if values.size < FEWEST or values.dtype.kind not in "fiub" or np.ptp(values.astype(float)) == 0:
            continue
        name, family, kind = rv.name or "", rv.family.__name__, _kind(rv)
        binary = bool(np.all((values == 0) | (values == 1)))
        if kind == "positive" and np.all(values == np.floor(values)) and values.max() < LARGE:
            yield Finding(
                "family", (name,), "note",
                f'All {values.size} observed values of "{name}" are whole numbers, and {family} is a law of '
                "continuous ones: it gives no probability to zero and none to ties.",
                f'If "{name}" counts something, take Poisson or NegativeBinomial; if it is measured, leave it.',
            )  # fmt: skip
        elif binary and (kind == "real" or (kind == "counts" and values.size >= MANY)):
            yield Finding(
                "family", (name,), "note",
                f'All {values.size} observed values of "{name}" are 0 or 1, and {family} gives probability to others.',
                f'Take Bernoulli for "{name}", with logit_p for a linear predictor.',
            )  # fmt: skip


def _kind(rv: RandomVariable) -> str:
    """Which kind of numbers a law is of: the whole line, positive numbers, counts without an end; else nothing."""
    domain = rv.family.support_for(rv.parameters)
    if domain.ndim or domain.upper is not None or domain.atoms:
        return ""
    if domain.lower is None:
        return "" if domain.discrete else "real"
    lower = constant_of(domain.lower) if isinstance(domain.lower, Tensor) else domain.lower
    if lower is None or np.any(lower != 0) or rv.family.improper:
        return ""
    return "counts" if domain.discrete else "positive"
