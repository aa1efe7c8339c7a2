"""After sampling: what a user should know about the draws, logged and kept in the result."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from ppl.distributions import RandomVariable, Wishart
from ppl.model.inference.engines.in_parts import InParts
from ppl.model.inference.engines.independent import Independent
from ppl.model.log import log
from ppl.model.rewriting import Posterior
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
    if isinstance(run, InParts):
        found = _part_by_part(run)
    else:
        found = [SamplerWarning(n.level, n.text) for n in notices(run, names)]
    if 1 < len(run.chains) < FEW_CHAINS and run.draws >= 100:
        text = f"We recommend running at least {FEW_CHAINS} chains for robust computation of convergence diagnostics."
        found.append(SamplerWarning("info", text))
    return found


def _part_by_part(run: InParts) -> list[SamplerWarning]:
    """What is to say of each part, and once what is to say of all."""
    each = [(words, notices(part, names)) for words, names, part in run.parts]
    of_all = [n for n in each[0][1] if all(n in told for _, told in each)]
    found = [SamplerWarning(n.level, f"{words}: {n.text}") for words, told in each for n in told if n not in of_all]
    return [*(SamplerWarning(n.level, n.text) for n in of_all), *found]


def tell(found: Sequence[SamplerWarning]) -> None:
    """Log the findings."""
    for each in found:
        log.log(LEVELS[each.level], each.message)


def warn_of_matrices(posterior: Posterior) -> None:
    """Warn where a sampler would have to move the entries of a symmetric matrix one by one."""
    moved = [posterior.model.named_vars.get(str(name)) for name in posterior.names.values()]
    names = [f'"{rv.name}"' for rv in moved if isinstance(rv, RandomVariable) and rv.family is Wishart]
    if names:
        text = (
            f"{', '.join(names)}: the Wishart distribution cannot be used for MCMC sampling, since a step to a "
            "symmetric matrix has probability zero. Use LKJCholeskyCov, LKJCorr or WishartBartlett instead."
        )
        warnings.warn(text, UserWarning, stacklevel=3)
