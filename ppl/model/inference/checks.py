"""After sampling: what a user should know about the draws, logged and kept in the result."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from ppl.model.inference.engines.independent import Independent
from ppl.model.log import log
from ppl.samplers.diagnostics import notices

LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}
FEW_CHAINS = 4


class SamplerWarning(NamedTuple):
    """One finding: how grave it is ("error", "warning", "info"), and what to do."""

    level: str
    message: str


def convergence(run: Any, names: Sequence[str]) -> list[SamplerWarning]:
    """Divergences, tree depth, energy, R-hat and effective sample sizes, each with the worst variable and a remedy."""
    if isinstance(run, Independent):
        return []
    found = [SamplerWarning(n.level, n.text) for n in notices(run, names)]
    if 1 < len(run.chains) < FEW_CHAINS and run.draws >= 100:
        text = f"We recommend running at least {FEW_CHAINS} chains for robust computation of convergence diagnostics."
        found.append(SamplerWarning("info", text))
    return found


def tell(found: Sequence[SamplerWarning]) -> None:
    """Log the findings."""
    for each in found:
        log.log(LEVELS[each.level], each.message)
