"""How exact draws without chains are, and whether the rewritten density is that of the model."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.model.checking.findings import Finding
from ppl.model.checking.outcome import Outcome

KINDS = ("exactness", "interrupted")

MOST_ERROR = 1e-3  # of a distribution function


def find(outcome: Outcome) -> Iterator[Finding]:
    """Draws by quadrature that are too rough, certificates that fail, and runs that were stopped."""
    error = outcome.attributes.get("quadrature_error")
    if error is not None and not float(error) <= MOST_ERROR:
        yield Finding(
            "exactness", (), "warning",
            f"Draws were made by quadrature, and the distribution function is known to {float(error):.1g} only.",
            "Sample with NUTS in place of quadrature, by pm.sample(nuts={}) or rewrite=False, and compare.",
        )  # fmt: skip
    verdict, _, reason = str(outcome.attributes.get("certificate", "")).partition(": ")
    if verdict == "fails":
        yield Finding(
            "exactness", (), "error",
            f"The certificate of the run fails: its draws contradict the model as it is written ({reason}).",
            "Do not use these draws; sample with rewrite=False, and report the model, since this is a fault of ppl.",
        )  # fmt: skip
    elif verdict == "not judged":
        outcome.skipped.append(f"whether the draws agree with the model as it is written: {reason}")
    if outcome.attributes.get("interrupted"):
        yield Finding(
            "interrupted", (), "warning",
            f"Sampling was stopped: {outcome.count} draws of {outcome.chains} chains are kept.",
            "Sample again for as many draws as were asked for, or go on with resume=.",
        )  # fmt: skip
