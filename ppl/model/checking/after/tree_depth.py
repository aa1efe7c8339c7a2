"""Trajectories that were cut short."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.model.checking.findings import Finding, listed
from ppl.model.checking.outcome import Outcome
from ppl.samplers.runs.diagnostics import MOST_AT_DEPTH

KINDS = ("tree depth",)


def find(outcome: Outcome) -> Iterator[Finding]:
    """Chains that reached the maximum tree depth in more than 5 % of their draws."""
    reached = outcome.stat("reached_max_treedepth")
    if reached is None:
        return
    shares = np.asarray(reached, float).mean(axis=1)
    often = np.flatnonzero(shares > MOST_AT_DEPTH)
    if len(often):
        yield Finding(
            "tree depth", (), "warning",
            f"Chain{'s' * (len(often) > 1)} {listed(list(often))} reached the maximum tree depth in up to "
            f"{shares.max():.0%} of the draws: trajectories were cut short, and draws depend on each other more than "
            "they need.",
            "Standardize covariates and data, so that variables have scales alike; else raise max_treedepth to 12.",
        )  # fmt: skip
