"""Deterministics that do not vary."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.graph import ancestors
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("constant deterministic",)


def find(survey: Survey) -> Iterator[Finding]:
    """Deterministics that depend on no random variable."""
    random = set(survey.model.basic_RVs)
    for var in survey.model.deterministics:
        if random.isdisjoint(ancestors([var])):
            yield Finding(
                "constant deterministic", (var.name or "",), "note",
                f'The Deterministic "{var.name}" depends on no random variable: it is the same in every draw.',
                f'Keep "{var.name}" as pm.Data, or write it as an expression of the variables that it is to follow.',
            )  # fmt: skip
