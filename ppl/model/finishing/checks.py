"""After sampling: what a user should know about the draws, logged and kept in the result."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.distributions import RandomVariable, Wishart
from ppl.model.inference.runs import Independent, InParts
from ppl.model.log import log
from ppl.model.posterior.rewriting import Posterior
from ppl.samplers.runs.diagnostics import notices

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


def failed(line: str) -> list[SamplerWarning]:
    """What is to say of proposals that were turned away because numbers end there."""
    return [SamplerWarning("warning", line)] if line else []


def not_numbers(values: Mapping[str, np.ndarray], what: str = "draws", lowest: float = -np.inf) -> list[SamplerWarning]:
    """Which variables are nan in some draws, (chains, draws, ...), or below the `lowest`, and in how many.

    An entry that is nan in every draw, while others are not, is meant to be: a Deterministic may hold such data.
    """
    found = []
    for name, value in values.items():
        if value.dtype.kind != "f" or not value.size:
            continue
        with np.errstate(all="ignore"):
            if np.min(value) >= lowest:
                continue
            bad = ~(value >= lowest)
        always = bad.all(axis=(0, 1))
        bad = bad & ~always if not always.all() else bad
        count, total = int(bad.reshape(*bad.shape[:2], -1).any(axis=2).sum()), bad.shape[0] * bad.shape[1]
        if count:
            chain, draw = (int(i) for i in np.argwhere(bad)[0][:2])
            text = (
                f'"{name}" is {value[bad][0]:g} in {count} of {total} {what}, first in draw {draw} of chain {chain}.'
                " Numbers end there, as in the factor of a matrix that is not positive definite: add a jitter to its"
                " diagonal, as in K + 1e-6 * pm.math.eye(n), or leave these draws out."
            )
            found.append(SamplerWarning("warning", text))
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
        warnings.warn(text, UserWarning, stacklevel=6)  # the user's call of `sample`
