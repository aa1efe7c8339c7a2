"""Random rows of data whose number in all is not told."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("minibatch",)


def find(survey: Survey) -> Iterator[Finding]:
    """Observed minibatches without total_size."""
    for rv in survey.observed:
        if survey.is_random_rows(rv) and rv not in survey.now.rvs_to_total_sizes:
            yield Finding(
                "minibatch", (rv.name or "",), "warning",
                f'"{rv.name}" observes random rows of the data, and nothing says of how many: these few rows count '
                "once, so that the prior counts too much.",
                f'Pass total_size=the number of all rows to "{rv.name}".',
            )  # fmt: skip
