"""How well the energy was explored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.model.checking.findings import Finding, listed
from ppl.model.checking.outcome import Outcome
from ppl.samplers.runs.diagnostics import LEAST_BFMI, bfmi

KINDS = ("energy",)


def find(outcome: Outcome) -> Iterator[Finding]:
    """Chains whose fraction of missing information by energy is low (Betancourt 2016)."""
    energy = outcome.stat("energy")
    if (
        energy is None
        or not outcome.is_long_enough
        or not np.isfinite(energy).all()
        or np.any(np.ptp(energy, axis=1) == 0)
    ):
        return
    each = bfmi(energy)
    low = np.flatnonzero(each < LEAST_BFMI)
    if len(low):
        yield Finding(
            "energy", (), "warning",
            f"Chain{'s' * (len(low) > 1)} {listed(list(low))} explored the energy slowly: BFMI is down to "
            f"{each.min():.2f}, and below {LEAST_BFMI} tails are not reached.",
            "Reparameterize heavy tails and scales (pm.check(model) names funnels), or tune longer.",
        )  # fmt: skip
