"""Rows without which the posterior would be another: Pareto's k of leave-one-out cross-validation.

The importance ratios of leaving a row out are 1/p(y_i | θ). Their largest ones follow a generalized Pareto law, whose
shape k is found as by Zhang & Stephens (2009), drawn a little to 0.5 (Vehtari, Simpson, Gelman, Yao & Gabry 2024).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.model.checking.findings import Finding, listed
from ppl.model.checking.outcome import Outcome

KINDS = ("influential rows",)

MOST_K, MOST_NUMBERS, FEWEST_TAIL = 0.7, 20_000_000, 5
MANY = 0.2  # of the rows, from which it is the model rather than the rows


def find(outcome: Outcome) -> Iterator[Finding]:
    """Rows whose k is above 0.7, so that approximate leave-one-out does not hold for them."""
    if outcome.log_likelihood is None:
        return
    for name, variable in outcome.log_likelihood.data_vars.items():
        values = np.asarray(variable.values, float)
        rows = values.reshape(values.shape[0] * values.shape[1], -1)
        if rows.size > MOST_NUMBERS:
            outcome.skipped.append(f'Pareto k of "{name}": there are {rows.size:,} log-likelihoods')
            continue
        if not np.isfinite(rows).all():
            yield Finding(
                "influential rows", (str(name),), "warning",
                f'Some pointwise log-likelihoods of "{name}" are not finite, so that leave-one-out cannot be '
                "approximated.",
                f'Look at the draws where the density of "{name}" is zero.',
            )  # fmt: skip
            continue
        each = pareto_k(-rows)
        bad = np.flatnonzero(each > MOST_K)
        if len(bad) and len(each) > 1:  # without a single row nothing would be left
            yield _told(str(name), each, bad[np.argsort(-each[bad])])


def _told(name: str, each: np.ndarray, worst: np.ndarray) -> Finding:
    what = f'{len(worst)} of {len(each)} rows of "{name}"'
    if len(worst) > MANY * len(each):
        return Finding(
            "influential rows", (name,), "note",
            f"{what} have a Pareto k above {MOST_K} (up to {each.max():.2f}), so that approximate leave-one-out does "
            "not hold: rows have parameters of their own, most likely, which are lost with the row.",
            f'Compare models by leaving out groups of rows of "{name}" and fitting again (k-fold), or by the '
            "likelihood with the parameters of single rows integrated out.",
        )  # fmt: skip
    return Finding(
        "influential rows", (name,), "warning",
        f"{what} are so influential that approximate leave-one-out does not hold for them (Pareto k above {MOST_K}, "
        f"up to {each.max():.2f}): rows {listed(list(worst))}.",
        f'Look at these rows of "{name}": where they are right, take a law with heavier tails (StudentT, '
        "NegativeBinomial); for comparing models fit again without each of them.",
    )  # fmt: skip


def pareto_k(log_ratios: np.ndarray) -> np.ndarray:
    """The shape of the tail of each column of log importance ratios, (draws, rows); draws count as independent."""
    draws = len(log_ratios)
    tail = int(np.ceil(min(0.2 * draws, 3.0 * np.sqrt(draws))))
    if tail < FEWEST_TAIL:
        return np.full(log_ratios.shape[1], np.nan)
    x = log_ratios - log_ratios.max(axis=0)
    largest = np.sort(np.partition(x, draws - tail - 1, axis=0)[draws - tail - 1 :], axis=0)
    excess = np.exp(largest[1:]) - np.exp(largest[0])
    still = ~(excess[-1] > 0) | (excess[(tail + 2) // 4 - 1] <= 0)
    excess[:, still] = np.arange(1.0, tail + 1)[:, None]
    k = _shape(excess)
    return np.where(still, -np.inf, (k * tail + 5.0) / (tail + 10.0))


def _shape(x: np.ndarray) -> np.ndarray:
    """k of the generalized Pareto law of sorted positive numbers, for each column (Zhang & Stephens 2009)."""
    n = len(x)
    m = 30 + int(np.sqrt(n))
    quarter = x[(n + 2) // 4 - 1]
    j = np.arange(1, m + 1)[:, None]
    b = 1.0 / x[-1] + (1.0 - np.sqrt(m / (j - 0.5))) / (3.0 * quarter)
    k = np.stack([np.mean(np.log1p(-each * x), axis=0) for each in b])
    with np.errstate(divide="ignore", invalid="ignore"):
        profile = n * (np.log(-b / k) - k - 1.0)
    weights = np.exp(profile - np.max(profile, axis=0))
    best = np.sum(b * weights, axis=0) / np.sum(weights, axis=0)
    return np.asarray(np.mean(np.log1p(-best * x), axis=0))
