"""What a finished run says of itself: what was rewritten, and whether its draws agree with the model as written."""

from __future__ import annotations

import html
from typing import Any, Protocol

from ppl.graph.records import record


class HasPosterior(Protocol):
    """The result of `pm.sample`."""

    posterior: Any


@record
class RunReport:
    """The plan of a run and its certificate, as they stand in the attributes of its posterior."""

    plan: str
    drawn_by: str
    certificate: str
    certificate_error: float

    @property
    def certified(self) -> bool:
        """Whether the draws were checked, and agree with the model as written."""
        return self.certificate.startswith("holds")

    def __str__(self) -> str:
        return f"{self.plan}\ndrawn by {self.drawn_by}\ncertificate {self.certificate}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        plan = html.escape(self.plan).replace("\n", "<br>")
        rows = f"<tr><th>drawn by</th><td>{html.escape(self.drawn_by)}</td></tr>"
        rows += f"<tr><th>certificate</th><td>{html.escape(self.certificate)}</td></tr>"
        return f"<p>{plan}</p><table>{rows}</table>"


def run_report(result: HasPosterior) -> RunReport:
    """The report of a result, read from its attributes."""
    attrs = result.posterior.attrs
    if "rewrite_plan" not in attrs:
        raise ValueError(
            "explain: this result was not made by pm.sample of this package, so it does not say what was rewritten"
        )
    return RunReport(
        str(attrs["rewrite_plan"]),
        str(attrs.get("drawn_by", "unknown")),
        str(attrs.get("certificate", "not judged: the run was made before runs certified themselves")),
        float(attrs.get("certificate_error", float("nan"))),
    )
