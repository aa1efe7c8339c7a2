"""Names that hide others."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.model.checking.findings import Finding
from ppl.model.checking.survey import Survey

KINDS = ("hidden name",)


def find(survey: Survey) -> Iterator[Finding]:
    """Variables that the model's own attributes hide, and variables of nested models called as one outside."""
    names = list(survey.model.named_vars)
    for name in names:
        if name.isidentifier() and hasattr(type(survey.model), name):
            yield Finding(
                "hidden name", (name,), "note",
                f'The model has an attribute called "{name}" itself, so that model.{name} is not your variable '
                f'"{name}".',
                f'Write model["{name}"], or call the variable otherwise.',
            )  # fmt: skip
        inner = name.rsplit("::", 1)[-1]
        if inner != name and inner in names:
            yield Finding(
                "hidden name", (name, inner), "note",
                f'"{name}" of a nested model has the name of "{inner}" of the model around it: inside the nested '
                f'model "{inner}" means the former.',
                f'Call one of "{name}" and "{inner}" otherwise.',
            )  # fmt: skip
