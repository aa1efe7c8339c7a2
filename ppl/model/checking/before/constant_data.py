"""Observed data that do not vary."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("constant data",)

FEWEST = 3


def find(survey: Survey) -> Iterator[Finding]:
    """Observed variables all of whose values are the same."""
    for rv, values in survey.values.items():
        if values.size < FEWEST or values.dtype.kind not in "fiub" or np.ptp(values.astype(float)) > 0:
            continue
        value, names = f"{float(values.flat[0]):.4g}", rv.family.location_scale
        scale = rv.parameters[list(rv.family.params).index(names[1])] if names else None
        if scale is not None and survey.parents(scale):
            who = " and ".join(f'"{v.name}"' for v in survey.parents(scale))
            yield Finding(
                "constant data", (rv.name or "",), "warning",
                f'All {values.size} observed values of "{rv.name}" are {value}: as the scale {who} goes to zero the '
                "density grows without bound.",
                f'Check that the right column was passed as observed to "{rv.name}", or fix the scale {who}.',
            )  # fmt: skip
        else:
            yield Finding(
                "constant data", (rv.name or "",), "note",
                f'All {values.size} observed values of "{rv.name}" are {value}.',
                f'Check that the right column was passed as observed to "{rv.name}".',
            )  # fmt: skip
