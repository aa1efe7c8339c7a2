"""Whether the chains agree."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.model.checking.findings import Finding, quoted
from ppl.model.checking.outcome import Outcome, worst
from ppl.samplers.runs.diagnostics import MOST_RHAT, rhat

KINDS = ("mixing",)

FAR_APART = 1.1


def find(outcome: Outcome) -> Iterator[Finding]:
    """Variables whose R-hat is above 1.01."""
    if not outcome.is_long_enough:
        yield Finding(
            "mixing", (), "note",
            f"There are {outcome.count} draws a chain, too few to tell whether the chains agree.",
            "Draw at least 100 a chain, better 1,000.",
        )  # fmt: skip
        return
    if outcome.chains < 2:
        if outcome.are_chains:
            yield Finding(
                "mixing", (), "note", "Only one chain was sampled, so that nothing tells whether chains agree.",
                "Sample at least four chains.",
            )  # fmt: skip
        return
    bad = worst(outcome, outcome.each(rhat), lambda r: r > MOST_RHAT, most=True)
    if bad:
        names = tuple(name for name, *_ in bad)
        _, entry, value, _ = bad[0]
        grave = "error" if value > FAR_APART else "warning"
        apart = value > FAR_APART
        yield Finding(
            "mixing", names, grave,  # type: ignore[arg-type]
            f"The chains do not agree about {quoted(names)}: R-hat is up to {value:.3f}, for {entry}; 1.01 is the "
            "limit.",
            f"Look at the trace of {entry}: where chains sit in different places, the posterior has several modes, "
            "and pm.check(model) may say why; where they drift, tune longer or reparameterize."
            if apart
            else f"Run longer: {entry} needs more draws before its results may be used.",
        )  # fmt: skip
