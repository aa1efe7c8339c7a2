"""What a user should know about draws: findings that are logged, and kept in the result."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ppl.model.log import log

LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


class SamplerWarning(NamedTuple):
    """One finding: how grave it is ("error", "warning", "info"), and what to do."""

    level: str
    message: str


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


def infinite(values: Mapping[str, np.ndarray]) -> list[SamplerWarning]:
    """Which random variables are infinite in some draws, (chains, draws, ...), and in how many."""
    found = []
    for name, value in values.items():
        if value.dtype.kind != "f" or not np.isinf(value).any():
            continue
        bad = np.isinf(value).reshape(*value.shape[:2], -1).any(axis=2)
        chain, draw = (int(i) for i in np.argwhere(bad)[0])
        text = (
            f'"{name}" is infinite in {int(bad.sum())} of {bad.size} draws, first in draw {draw} of chain {chain}: its'
            f" distribution gives probability to numbers beyond {np.finfo(value.dtype).max:.2g}, which is the largest"
            f" that {value.dtype.name} holds. Give it a prior with less weight far out."
        )
        found.append(SamplerWarning("warning", text))
    return found


def tell(found: Sequence[SamplerWarning]) -> None:
    """Log the findings."""
    for each in found:
        log.log(LEVELS[each.level], each.message)
