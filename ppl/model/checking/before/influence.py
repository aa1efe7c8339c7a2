"""Parameters that no data tell of, and potentials that say nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import RandomVariable
from ppl.model.checking.findings import Finding, listed, quoted
from ppl.model.checking.survey import Survey

KINDS = ("no influence", "no data", "improper posterior")


def find(survey: Survey) -> Iterator[Finding]:
    """Free variables, or entries of them, that no observed variable or potential depends on."""
    if not survey.ends:
        yield Finding(
            "no data", (), "note",
            "The model has no observed variable and no potential, so that sampling it gives draws from its prior.",
            "Pass observed=... to the variable that was measured, or take pm.sample_prior_predictive if the prior "
            "is meant.",
        )  # fmt: skip
        yield from (finding for finding in _idle(survey) if finding.severity == "error")
        return
    yield from _idle(survey)
    yield from _idle_entries(survey)
    for potential in survey.now.potentials:
        if not survey.behind[potential]:
            name = potential.name or "a potential"
            yield Finding(
                "no influence", (name,), "note",
                f'The potential "{name}" depends on no free variable: it adds the same number to every log-density.',
                f'Leave "{name}" out, or write it as an expression of the variables that it is to bear on.',
            )  # fmt: skip


def _idle(survey: Survey) -> Iterator[Finding]:
    """What is drawn from the prior alone; a prediction, whose law depends on what data tell of, is none."""
    idle = [rv for rv in survey.free if rv not in survey.informed and not survey.behind[rv] & survey.informed]
    for rv in idle:
        name = rv.name or ""
        if rv.family.improper:
            yield Finding(
                "improper posterior", (name,), "error",
                f'No data depend on "{name}", and its prior {rv.family.__name__} has no finite integral, so that it '
                "has no posterior distribution.",
                f'Give "{name}" a proper prior such as Normal or HalfNormal, use it where the data are described, or '
                "leave it out.",
            )  # fmt: skip
        else:
            users = [other.name or "" for other in survey.free if rv in survey.behind[other]]
            also = f" It is used by {quoted(users)} only, which no data depend on either." if users else ""
            yield Finding(
                "no influence", (name,), "warning",
                f'No observed variable depends on "{name}", so that its posterior is its prior.{also}',
                f'Use "{name}" in the law of an observed variable where it was meant to be, or leave it out.',
            )  # fmt: skip


def _idle_entries(survey: Survey) -> Iterator[Finding]:
    """Entries of variables that are multiplied by zero, or that no row picks."""
    found: dict[RandomVariable, list[tuple[int, ...]]] = {}
    for direction in survey.directions.found if survey.directions else ():
        if len(direction.shares) == 1:
            ((rv, share),) = direction.shares.items()
            if np.count_nonzero(share) == 1 and direction.linear:
                found.setdefault(rv, []).append(tuple(int(i) for i in np.argwhere(share)[0]))
    for rv, places in found.items():
        name, size = rv.name or "", int(np.prod(rv.type.shape))
        if len(places) == size:
            what = f'The data depend on "{name}" in the graph, but not in value: it is multiplied by zero, or cancels.'
            mend = f'Look at what "{name}" is multiplied by, or leave it out.'
        else:
            shown = listed([place[0] if len(place) == 1 else place for place in places])
            what = f'No data depend on entry {shown} of "{name}" ({len(places)} of {size} entries).'
            mend = (
                f'Check that the index into "{name}" begins at 0 and that its length is the number of groups with '
                "data, and that no column of its design is zero."
            )
        if survey.is_improper(rv):
            yield Finding("improper posterior", (name,), "error", f"{what} Its prior has no finite integral either.",
                          f'Give "{name}" a proper prior. {mend}')  # fmt: skip
        else:
            yield Finding("no influence", (name,), "warning" if len(places) == size else "note", what, mend)
