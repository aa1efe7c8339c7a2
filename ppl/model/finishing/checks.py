"""Whether chains have converged, as far as a run of them tells: what a user should know about the draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppl.model.finishing.runs import Independent, InParts
from ppl.model.output.sampler_warnings import SamplerWarning
from ppl.samplers.runs.diagnostics import notices

FEW_CHAINS = 4


def convergence(run: Any, names: Sequence[str]) -> list[SamplerWarning]:
    """Divergences, tree depth, energy, R-hat and effective sample sizes, each with the worst variable and a remedy."""
    if isinstance(run, Independent):
        return []
    if isinstance(run, InParts):
        found = _part_by_part(run)
    else:
        found = [SamplerWarning(n.level, n.text) for n in notices(run, names)]
    if 1 < len(run.chains) < FEW_CHAINS and run.draws >= 100:
        text = f"We recommend running at least {FEW_CHAINS} chains for robust computation of convergence diagnostics."
        found.append(SamplerWarning("info", text))
    return found


def failed(line: str) -> list[SamplerWarning]:
    """What is to say of proposals that were turned away because numbers end there."""
    return [SamplerWarning("warning", line)] if line else []


def _part_by_part(run: InParts) -> list[SamplerWarning]:
    """What is to say of each part, and once what is to say of all."""
    each = [(words, notices(part, names)) for words, names, part in run.parts]
    of_all = [n for n in each[0][1] if all(n in told for _, told in each)]
    found = [SamplerWarning(n.level, f"{words}: {n.text}") for words, told in each for n in told if n not in of_all]
    return [*(SamplerWarning(n.level, n.text) for n in of_all), *found]
