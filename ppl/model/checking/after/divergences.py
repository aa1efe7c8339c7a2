"""Divergent transitions, and where they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.model.checking.findings import Finding
from ppl.model.checking.outcome import Outcome

KINDS = ("divergences",)

FEWEST = 5  # divergences whose place can be told
UNUSUAL = 0.2  # how far their mean rank is from the middle


def find(outcome: Outcome) -> Iterator[Finding]:
    """Transitions whose energy error exploded."""
    diverging = outcome.stat("diverging")
    if diverging is None or not np.any(diverging):
        return
    diverging = np.asarray(diverging, bool)
    count, share = int(diverging.sum()), float(diverging.mean())
    where = _where(outcome, diverging) if count >= FEWEST else None
    names = () if where is None else (where[0],)
    at = "" if where is None else f" They are where {where[1]} is {where[2]}."
    mend = "Raise target_accept to 0.95 or 0.99."
    if where is not None:
        mend = (
            f"Raise target_accept to 0.95 or 0.99; if divergences stay, reparameterize what {where[1]} is the scale "
            "or a bound of, or give it a prior that stays away from there."
        )
    yield Finding(
        "divergences", names, "error",
        f"{count} of {diverging.size} transitions after tuning diverged ({share:.2%}): a part of the posterior is "
        f"steeper than the steps allow, and draws there are missing.{at}",
        mend,
    )  # fmt: skip


def _where(outcome: Outcome, diverging: np.ndarray) -> tuple[str, str, str] | None:
    """The variable whose values at divergences are the most unusual: its name, the entry, and "small" or "large"."""
    best: tuple[float, str, str, str] | None = None
    for name, draws in outcome.draws.items():
        flat = draws.reshape(diverging.size, -1)
        ranks = (np.argsort(np.argsort(flat, axis=0), axis=0) + 0.5) / len(flat)
        off = ranks[diverging.ravel()].mean(axis=0) - 0.5
        off[np.ptp(flat, axis=0) == 0] = 0.0
        place = int(np.argmax(np.abs(off)))
        if best is None or abs(off[place]) > best[0]:
            best = abs(float(off[place])), name, outcome.entry(name, place), "small" if off[place] < 0 else "large"
    return best[1:] if best is not None and best[0] > UNUSUAL else None
