"""Priors in conflict with the scale of the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import (
    Categorical,
    DirichletMultinomial,
    DiscreteMarkovChain,
    Multinomial,
    OrderedLogistic,
    OrderedProbit,
    RandomVariable,
)
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

LABELS = (
    Categorical,
    OrderedLogistic,
    OrderedProbit,
    Multinomial,
    DirichletMultinomial,
    DiscreteMarkovChain,
)

KINDS = ("prior conflict",)
FAR = 8.0  # how many spreads of the prior predictive mean the mean of the data is away
BEYOND = 4.0  # times what rows of a draw, or draws, are away from each other: tails may be heavy
MUCH_MORE, MUCH_LESS, BLOWN_UP = 10.0, 1e-3, 0.25
MILLION = 1e6
FEWEST = 5  # values whose spread is compared


def find(survey: Survey) -> Iterator[Finding]:
    """Data that draws from the prior come nowhere near, and priors whose data are of absurd size."""
    if survey.prior is None:
        return
    for rv, drawn in survey.prior.data.items():
        values = survey.values.get(rv)
        if values is None or not values.size or rv.family in LABELS or drawn.dtype.kind not in "fiub":
            continue
        if any(other.family.improper for other in survey.behind[rv]):  # type: ignore[attr-defined]
            continue
        yield from _compared(survey, rv, values.astype(float), drawn.astype(float).reshape(len(drawn), -1))


def _compared(survey: Survey, rv: RandomVariable, values: np.ndarray, drawn: np.ndarray) -> Iterator[Finding]:
    name, whole = rv.name or "", np.isfinite(drawn).all(axis=1)
    parents = " and ".join(f'"{p.name}"' for p in survey.parents(rv) if p is not rv)
    if not parents:
        return
    if np.mean(np.isinf(drawn).any(axis=1)) > BLOWN_UP:
        yield Finding(
            "prior conflict", (name,), "note",
            f'{np.mean(~whole):.0%} of the draws of "{name}" from the prior overflow: the prior allows values beyond '
            "all measure, most often because coefficients are exponentiated.",
            f"Give {parents} priors with a smaller spread, so that predictors stay within a few units.",
        )  # fmt: skip
        return
    if np.mean(whole) < 1.0 - BLOWN_UP:
        return
    drawn = drawn[whole]
    means, spreads = drawn.mean(axis=1), drawn.std(axis=1)
    low, middle, high = np.quantile(means, [0.05, 0.5, 0.95])
    counts = rv.dtype[0] != "f" and rv.family.support_for(rv.parameters).upper is None
    inner = max(np.median(spreads) if drawn.shape[1] > 1 else 0.0, float(counts))  # within the rows of a draw
    mean, spread = values.mean(), values.std()
    side = high - middle if mean > middle else middle - low
    reach = max(side / 1.645, inner / np.sqrt(drawn.shape[1]), 1e-300)
    away = abs(mean - middle)
    if away > FAR * reach and away > BEYOND * max(inner, np.ptp(means) / 2.0):
        yield Finding(
            "prior conflict", (name,), "warning",
            f'The mean of the data "{name}" is {mean:.4g}; draws from the prior give it as {middle:.4g}, give or '
            f"take {reach:.2g}: the data are {_many(away / reach)} spreads away.",
            f"Check the units of the data, center them, or move and widen the priors of {parents} to where "
            f"{mean:.4g} is no surprise.",
        )  # fmt: skip
        return
    if values.size < FEWEST or drawn.shape[1] < FEWEST or rv.dtype[0] != "f":
        return
    most = np.quantile(spreads, 0.95)
    if spread > MUCH_MORE * max(most, 1e-300):
        yield Finding(
            "prior conflict", (name,), "warning",
            f'The data "{name}" have the standard deviation {spread:.3g}; 95 % of the draws from the prior have less '
            f"than {most:.2g}.",
            f"Standardize the data, or widen the priors of {parents} to the scale of the data.",
        )  # fmt: skip
    elif 0 < spread < MUCH_LESS * np.median(spreads):
        yield Finding(
            "prior conflict", (name,), "note",
            f'The data "{name}" have the standard deviation {spread:.2g}; draws from the prior have '
            f"{np.median(spreads):.2g}: the prior expects data of quite another size.",
            f"Give {parents} priors on the scale of the data, or standardize the data.",
        )  # fmt: skip


def _many(times: float) -> str:
    return f"{times:.0f}" if times < MILLION else "more than a million"
