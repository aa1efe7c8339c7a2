"""Coordinates and data that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.graph import ancestors
from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("unused coordinate", "unused data")


def find(survey: Survey) -> Iterator[Finding]:
    """Coordinates without a variable along them, and Data that no variable depends on."""
    model = survey.model
    used = {dim for dims in model.named_vars_to_dims.values() for dim in dims}
    for dim in model.coords:
        if dim not in used:
            yield Finding(
                "unused coordinate", (dim,), "note",
                f'No variable has the dimension "{dim}", so that results do not have its labels.',
                f'Pass dims="{dim}" to the variables along it, or leave it out of coords.',
            )  # fmt: skip
    everything = [*model.basic_RVs, *model.deterministics, *model.potentials, *model.rvs_to_values.values()]
    reached = ancestors([*everything, *model.dim_lengths.values()])
    for data in model.data_vars:
        if data not in reached:
            yield Finding(
                "unused data", (data.name or "",), "note",
                f'No variable of the model depends on the data "{data.name}".',
                f'Use "{data.name}" in the law of a variable, or leave it out.',
            )  # fmt: skip
